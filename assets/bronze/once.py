"""Rows of a row queue enter once: of a message that came again, what was staged leaves before the batch is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from ulid import ULID

from tidegate.assets.bronze.look import Work
from tidegate.assets.bronze.prepared import Prepared
from tidegate.assets.bronze.replace import Replacing
from tidegate.platform.core.batch import Add
from tidegate.platform.core.ledger import LedgerRow, Status
from tidegate.platform.core.row_message import ROW_COLUMNS
from tidegate.platform.core.row_objects import RowObject, spans
from tidegate.platform.core.schema.column_types import quoted
from tidegate.resources.lake import Lake, Table

_ID, _SENT_AT = ROW_COLUMNS


def keep_once(lake: Lake, table: Table, work: Work, prepared: Prepared, replacing: Replacing) -> None:
    """Drop the staged rows whose message is staged or in the table already, and say so in the ledger's rows.

    One query tells whether there are such rows; only if there are, what was staged is staged again without them. Of the
    table only those files are opened that hold rows sent when the batch's were.

    Args:
        lake: handles.
        table: the table.
        work: the look's.
        prepared: what is to be decided; its adds and rows change.
        replacing: knows the rows that leave with it.
    """
    if prepared.adds:
        _Once(lake, table, work, prepared, replacing).run()


class _Once:
    def __init__(self, lake: Lake, table: Table, work: Work, prepared: Prepared, replacing: Replacing) -> None:
        self._bucket = f"s3://{table.key.bucket}/"
        self._delta, self._location = lake.delta, work.birth.location
        self._prepared, self._replacing = prepared, replacing

    def run(self) -> None:
        staged = self._read(self._prepared.adds)
        known = self._known()
        ids = staged.select(_ID)
        both = ids if known is None else ids.unionAll(known.join(ids, _ID, "left_semi"))
        if not both.groupBy(_ID).count().where("count > 1").limit(1).collect():
            return
        first = F.row_number().over(Window.partitionBy(_ID).orderBy("_source_path"))
        kept = staged.withColumn("_tidegate_place", first).where("_tidegate_place = 1")
        self._keep(kept if known is None else kept.join(known, _ID, "left_anti"))

    def _known(self) -> DataFrame | None:
        """Ids of the table's rows that stay and were sent when some of the batch's were; None before its birth."""
        if self._prepared.base is None:
            return None
        rows = self._delta.session.read.format("delta").load(self._location)
        sent = self._sent()
        return self._replacing.staying(rows if sent is None else rows.where(sent), self._prepared).select(_ID)

    def _sent(self) -> Column | None:
        """The condition of having been sent when some of the batch's rows were; None where their names do not say."""
        told = [RowObject.of(row.key) for row in self._prepared.rows if row.status is Status.COMMITTED]
        if None in told:
            return None
        times = [
            F.col(_SENT_AT).between(F.timestamp_millis(F.lit(first)), F.timestamp_millis(F.lit(last)))
            for first, last in spans(one for one in told if one)
        ]
        return reduce(or_, times)

    def _keep(self, kept: DataFrame) -> None:
        """Stage these rows in the place of all that was staged, which stays an orphan, and count them anew."""
        view = f"once_{ULID()}".lower()
        columns = ", ".join(quoted(field.name) for field in self._prepared.schema.fields)
        kept.createOrReplaceTempView(view)
        adds = self._delta.stage(self._location, f"SELECT {columns} FROM {view}", self._prepared.schema)
        self._delta.session.catalog.dropTempView(view)
        self._prepared.adds = [add for add in adds if add.records]
        counted = self._counted(self._prepared.adds)
        self._prepared.rows = [_told(row, counted.get(f"{self._bucket}{row.key}", 0)) for row in self._prepared.rows]

    def _counted(self, adds: Sequence[Add]) -> dict[str, int]:
        """Rows by their object's address."""
        if not adds:
            return {}
        return {row[0]: row[1] for row in self._read(adds).groupBy("_source_path").count().collect()}

    def _read(self, adds: Sequence[Add]) -> DataFrame:
        columns = StructType.fromJson(self._prepared.schema.to_spark())
        paths = [f"{self._location}/{unquote(add.path)}" for add in adds]
        return self._delta.session.read.schema(columns).parquet(*paths)


def _told(row: LedgerRow, left: int) -> LedgerRow:
    if row.status is not Status.COMMITTED or left == row.rows:
        return row
    again = f"{(row.rows or 0) - left} of its rows were in the table already, for their messages came again"
    return replace(row, rows=left, reason=f"{row.reason}; {again}" if row.reason else again)
