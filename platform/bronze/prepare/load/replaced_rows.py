"""Files that a redrive or a rebuild reads again. The commit of the new rows removes the rows of the last reading.

Delta removes files, not rows: a data file is written again without the rows that leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add, Remove
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: Columns that identify the rows of one reading of a file.
_READING = ("_source_path", "_source_etag", "_batch")

#: Attempts to find the files while no other writer commits.
_MAX_ATTEMPTS = 5
_F = TypeVar("_F")


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

    Delta removes data files, not rows. So the other rows of such a file are written again unchanged.

    Args:
        delta: reads the table, and stages rows.
        bucket: of the files.
        work: the draft that the look returned.
    """

    def __init__(self, delta: Delta, bucket: str, work: BatchDraft) -> None:
        self._delta, self._bucket, self._work = delta, bucket, work
        self._files: Sequence[_DataFile] = ()
        self._entries: dict[str, Remove] = {}

    def find(self, candidates: Iterable[Candidate], max_bytes: int) -> set[str]:
        """Find the data files with rows that these candidates replace, in one version of the table.

        Args:
            candidates: to load.
            max_bytes: of data files that may be written again.

        Returns:
            Keys of the candidates that must wait so that no more bytes are written again. Never all candidates wait.

        Raises:
            UnavailableError: another writer committed to the table during each attempt.
        """
        again = [candidate for candidate in candidates if candidate.replaces is not None]
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
        """Remove the old rows of the files that will be committed. The old rows of other files stay."""
        leaving = self._leaving_candidates(prepared)
        keys = {candidate.key for candidate in leaving}
        files = [file for file in self._files if file.keys & keys]
        if not files:
            return
        prepared.adds += self._stage_remaining_rows(files, leaving, prepared.base or prepared.schema)
        prepared.removes += [self._entries[file.path] for file in files]

    def select_staying(self, rows: DataFrame, prepared: PreparedBatch) -> DataFrame:
        """Return the rows that do not leave with the preparation.

        Args:
            rows: of the table, with all its columns.
        """
        leaving = self._leaving_candidates(prepared)
        if not leaving:
            return rows
        readings = self._readings(leaving)
        return rows.join(F.broadcast(readings), self._same_rows_condition(rows, readings), "left_anti")

    def _leaving_candidates(self, prepared: PreparedBatch) -> list[Candidate]:
        landing = {row.key for row in prepared.rows if row.status is Status.COMMITTED}
        candidates = self._work.plan.candidates
        return [candidate for candidate in candidates if candidate.replaces is not None and candidate.key in landing]

    def _oversized_files(self, candidates: Iterable[Candidate], max_bytes: int) -> set[str]:
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
            if more and taken and grown > max_bytes:
                late.add(candidate.key)
            else:
                size, taken = grown, taken | more
        return late

    def _files_with_rows(self, candidates: Sequence[Candidate]) -> list[_DataFile]:
        rows = self._delta.session.read.format("delta").load(self._work.birth.location)
        # Delta knows the bounds of the batch number in each data file, so most data files are not opened.
        earlier = rows.where(F.col("_batch").isin(sorted({candidate.replaces for candidate in candidates})))
        located = earlier.select(
            F.col("_metadata.file_path").alias("path"), F.col("_metadata.file_size").alias("size"), *_READING
        )
        readings = self._readings(candidates)
        found = located.join(F.broadcast(readings), self._same_rows_condition(located, readings), "left_semi").groupBy(
            "path", "size"
        )
        start, location = len(S3Address(self._bucket).s3), f"{self._work.birth.location}/"
        return [
            _DataFile(row["path"].removeprefix(location), row["size"], frozenset(path[start:] for path in row["paths"]))
            for row in found.agg(F.collect_set("_source_path").alias("paths")).orderBy("path").collect()
        ]

    def _stage_remaining_rows(
        self, files: Sequence[_DataFile], leaving: Sequence[Candidate], base: TableSchema
    ) -> list[Add]:
        """Stage the other rows of these data files."""

        def remaining_rows(rows: DataFrame) -> DataFrame:
            readings = self._readings(leaving)
            return rows.join(F.broadcast(readings), self._same_rows_condition(rows, readings), "left_anti")

        paths = [file.path for file in files]
        return stage_rest(self._delta, self._work.birth.location, paths, remaining_rows, base)

    def _readings(self, candidates: Sequence[Candidate]) -> DataFrame:
        bucket, states = self._bucket, self._work.states
        # The etag that the last reading saw, because a copy of the same bytes may have another etag.
        values = zip(
            *(
                (S3Address(bucket, candidate.key).s3, states[candidate.key].etag, candidate.replaces)
                for candidate in candidates
            ),
            strict=True,
        )
        types = (pa.string(), pa.string(), pa.int64())
        columns = [pa.array(list(column), kind) for column, kind in zip(values, types, strict=True)]
        return self._delta.session.createDataFrame(pa.table(columns, [f"left{name}" for name in _READING]))

    def _same_rows_condition(self, rows: DataFrame, readings: DataFrame) -> Column:
        first, second, third = (rows[name] == readings[f"left{name}"] for name in _READING)
        return first & second & third


def found_with_entries(
    delta: Delta, location: str, name: str, find: Callable[[], Sequence[_F]], path: Callable[[_F], str]
) -> tuple[Sequence[_F], dict[str, Remove]]:
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
