"""Rows that leave a loaded table: those of a file that is read again, that was overwritten, or that is gone.

A redrive or a rebuild reads the same bytes again, and the commit of the new rows removes the rows of the last reading.
By `on_overwrite` and `on_removed`, all rows of a key leave. Delta removes files, not rows: a data file is written again
without the rows that leave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import LiveEntry
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: Columns that identify the rows of one reading of a file. All rows of a key have its `_source_path`.
_READING = ("_source_path", "_source_etag", "_batch")

#: Attempts to find the files while no other writer commits.
_MAX_ATTEMPTS = 5
_F = TypeVar("_F")


@dataclass(frozen=True)
class _DataFile:
    """A live data file that holds rows which may leave.

    Attributes:
        size: bytes.
        rows: number of these rows, by the key of the object that they came from.
    """

    path: str
    size: int
    rows: Mapping[str, int] = field(compare=False)

    def count(self, keys: Collection[str]) -> int:
        """Return how many rows leave if those of these keys leave."""
        return sum(count for key, count in self.rows.items() if key in keys)


@dataclass(frozen=True)
class _Leaver:
    """A key with rows that leave.

    Attributes:
        batches: those whose rows of the key may leave.
        etag: of the only reading of the key whose rows leave. None: all rows of the key leave.
    """

    key: str
    batches: frozenset[int]
    etag: str | None = None

    @property
    def batch(self) -> int | None:
        """The batch of the only reading whose rows leave. None: all rows of the key leave."""
        return None if self.etag is None else max(self.batches)


class Replacing:
    """The rows of a loaded table that leave with a batch.

    Delta removes data files, not rows. So the other rows of such a file are written again unchanged.

    Args:
        delta: reads the table, and stages rows.
        bucket: of the files.
        work: the draft that the look returned.
    """

    def __init__(self, delta: Delta, bucket: str, work: BatchDraft) -> None:
        self._delta, self._bucket, self._work = delta, bucket, work
        self._files: Sequence[_DataFile] = ()
        self._entries: dict[str, LiveEntry] = {}
        self._counts: dict[str, int] = {}

    def find(self, candidates: Iterable[Candidate], max_bytes: int) -> set[str]:
        """Find the data files with rows that leave, in one version of the table.

        Args:
            candidates: to load.
            max_bytes: of data files that may be written again.

        Returns:
            Keys that must wait so that no more bytes are written again: of candidates, and of objects that are gone.
            Never all of them wait.

        Raises:
            UnavailableError: another writer committed to the table during each attempt.
        """
        again = [*map(self._gone_leaver, self._work.plan.leaving), *self._leavers(candidates)]
        if not again:
            return set()
        name = f"bronze.{self._work.birth.name}"
        self._files, self._entries = found_with_entries(
            self._delta,
            self._work.birth.location,
            name,
            lambda: self._files_with_rows(again),
            lambda file: file.path,
        )
        return self._oversized_files(again, max_bytes)

    def finish(self, prepared: PreparedBatch) -> None:
        """Remove the old rows of the files that will be committed, and those of objects that are gone.

        The old rows of other files stay.
        """
        leaving = self._landing_leavers(prepared)
        self._record(prepared, {leaver.key for leaver in leaving if leaver.etag is None})
        keys = {leaver.key for leaver in leaving}
        files = [file for file in self._files if file.count(keys)]
        # The usual data file has only rows of overwritten files. It is not read again.
        mixed = [file for file in files if file.count(keys) != self._entries[file.path].rows]
        if mixed:
            prepared.adds += self._stage_remaining_rows(mixed, leaving, prepared.base or prepared.schema)
        prepared.removes += [self._entries[file.path].remove for file in files]

    def select_staying(self, rows: DataFrame, prepared: PreparedBatch) -> DataFrame:
        """Return the rows that do not leave with the preparation.

        Args:
            rows: of the table, with all its columns.
        """
        leaving = self._landing_leavers(prepared)
        if not leaving:
            return rows
        readings = self._readings(leaving)
        return rows.join(F.broadcast(readings), self._same_rows_condition(rows, readings), "left_anti")

    def _landing_leavers(self, prepared: PreparedBatch) -> list[_Leaver]:
        landing = {row.key for row in prepared.rows if row.status is Status.COMMITTED}
        entering = [candidate for candidate in self._work.plan.candidates if candidate.key in landing]
        gone = [key for key in self._work.plan.leaving if key not in prepared.waiting]
        return [*map(self._gone_leaver, gone), *self._leavers(entering)]

    def _gone_leaver(self, key: str) -> _Leaver:
        return _Leaver(key, self._work.brought[key])

    def _leavers(self, candidates: Iterable[Candidate]) -> list[_Leaver]:
        brought, states = self._work.brought, self._work.states
        return [
            _Leaver(candidate.key, brought[candidate.key])
            if candidate.replaces_all
            # The etag that the last reading saw, because a copy of the same bytes may have another etag.
            else _Leaver(candidate.key, frozenset({candidate.replaces or 0}), states[candidate.key].etag or "")
            for candidate in candidates
            if candidate.replaces_all or candidate.replaces is not None
        ]

    def _record(self, prepared: PreparedBatch, keys: set[str]) -> None:
        """Record that no earlier rows of these keys stay, with the removals of objects that are gone."""
        prepared.rows = [
            replace(row, removed_rows=self._counts.get(row.key, 0))
            if row.key in keys and row.status is Status.COMMITTED
            else row
            for row in prepared.rows
        ]
        gone = self._work.plan.leaving
        prepared.rows += [gone[key].row(self._counts.get(key, 0)) for key in gone if key in keys]

    def _oversized_files(self, candidates: Iterable[Candidate | _Leaver], max_bytes: int) -> set[str]:
        by_key: dict[str, set[_DataFile]] = {}
        for file in self._files:
            for key in file.rows:
                by_key.setdefault(key, set()).add(file)
        taken: set[_DataFile] = set()
        late: set[str] = set()
        size = 0
        for candidate in candidates:
            more = by_key.get(candidate.key, set()) - taken
            grown = size + sum(file.size for file in more)
            if more and taken and grown > max_bytes:
                late.add(candidate.key)
            else:
                size, taken = grown, taken | more
        return late

    def _files_with_rows(self, leavers: Sequence[_Leaver]) -> list[_DataFile]:
        rows = self._delta.session.read.format("delta").load(self._work.birth.location)
        # Delta knows the bounds of the batch number in each data file, so most data files are not opened.
        earlier = rows.where(F.col("_batch").isin(sorted({n for leaver in leavers for n in leaver.batches})))
        located = earlier.select(
            F.col("_metadata.file_path").alias("path"), F.col("_metadata.file_size").alias("size"), *_READING
        )
        readings = self._readings(leavers)
        leaving = located.join(F.broadcast(readings), self._same_rows_condition(located, readings), "left_semi")
        found = leaving.groupBy("path", "size", "_source_path").count().collect()
        start, location = len(S3Address(self._bucket).s3), f"{self._work.birth.location}/"
        self._counts = {}
        files: dict[tuple[str, int], dict[str, int]] = {}
        for row in sorted(found):  # a sort by Spark is a job more
            key = row["_source_path"][start:]
            files.setdefault((row["path"], row["size"]), {})[key] = row["count"]
            self._counts[key] = self._counts.get(key, 0) + row["count"]
        return [_DataFile(path.removeprefix(location), size, rows) for (path, size), rows in files.items()]

    def _stage_remaining_rows(
        self, files: Sequence[_DataFile], leaving: Sequence[_Leaver], base: TableSchema
    ) -> list[Add]:
        """Stage the other rows of these data files."""

        def remaining_rows(rows: DataFrame) -> DataFrame:
            readings = self._readings(leaving)
            return rows.join(F.broadcast(readings), self._same_rows_condition(rows, readings), "left_anti")

        paths = [file.path for file in files]
        return stage_rest(self._delta, self._work.birth.location, paths, remaining_rows, base)

    def _readings(self, leavers: Sequence[_Leaver]) -> DataFrame:
        """Return the readings whose rows leave. One without a batch stands for all readings of its key."""
        values = zip(
            *((S3Address(self._bucket, leaver.key).s3, leaver.etag, leaver.batch) for leaver in leavers), strict=True
        )
        types = (pa.string(), pa.string(), pa.int64())
        columns = [pa.array(list(column), kind) for column, kind in zip(values, types, strict=True)]
        return self._delta.session.createDataFrame(pa.table(columns, [f"left{name}" for name in _READING]))

    def _same_rows_condition(self, rows: DataFrame, readings: DataFrame) -> Column:
        path, etag, batch = (rows[name] == readings[f"left{name}"] for name in _READING)
        return path & (readings["left_batch"].isNull() | (etag & batch))


def found_with_entries(
    delta: Delta, location: str, name: str, find: Callable[[], Sequence[_F]], path: Callable[[_F], str]
) -> tuple[Sequence[_F], dict[str, LiveEntry]]:
    """Return data files and their live entries, both of one version of the table.

    Args:
        location: `s3a://` URI of the table.
        name: SQL name of the table.
        find: finds the files.
        path: returns the path of a file, relative to the table.

    Raises:
        UnavailableError: another writer committed to the table during each attempt.
    """
    for _ in range(_MAX_ATTEMPTS):
        version = delta.table_state(location).version
        files = find()
        entries = delta.live_entries(location, [path(file) for file in files])
        if delta.table_state(location).version == version:
            return files, entries
    raise UnavailableError(
        f"others committed to {name} during each of {_MAX_ATTEMPTS} looks for the rows of files that are read again. "
        "Nothing was changed: run the table again"
    )


def stage_rest(
    delta: Delta, location: str, paths: Sequence[str], rest: Callable[[DataFrame], DataFrame], base: TableSchema
) -> list[Add]:
    """Stage the rows of data files that stay.

    The rows are read after the entries of the files. A writer that changes a file in between changes its entry too, and
    then the batch is void.

    Args:
        delta: writes the files.
        location: `s3a://` URI of the table.
        paths: of the data files, relative to the table.
        rest: returns those of the rows that stay.
        base: the columns of the table.
    """
    session = delta.session
    columns = [quote_name(field.name) for field in base.fields]
    with temporary_view(session, "held") as held:
        delta.batch_view(location, {0: [*paths]}, held)
        with temporary_view(session, "staying", rest(session.table(held)).select(*columns)) as staying:
            return delta.stage(location, f"SELECT * FROM {staying}", base)
