"""A purge leaves the clustering of a table as it was, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.schema.column_types import Field, Struct
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark import cluster_columns
from tidegate.platform.lake.spark.cluster_columns import purge_hidden_rows, restore_clustering
from tidegate.platform.lake.spark.results import TableState

WHERE = "s3a://lake/bronze/t"
PURGE = "REORG TABLE delta.`s3a://lake/bronze/t` APPLY (PURGE)"
CLUSTER = "ALTER TABLE delta.`s3a://lake/bronze/t` CLUSTER BY "
LONG = simple_type("bigint")
FIELDS = (Field("id", LONG), Field("s", Struct((Field("a b", LONG),))))


class Table:
    """Stands for Spark with one table, and takes down its commands.

    Args:
        now: the columns that it is clustered by, as Delta shows them.
        meanwhile: how many of the purges begin after somebody else has clustered it.
        fails: whether another commit wins against the first purge.
    """

    def __init__(self, now: str, *, meanwhile: int = 0, fails: bool = False) -> None:
        self.now, self.meanwhile, self.fails, self.done = now, meanwhile, fails, list[str]()
        self.properties: dict[str, str] = {}

    @property
    def state(self) -> TableState:
        return TableState(1, None, "id", self.properties, TableSchema(FIELDS, ()), 1)

    def command(self, session: object, text: str) -> list[Any]:
        if text.startswith("DESCRIBE"):
            return [{"clusteringColumns": self.now.replace(", ", ",").split(",") if self.now else []}]
        self.done.append(text)
        if text.startswith(CLUSTER):
            self.now = text.removeprefix(CLUSTER).removeprefix("(").removesuffix(")").replace("NONE", "")
            return []
        if self.fails:
            self.fails = False
            raise RuntimeError("another commit came first")
        self.meanwhile -= 1
        return [{"metrics": {"clusteringStats": {"numOutputZCubes": 0} if self.meanwhile >= 0 else None}}]

    def set_properties(self, session: object, location: str, wanted: Mapping[str, str | None]) -> None:
        both = self.properties | dict(wanted)
        self.properties = {name: text for name, text in both.items() if text is not None}


def use(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    monkeypatch.setattr(cluster_columns, "command", table.command)
    monkeypatch.setattr(cluster_columns, "set_properties", table.set_properties)


@pytest.fixture
def purge(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(table: Table) -> list[str]:
        use(monkeypatch, table)
        purge_hidden_rows(None, WHERE, table.state)  # type: ignore[arg-type]
        return table.done

    return run


@pytest.mark.parametrize(
    ("shown", "named"),
    [("id", "`id`"), ("`a b`", "`a b`"), ("`a.b`", "`a.b`"), ("s.`x y`.`a``b`", "`s`.`x y`.`a``b`")],
)
def test_a_table_is_purged_outside_of_its_clustering(purge: Any, shown: str, named: str) -> None:
    assert purge(Table(shown)) == [f"{CLUSTER}NONE", PURGE, f"{CLUSTER}({named})"]
    assert purge(Table("")) == [PURGE]


@pytest.mark.parametrize("again", [True, False])
def test_a_purge_that_died_leaves_the_columns_to_the_next_one_and_to_maintenance(
    monkeypatch: pytest.MonkeyPatch, purge: Any, again: bool
) -> None:
    table = Table("s.`a b`,id")
    with monkeypatch.context() as dies:
        dies.setattr(cluster_columns, "_restore", lambda *_: None)
        purge(table)
    assert table.now == ""
    if again:
        purge(table)
    else:
        use(monkeypatch, table)
        restore_clustering(None, WHERE, table.state)  # type: ignore[arg-type]
        restore_clustering(None, WHERE, table.state)  # type: ignore[arg-type]
    assert (table.now, table.properties) == ("`s`.`a b`, `id`", {})


def test_a_column_that_is_gone_is_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("")
    use(monkeypatch, table)
    table.properties = {"tidegate.clustered_by": '[["gone"],["id"]]'}
    restore_clustering(None, WHERE, table.state)  # type: ignore[arg-type]
    assert (table.now, table.properties) == ("`id`", {})


def test_a_purge_that_lost_leaves_the_clustering_to_the_next_attempt(purge: Any) -> None:
    table = Table("id", fails=True)
    with pytest.raises(RuntimeError, match="another commit came first"):
        purge(table)
    assert table.now == "`id`"
    purge(table)
    assert table.now == "`id`"
    assert table.done[-3:] == [f"{CLUSTER}NONE", PURGE, f"{CLUSTER}(`id`)"]


def test_a_purge_in_which_somebody_clustered_the_table_left_rows_and_is_repeated(purge: Any) -> None:
    assert purge(Table("id", meanwhile=2)).count(PURGE) == 3
    with pytest.raises(UnavailableError, match="was clustered by another process each time"):
        purge(Table("id", meanwhile=3))
