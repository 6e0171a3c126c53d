"""A purge leaves the clustering of a table as it was, whatever happens meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark import cluster_columns
from tidegate.platform.lake.spark.cluster_columns import purge_hidden_rows

WHERE = "s3a://lake/bronze/t"
PURGE = "REORG TABLE delta.`s3a://lake/bronze/t` APPLY (PURGE)"
CLUSTER = "ALTER TABLE delta.`s3a://lake/bronze/t` CLUSTER BY "


class Table:
    """Stands for Spark with one table, and takes down its commands.

    Args:
        now: the columns that it is clustered by, as Delta shows them.
        meanwhile: how many of the purges begin after somebody else has clustered it.
        fails: whether another commit wins against the first purge.
    """

    def __init__(self, now: str, *, meanwhile: int = 0, fails: bool = False) -> None:
        self.now, self.meanwhile, self.fails, self.done = now, meanwhile, fails, list[str]()

    def command(self, session: object, text: str) -> list[Any]:
        if text.startswith("DESCRIBE"):
            return [{"clusteringColumns": self.now.split(",") if self.now else []}]
        self.done.append(text)
        if text.startswith(CLUSTER):
            self.now = text.removeprefix(CLUSTER).removeprefix("(").removesuffix(")").replace("NONE", "")
            return []
        if self.fails:
            self.fails = False
            raise RuntimeError("another commit came first")
        self.meanwhile -= 1
        return [{"metrics": {"clusteringStats": {"numOutputZCubes": 0} if self.meanwhile >= 0 else None}}]


@pytest.fixture
def purge(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(table: Table) -> list[str]:
        monkeypatch.setattr(cluster_columns, "command", table.command)
        purge_hidden_rows(None, WHERE)  # type: ignore[arg-type]
        return table.done

    return run


@pytest.mark.parametrize(
    ("shown", "named"),
    [("id", "`id`"), ("`a b`", "`a b`"), ("`a.b`", "`a.b`"), ("s.`x y`.`a``b`", "`s`.`x y`.`a``b`")],
)
def test_a_table_is_purged_outside_of_its_clustering(purge: Any, shown: str, named: str) -> None:
    assert purge(Table(shown)) == [f"{CLUSTER}NONE", PURGE, f"{CLUSTER}({named})"]
    assert purge(Table("")) == [PURGE]


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
