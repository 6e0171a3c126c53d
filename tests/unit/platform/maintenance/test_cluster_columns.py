"""Clustering follows lake.yaml: what is changed, what is only said, and that nothing of it fails a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.core.schema.column_types import Field, Struct
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.maintenance import cluster_columns
from tidegate.platform.maintenance.cluster_columns import follow_cluster_by

LONG = simple_type("bigint")
FIELDS = (Field("Id", LONG), Field("a b", LONG), Field("user", Struct((Field("id", LONG),))), Field("day", LONG))


class Table:
    """Stands for Delta with one table, and notes by which columns it is clustered."""

    session = None

    def __init__(self, *now: str, partitions: Sequence[str] = (), fails: str = "", columns: bool = True) -> None:
        self.now, self.fails, self.asked = now, fails, 0
        schema = TableSchema(FIELDS if columns else (), tuple(partitions))
        self.state = TableState(1, None, "id", {}, schema, 1, ("clustering",) if now else ())

    def table_state(self, location: str) -> TableState:
        return self.state

    def cluster_columns(self, session: object, location: str, state: TableState) -> tuple[str, ...]:
        return self.now

    def cluster_table(self, session: object, location: str, paths: Sequence[Sequence[str]]) -> None:
        if self.fails:
            raise PySparkException(f"{self.fails}\nat io.delta")
        self.now = tuple(".".join(path) for path in paths)


def follow(monkeypatch: pytest.MonkeyPatch, table: Table, *wanted: str, **options: Any) -> tuple[list[str], list[str]]:
    """Return the columns that the call returns, and its lines."""
    return follow_all(monkeypatch, table, wanted, **options)


def follow_all(
    monkeypatch: pytest.MonkeyPatch, table: Table, wanted: Sequence[str] | None, **options: Any
) -> tuple[list[str], list[str]]:
    """Do as `follow` does, for a lake.yaml that may say nothing (None)."""
    monkeypatch.setattr(cluster_columns, "cluster_columns", table.cluster_columns)
    monkeypatch.setattr(cluster_columns, "cluster_table", table.cluster_table)
    lines: list[str] = []
    found = follow_cluster_by(table, "s3a://l/bronze/t", wanted, "bronze.t", lines.append, **options)  # type: ignore[arg-type]
    return list(found), lines


@pytest.mark.parametrize(
    ("now", "wanted", "after", "said"),
    [
        ((), ["ID", "user.id"], ["Id", "user.id"], "bronze.t is clustered by Id, user.id instead of no column"),
        (("Id",), ["a b"], ["a b"], "bronze.t is clustered by a b instead of Id"),
        (("Id",), [], [], "bronze.t is clustered by no column instead of Id"),
        (("Id",), ["id"], ["Id"], ""),
        ((), [], [], ""),
    ],
)
def test_a_table_is_clustered_by_what_lake_yaml_says(
    monkeypatch: pytest.MonkeyPatch, now: tuple[str, ...], wanted: list[str], after: list[str], said: str
) -> None:
    table = Table(*now)
    assert follow(monkeypatch, table, *wanted) == (after, [said] if said else [])
    assert list(table.now) == after


@pytest.mark.parametrize(
    ("table", "wanted", "said"),
    [
        (Table("Id"), "gone", "it has no column gone (yet); correct `cluster_by`, or wait for a file that has it"),
        (Table("Id", partitions=["day"]), "Id", "its files are in folders of day, and Delta does not cluster such a"),
        (Table("Id", fails="[DELTA_CLUSTERING_X] v: VARIANT"), "day", "[DELTA_CLUSTERING_X] v: VARIANT. It stays"),
    ],
)
def test_what_cannot_be_clustered_is_logged_and_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, table: Table, wanted: str, said: str
) -> None:
    found, (line,) = follow(monkeypatch, table, wanted)
    assert found == ["Id"]
    assert line.startswith(f"WARNING: bronze.t is not clustered by `cluster_by`: {said}"), line
    assert line.endswith("It stays clustered by Id")
    assert table.now == ("Id",)


def test_a_dry_run_and_a_table_without_columns_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("Id")
    assert follow(monkeypatch, table, "day", dry_run=True) == (
        ["day"],
        ["bronze.t would be clustered by day instead of Id"],
    )
    assert table.now == ("Id",)
    assert follow(monkeypatch, Table(columns=False), "day") == ([], [])


def test_without_a_word_in_lake_yaml_a_table_stays_as_somebody_clustered_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("Id")
    assert follow_all(monkeypatch, table, None) == (["Id"], [])
    assert table.now == ("Id",)
