"""A case: a table, the files that foreign writers put into it first, and what is to become of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

Row = dict[str, Any]
Kind = Literal["same", "copy", "either", "quarantined", "same or quarantined", "rows"]

#: Ids of a file's rows: its place among the table's files, times this, and what comes after.
IDS_APART = 1000


@dataclass(frozen=True)
class Workshop:
    """Where a file is made.

    Attributes:
        folder: an empty one, which Spark's server sees too.
        spark: a session of the warm server.
        first: the first id of the file's rows; the next ones count up from it.
    """

    folder: Path
    spark: SparkSession
    first: int

    def ids(self, count: int) -> list[int]:
        """The ids of so many rows."""
        return list(range(self.first, self.first + count))


@dataclass(frozen=True)
class Made:
    """A file: its bytes, and its rows as its writer's own reader sees them."""

    body: bytes
    rows: Sequence[Row]


@dataclass(frozen=True)
class Expect:
    """What becomes of a file.

    Attributes:
        kind: ``same`` all values, registered where it lies (or loaded); ``copy`` all values, from a copy that
            Tidegate wrote (or loaded); ``either`` of the two; ``quarantined``; ``same or quarantined`` where both
            are right; ``rows``: some are set apart, the rest are the same.
        says: what the reason has to name.
        bad: how many rows are set apart.
    """

    kind: Kind
    says: tuple[str, ...] = ()
    bad: int = 0


SAME, COPY, EITHER = Expect("same"), Expect("copy"), Expect("either")


def refused(*says: str) -> Expect:
    """The whole file goes to the quarantine, with a reason that names these and a remedy."""
    return Expect("quarantined", says)


def same_or_refused(*says: str) -> Expect:
    """All values, or the quarantine with a reason that names these and a remedy."""
    return Expect("same or quarantined", says)


def without(bad: int) -> Expect:
    """All rows but some, which are set apart; the maker leaves them out."""
    return Expect("rows", bad=bad)


@dataclass(frozen=True)
class File:
    """A file of a case.

    Attributes:
        key: below the table's prefix.
        make: makes it.
        expect: what becomes of it, as the table is by default.
        loaded: the same in a table of Parquet that is loaded, where it differs.
        types: Spark's types of columns, where a value alone does not tell.
        respelled: whether its columns have another case than the table's, which came first.
        probe: a condition that holds for exactly the first row: statistics must not hide it.
    """

    key: str
    make: Callable[[Workshop], Made]
    expect: Expect = SAME
    loaded: Expect | None = None
    types: dict[str, str] = field(default_factory=dict)
    probe: str | None = None
    respelled: bool = False


@dataclass(frozen=True)
class Case:
    """A table and its first batch.

    Attributes:
        name: of the table.
        files: its first batch; odd files that all fit, or none does.
        options: of the table in lake.yaml.
        good: key and body of a plain file that comes afterwards; one row with an id of its own.
        by_others: whether delta-rs and DuckDB read the table too.
    """

    name: str
    files: tuple[File, ...]
    good: Callable[[int], tuple[str, bytes]]
    options: dict[str, Any] = field(default_factory=dict)
    by_others: bool = False

    def __post_init__(self) -> None:
        assert len({file.key for file in self.files}) == len(self.files), f"{self.name} has two files of one key"

    @property
    def good_id(self) -> int:
        """The id of the good file's row."""
        return IDS_APART * (len(self.files) + 1)

    @property
    def loaded(self) -> bool:
        """Whether rows are copied."""
        return self.options.get("mode") == "load" or self.options.get("format", "parquet") != "parquet"

    def expected(self, file: File) -> Expect:
        """What becomes of a file in this table."""
        return (file.loaded or file.expect) if self.loaded else file.expect


def both_modes(case: Case) -> tuple[Case, Case]:
    """A case of Parquet files as it is by default, and loaded."""
    loaded = Case(f"{case.name}_load", case.files, case.good, {**case.options, "mode": "load"}, case.by_others)
    return case, loaded
