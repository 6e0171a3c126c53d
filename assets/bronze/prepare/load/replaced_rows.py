"""Files that a redrive or a rebuild reads again: the rows of their last reading leave in the new ones' commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from ulid import ULID

from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.batch import Add, Remove
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import Table

#: Looks for one during which nobody else commits.
_LOOKS = 5
#: What tells the rows of one reading of a file.
_READING = ("_source_path", "_source_etag", "_batch")


@dataclass(frozen=True)
class _DataFile:
    """A live data file that holds rows which may leave.

    Attributes:
        size: bytes.
        keys: of the objects that these rows came from.
    """

    path: str
    size: int
    keys: frozenset[str]


class Replacing:
    """The rows of a loaded table that leave with a batch.

    Delta takes data files away, not rows: the rows that stay in such a file are written again as they are.

    Args:
        table: the table.
        work: the look's.
    """

    def __init__(self, table: Table, work: BatchDraft) -> None:
        self._table, self._work = table, work
        self._files: list[_DataFile] = []
        self._entries: dict[str, Remove] = {}

    def find(self, candidates: Iterable[Candidate], most_bytes: int) -> set[str]:
        """Find the data files with rows that these candidates replace, as one version of the table has them.

        Args:
            candidates: what is to be loaded.
            most_bytes: of data files that are written again.

        Returns:
            Keys of the candidates that have to wait, or more would be; never all.

        Raises:
            RuntimeError: others committed to the table all the while.
        """
        again = [candidate for candidate in candidates if candidate.replaces is not None]
        if not again:
            return set()
        delta, location = self._table.delta, self._work.birth.location
        for _ in range(_LOOKS):
            version = delta.table_state(location).version
            self._files = self._holding(again)
            self._entries = delta.live_entries(location, [file.path for file in self._files])
            if delta.table_state(location).version == version:
                return self._too_much(again, most_bytes)
        raise RuntimeError(
            f"others committed to bronze.{self._work.birth.name} during each of {_LOOKS} looks for the rows of "
            "files that are read again. Nothing was changed: run the table again"
        )

    def finish(self, prepared: PreparedBatch) -> None:
        """Let the old rows of those files leave that will be committed; of others they stay."""
        leaving = self._leaving(prepared)
        keys = {candidate.key for candidate in leaving}
        files = [file for file in self._files if file.keys & keys]
        if not files:
            return
        prepared.adds += self._staying(files, leaving, prepared.base or prepared.schema)
        prepared.removes += [self._entries[file.path] for file in files]

    def staying(self, rows: DataFrame, prepared: PreparedBatch) -> DataFrame:
        """Of the table's rows, with all of its columns, those that do not leave with what is prepared."""
        leaving = self._leaving(prepared)
        if not leaving:
            return rows
        readings = self._readings(leaving)
        return rows.join(F.broadcast(readings), self._same(rows, readings), "left_anti")

    def _leaving(self, prepared: PreparedBatch) -> list[Candidate]:
        landing = {row.key for row in prepared.rows if row.status is Status.COMMITTED}
        return [one for one in self._work.plan.candidates if one.replaces is not None and one.key in landing]

    def _too_much(self, candidates: Iterable[Candidate], most_bytes: int) -> set[str]:
        by_key: dict[str, set[_DataFile]] = {}
        for file in self._files:
            for key in file.keys:
                by_key.setdefault(key, set()).add(file)
        taken: set[_DataFile] = set()
        late: set[str] = set()
        size = 0
        for candidate in candidates:
            more = by_key.get(candidate.key, set()) - taken
            grown = size + sum(file.size for file in more)
            if more and taken and grown > most_bytes:
                late.add(candidate.key)
            else:
                size, taken = grown, taken | more
        return late

    def _holding(self, candidates: Sequence[Candidate]) -> list[_DataFile]:
        rows = self._table.delta.session.read.format("delta").load(self._work.birth.location)
        # By the bounds of the batch number, most data files are not opened.
        of_then = rows.where(F.col("_batch").isin(sorted({one.replaces for one in candidates})))
        told = of_then.select(
            F.col("_metadata.file_path").alias("path"), F.col("_metadata.file_size").alias("size"), *_READING
        )
        readings = self._readings(candidates)
        found = told.join(F.broadcast(readings), self._same(told, readings), "left_semi").groupBy("path", "size")
        start, location = len(S3Address(self._table.key.bucket).s3), f"{self._work.birth.location}/"
        return [
            _DataFile(row["path"].removeprefix(location), row["size"], frozenset(path[start:] for path in row["paths"]))
            for row in found.agg(F.collect_set("_source_path").alias("paths")).orderBy("path").collect()
        ]

    def _staying(self, files: Sequence[_DataFile], leaving: Sequence[Candidate], base: TableSchema) -> list[Add]:
        """Stage the other rows of these data files.

        They are read after the files' entries: whoever changes a file in between changes its entry too, and the batch
        is void.
        """
        delta, location, session = self._table.delta, self._work.birth.location, self._table.delta.session
        view = f"held_{ULID()}".lower()
        delta.batch_view(location, {0: [file.path for file in files]}, view)
        rows, readings = session.table(view), self._readings(leaving)
        others = rows.join(F.broadcast(readings), self._same(rows, readings), "left_anti")
        columns = [quoted(field.name) for field in base.fields]
        others.select(*columns).createOrReplaceTempView(f"{view}_staying")
        adds = delta.stage(location, f"SELECT * FROM {view}_staying", base)
        for name in (f"{view}_staying", view):
            session.catalog.dropTempView(name)
        return adds

    def _readings(self, candidates: Sequence[Candidate]) -> DataFrame:
        bucket, states = self._table.key.bucket, self._work.states
        # The etag that they were read with: a copy of the same bytes may have another.
        values = zip(
            *((S3Address(bucket, one.key).s3, states[one.key].etag, one.replaces) for one in candidates), strict=True
        )
        types = (pa.string(), pa.string(), pa.int64())
        columns = [pa.array(list(column), kind) for column, kind in zip(values, types, strict=True)]
        return self._table.delta.session.createDataFrame(pa.table(columns, [f"left{name}" for name in _READING]))

    def _same(self, rows: DataFrame, readings: DataFrame) -> Column:
        first, second, third = (rows[name] == readings[f"left{name}"] for name in _READING)
        return first & second & third
