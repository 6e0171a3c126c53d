"""Clustered tables: born so, changed later, maintained, and what cannot be clustered takes rows as before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.lake.spark import delta, table_maintenance
from tidegate.platform.lake.spark.cluster_columns import cluster_columns
from tidegate.platform.lake.spark.table_maintenance import Clustering
from tidegate.platform.maintenance.cluster_columns import follow_cluster_by
from tidegate.platform.maintenance.tables import maintain_silver
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
ORDERS = {
    "name": "orders",
    "prefix": "orders/",
    "format": "csv",
    "columns": {"id": "bigint", "at": "int", "n": "int", "tags": "array<int>"},
    "cluster_by": ["id"],
    "silver": {"keys": ["id"], "order": "at", "every": 10, "cluster_by": "id"},
}
#: Rows of the first file: enough for more than ten files of the size below.
ROWS = 1_000


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "CLUSTERED_BYTES", 900)


def orders(ids: list[int], at: int) -> str:
    return "id,at,n\n" + "".join(f"{number},{at},{ROWS - number}\n" for number in ids)


def clustered(lake: TestLake, location: str) -> tuple[str, ...]:
    return cluster_columns(lake.lake.delta.session, location, lake.lake.delta.table_state(location))


def read(lake: TestLake, location: str, where: str) -> tuple[int, int]:
    """Return how many files a query reads, and how many the table has."""
    session = lake.lake.delta.session
    found = session.sql(f"SELECT * FROM delta.`{location}` WHERE {where}").inputFiles()
    return len(found), lake.lake.delta.table_state(location).files


def test_both_tables_are_clustered_at_their_births_and_maintenance_sorts_them(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([ORDERS])
    lake.put("orders/1.csv", orders(random.Random(1).sample(range(ROWS), ROWS), 1))
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    location, silver = kit.location(lake, "orders"), lake.lake.store.uri("silver", "orders")
    assert clustered(lake, location) == clustered(lake, silver) == ("id",)

    lines: list[str] = []
    maintain_silver(lake.lake, "orders", dry_run=False, log=lines.append)
    assert not [line for line in lines if "WARNING" in line]
    some, files = read(lake, silver, "id = 7")
    assert 1 <= some <= 0.1 * files, (some, files)
    lake.put("orders/2.csv", orders([ROWS - 1, ROWS], 2))
    kit.run(lake, "orders")
    merged = kit.merge(lake, "orders")
    assert (merged.inserted, merged.updated) == (1, 1)
    assert kit.silver(lake, "orders", "count(*), count(DISTINCT id), sum(at)") == [(ROWS + 1, ROWS + 1, ROWS + 3)]

    lines.clear()
    assert follow_cluster_by(lake.lake.delta, location, ["tags"], "bronze.orders", lines.append) == ("id",)
    (line,) = lines
    why = "[DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED]"
    assert line.startswith(f"WARNING: bronze.orders is not clustered by `cluster_by`: {why}"), line


def test_a_table_with_folders_is_loaded_all_the_same(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    lake.put("orders/k=a/1.csv", orders([1, 2], 1))
    kit.run(lake, "orders")
    assert clustered(lake, kit.location(lake, "orders")) == ()
    assert kit.bronze(lake, "orders", "id") == [(1,), (2,)]


def test_files_of_a_whole_cube_give_maintenance_nothing_to_do(
    tidegate_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([]).lake
    location, session = lake.store.uri("bronze", "t"), lake.delta.session
    table = f"delta.`{location}`"
    named = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    by = "CLUSTER BY (`a b`, s.x)"
    session.sql(
        f"CREATE TABLE {table} (`a b` BIGINT, s STRUCT<x: INT>) USING delta {by} TBLPROPERTIES ({named})"
    ).collect()
    session.sql(f"INSERT INTO {table} SELECT id, named_struct('x', 1) FROM range(1000)").collect()
    session.sql(f"OPTIMIZE {table}").collect()
    size = session.sql(f"DESCRIBE DETAIL {table}").collect()[0]["sizeInBytes"]
    columns = cluster_columns(session, location, lake.delta.table_state(location))
    assert columns == ("a b", "s.x")

    def found(cube_bytes: int) -> tuple[int, int, int]:
        bounds = Clustering(cube_bytes, 4 * size, takes_other_columns=True)
        monkeypatch.setattr(table_maintenance, "CLUSTER_ALL", bounds)
        mergeable = lake.delta.upkeep.find_mergeable(location, columns)
        return mergeable.files, mergeable.hidden, mergeable.pieces

    assert found(2 * size) == (0, 0, 0), "the only cube stays as it is"
    session.sql(f"DELETE FROM {table} WHERE `a b` < 100").collect()
    session.sql(f"INSERT INTO {table} VALUES (1000, NULL)").collect()
    assert found(size // 2) == (1, 0, 1), "the cube stays as it is, with its hidden rows"
    # Delta measures a cube by the rows that no vector hides: 900 of 1000 here.
    assert found(size) == (2, 1, 1)
    # What find_mergeable finds is what a compaction writes again.
    done = lake.delta.compact(location, Clustering(size, 4 * size, takes_other_columns=True))
    assert (done.removed, done.left, found(size)) == (2, 0, (0, 0, 0))
