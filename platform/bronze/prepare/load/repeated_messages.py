"""Rows of a row queue enter once: the staged rows of a repeated message are dropped before the batch is decided."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidegate.platform.bronze.prepare.load.replaced_rows import Replacing
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.plan import BatchDraft
from tidegate.platform.core.events.row_queue import LATEST, ROW_COLUMNS, parse_row_key, spans
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.times import to_millis
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.spark.conditions import any_condition
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.threads import parallel

_ID, _SENT_AT = ROW_COLUMNS
#: Up to this many bytes of staged files are read in this process. Spark reads more.
_MAX_READ_BYTES = 64 << 20
#: A message is at most a day later than SQS's clock, which may differ from this one.
_AHEAD_MILLIS = 2 * 86_400_000


def drop_repeated_messages(
    source: Bucket, delta: Delta, batches: Batches, work: BatchDraft, prepared: PreparedBatch, replacing: Replacing
) -> None:
    """Drop the staged rows whose message is staged or in the table already, and record this in the ledger's rows.

    If all rows were sent after the rows that the table may have, only the staged rows are read. Otherwise a query opens
    those of the table's files that hold rows sent at the same times as rows of the batch. Rows are staged again only if
    a message was found twice.

    Args:
        source: the bucket of the objects, and of the staged files.
        batches: the one before says when its newest row was sent.
        work: the draft that the look returned.
        prepared: the preparation; its adds and rows change, and its `sent_until` is set.
        replacing: knows the rows of the table that leave with the batch.

    Raises:
        StoreError: S3 did not answer.
        PySparkException: Spark failed.
    """
    sent_before = newest_sent_time(batches, work.n)
    _RepeatedMessages(source, delta, sent_before, work, prepared, replacing).run()


def newest_sent_time(batches: Batches, n: int) -> int:
    """Return when the newest row that a row queue's table may have before batch n was sent, in epoch milliseconds.

    The batch before has it. If that batch is void, the time may be too late, and the table is read in vain. A time to
    come that an older version wrote counts as that of the newest message that the intake may have taken by now.
    """
    if n == 1:
        return 0
    last = batches.read(n - 1)
    return min(_latest_time(), LATEST if last is None or last.sent_until is None else last.sent_until)


def _latest_time() -> int:
    return to_millis(datetime.now(UTC)) + _AHEAD_MILLIS


class _RepeatedMessages:
    def __init__(
        self,
        source: Bucket,
        delta: Delta,
        sent_before: int,
        work: BatchDraft,
        prepared: PreparedBatch,
        replacing: Replacing,
    ) -> None:
        self._source, self._delta, self._sent_before = source, delta, sent_before
        self._location = work.birth.location
        self._prepared, self._replacing = prepared, replacing
        self._sent = [parse_row_key(row.key) for row in prepared.rows if row.status is Status.COMMITTED]

    def run(self) -> None:
        before, latest = self._sent_before, _latest_time()
        self._prepared.sent_until = min(latest, max([before, *(rows_sent.last for rows_sent in self._sent)]))
        if not self._prepared.adds:
            return
        late = any(rows_sent.first <= before or rows_sent.last > latest for rows_sent in self._sent)
        known = self._known_ids() if late else None
        if self._is_repeated(known):
            self._keep(known)

    def _known_ids(self) -> DataFrame | None:
        """Return the ids of the table's rows that stay and were sent at the same times as rows of the batch.

        Returns None before the table's birth.
        """
        if self._prepared.base is None:
            return None
        rows = self._delta.session.read.format("delta").load(self._location)
        return self._replacing.select_staying(rows.where(self._sent_times_condition()), self._prepared).select(_ID)

    def _sent_times_condition(self) -> Column:
        times = [
            F.col(_SENT_AT).between(F.timestamp_millis(F.lit(first)), F.timestamp_millis(F.lit(last)))
            for first, last in spans(self._sent)
        ]
        return any_condition(times)

    def _is_repeated(self, known: DataFrame | None) -> bool:
        adds = self._prepared.adds
        if known is None and sum(add.size for add in adds) <= _MAX_READ_BYTES:
            ids = pa.chunked_array([chunk for column in parallel(self._read_ids, adds) for chunk in column.chunks])
            return bool(pc.count_distinct(ids).as_py() < len(ids))
        staged = self._read(adds).select(_ID)
        both = staged if known is None else staged.unionAll(known.join(staged, _ID, "left_semi"))
        return bool(both.groupBy(_ID).count().where("count > 1").limit(1).collect())

    def _read_ids(self, add: Add) -> pa.ChunkedArray[Any]:
        bucket, key = S3Address.parse_s3a(self._path(add))
        body = self._source.objects.get(bucket, key)
        if body is None:
            raise StoreError(f"{self._path(add)} is gone right after it was staged")
        return pq.read_table(io.BytesIO(body), columns=[_ID]).column(0)

    def _keep(self, known: DataFrame | None) -> None:
        """Stage the new rows again in place of all that was staged, and count them again.

        The files that were staged before stay as orphans.
        """
        first = F.row_number().over(Window.partitionBy(_ID).orderBy("_source_path"))
        kept = self._read(self._prepared.adds).withColumn("_tidegate_place", first).where("_tidegate_place = 1")
        if known is not None:
            kept = kept.join(known, _ID, "left_anti")
        delta = self._delta
        columns = ", ".join(quote_name(field.name) for field in self._prepared.schema.fields)
        with temporary_view(delta.session, "once", kept) as view:
            adds = delta.stage(self._location, f"SELECT {columns} FROM {view}", self._prepared.schema)
        self._prepared.adds = [add for add in adds if add.records]
        counted, bucket = self._count_rows(self._prepared.adds), self._source.name
        self._prepared.rows = [
            _row_with_count(row, counted.get(S3Address(bucket, row.key).s3, 0)) for row in self._prepared.rows
        ]

    def _count_rows(self, adds: Sequence[Add]) -> dict[str, int]:
        """Return the number of rows of each object, by its address."""
        if not adds:
            return {}
        return {row[0]: row[1] for row in self._read(adds).groupBy("_source_path").count().collect()}

    def _read(self, adds: Sequence[Add]) -> DataFrame:
        columns = StructType.fromJson(self._prepared.schema.to_spark())
        return self._delta.session.read.schema(columns).parquet(*map(self._path, adds))

    def _path(self, add: Add) -> str:
        return f"{self._location}/{unquote(add.path)}"


def _row_with_count(row: LedgerRow, left: int) -> LedgerRow:
    if row.status is not Status.COMMITTED or left == row.rows:
        return row
    again = f"{(row.rows or 0) - left} of its rows were in the table already, for their messages came again"
    return replace(row, rows=left, reason=f"{row.reason}; {again}" if row.reason else again)
