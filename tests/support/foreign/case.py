"""A case: a table, the files that foreign writers put into it first, and the expected fate of each file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

Row = dict[str, Any]
Kind = Literal["same", "copy", "either", "quarantined", "same or quarantined", "rows"]

#: The ids of a file's rows count up from the file's place among the table's files, times this number.
ID_STEP = 1000


@dataclass(frozen=True)
class Workshop:
    """The place where a file is made.

    Attributes:
        folder: an empty folder, which Spark's server sees too.
        spark: a session of the warm server.
        first: the first id of the file's rows. The next ids count up from it.
    """

    folder: Path
    spark: SparkSession
    first: int

    def ids(self, count: int) -> list[int]:
        """Return the ids of `count` rows."""
        return list(range(self.first, self.first + count))


@dataclass(frozen=True)
class Made:
    """A file: its bytes, and its rows as its writer's own reader sees them."""

    body: bytes
    rows: Sequence[Row]


@dataclass(frozen=True)
class Expect:
    """The expected fate of a file.

    Attributes:
        kind: `same`: all values, and the file is registered where it is (or loaded). `copy`: all values, from a copy
            that Tidegate wrote (or loaded). `either`: `same` or `copy`. `quarantined`: the whole file is. `same or
            quarantined`: both are right. `rows`: some rows are quarantined, and the other rows have all values.
        says: texts that the reason must contain.
        bad: number of quarantined rows.
    """

    kind: Kind
    says: tuple[str, ...] = ()
    bad: int = 0


SAME, COPY, EITHER = Expect("same"), Expect("copy"), Expect("either")


def refused(*says: str) -> Expect:
    """Expect that the whole file is quarantined, with a reason that contains these texts and a remedy."""
    return Expect("quarantined", says)


def same_or_refused(*says: str) -> Expect:
    """Expect all values, or quarantine with a reason that contains these texts and a remedy."""
    return Expect("same or quarantined", says)


def without(bad: int) -> Expect:
    """Expect that `bad` rows are quarantined, and no others. The rows of the maker leave them out."""
    return Expect("rows", bad=bad)


@dataclass(frozen=True)
class File:
    """A file of a case.

    Attributes:
        key: the object's key below the table's prefix.
        make: makes the file.
        expect: the expected fate in a table with the default mode.
        loaded: the expected fate in a table of Parquet that is loaded, if it differs.
        types: Spark's types of those columns whose values do not show the type.
        respelled: whether its columns are in another case than the table's columns, which came first.
        probe: a condition that only the first row meets. Statistics must not hide that row.
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
        name: the table's name.
        files: its first batch. Either all of these odd files fit, or none does.
        options: the table's options in lake.yaml.
        good: returns key and body of a plain file that comes afterwards. The file has one row, with the given id.
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
        """The id of the row in the good file."""
        return ID_STEP * (len(self.files) + 1)

    @property
    def loaded(self) -> bool:
        """Whether the table is loaded, so that rows are copied."""
        return self.options.get("mode") == "load" or self.options.get("format", "parquet") != "parquet"

    def expected(self, file: File) -> Expect:
        """Return the expected fate of a file in this table."""
        return (file.loaded or file.expect) if self.loaded else file.expect


def both_modes(case: Case) -> tuple[Case, Case]:
    """Return a case of Parquet files twice: in the default mode, and loaded."""
    loaded = Case(f"{case.name}_load", case.files, case.good, {**case.options, "mode": "load"}, case.by_others)
    return case, loaded
