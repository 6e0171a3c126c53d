"""Clustered tables: born so, changed later, maintained, and what cannot be clustered takes rows as before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.spark import delta, table_maintenance
from tidegate.platform.lake.spark.cluster_columns import cluster_columns, purge_hidden_rows
from tidegate.platform.lake.spark.table_maintenance import Clustering
from tidegate.platform.maintenance.tables import maintain_bronze, maintain_silver
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
#: Rows of the first file: enough for more than twenty files of the size below.
ROWS = 5_000


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "CLUSTERED_BYTES", 1536)


def orders(ids: list[int], at: int) -> str:
    return "id,at,n\n" + "".join(f"{number},{at},{ROWS - number}\n" for number in ids)


def clustered(lake: TestLake, location: str) -> tuple[str, ...]:
    return cluster_columns(lake.lake.delta.session, location, lake.lake.delta.table_state(location))


def read(lake: TestLake, location: str, where: str) -> tuple[int, int]:
    """Return how many files a query reads, and how many the table has."""
    session = lake.lake.delta.session
    found = session.sql(f"SELECT * FROM delta.`{location}` WHERE {where}").inputFiles()
    return len(found), lake.lake.delta.table_state(location).files


def test_a_loaded_table_is_clustered_at_its_birth_and_follows_lake_yaml(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    ids = random.Random(1).sample(range(ROWS), ROWS)
    lake.put("orders/1.csv", orders(ids, 1))
    kit.run(lake, "orders")
    location, key = kit.location(lake, "orders"), lake.key("orders")
    assert clustered(lake, location) == ("id",)
    before, files = read(lake, location, "id = 7")
    assert before == files

    lines: list[str] = []
    maintain_bronze(lake.lake, key, dry_run=False, log=lines.append)
    assert not [line for line in lines if "WARNING" in line]
    some, files = read(lake, location, "id = 7")
    assert 1 <= some <= 0.05 * files, (some, files)
    (again, _) = maintain_bronze(lake.lake, key, dry_run=False)
    assert again.merged == 0, "everything is clustered"

    kit.configure(lake, cluster_by=["N"])
    (planned, _) = maintain_bronze(lake.lake, key, dry_run=True, log=lines.append)
    assert (planned.merged, clustered(lake, location)) == (files, ("id",))
    assert "bronze.orders would be clustered by n instead of id" in lines
    maintain_bronze(lake.lake, key, dry_run=False)
    assert clustered(lake, location) == ("n",)
    some, files = read(lake, location, "n = 7")
    assert 1 <= some <= 0.05 * files, (some, files)

    for columns, why in (
        ("gone", "it has no column gone"),
        ("tags", "[DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED]"),
    ):
        kit.configure(lake, cluster_by=columns)
        lines.clear()
        maintain_bronze(lake.lake, key, dry_run=False, log=lines.append)
        (line,) = (line for line in lines if "WARNING" in line)
        assert line.startswith(f"WARNING: bronze.orders is not clustered by `cluster_by`: {why}"), line
        assert clustered(lake, location) == ("n",)
    lake.put("orders/2.csv", orders([ROWS], 2))
    kit.run(lake, "orders")
    kit.configure(lake, cluster_by=[])
    maintain_bronze(lake.lake, key, dry_run=False)
    assert clustered(lake, location) == ()
    assert [row[0] for row in kit.bronze(lake, "orders", "count(DISTINCT id)")] == [ROWS + 1]


def test_a_table_with_folders_and_one_without_the_column_are_loaded_all_the_same(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([{**ORDERS, "silver": {**ORDERS["silver"], "cluster_by": "nobody"}}])  # type: ignore[dict-item]
    lake.put("orders/k=a/1.csv", orders([1, 2], 1))
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    lines: list[str] = []
    maintain_bronze(lake.lake, lake.key("orders"), dry_run=False, log=lines.append)
    maintain_silver(lake.lake, "orders", dry_run=False, log=lines.append)
    assert [line.split(": ")[2][:40] for line in lines if "WARNING" in line] == [
        "its files are in folders of k, and Delta",
        "it has no column nobody (yet); correct `",
    ]
    lake.put("orders/k=a/2.csv", orders([3], 2))
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    assert kit.bronze(lake, "orders", "id") == kit.silver(lake, "orders", "id") == [(1,), (2,), (3,)]


def test_silver_stays_clustered_and_a_merge_reads_only_files_with_its_keys(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    lake.put("orders/1.csv", orders(random.Random(1).sample(range(ROWS), ROWS), 1))
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    location = lake.lake.store.uri("silver", "orders")
    assert clustered(lake, location) == ("id",)
    maintain_silver(lake.lake, "orders", dry_run=False)
    some, files = read(lake, location, "id = 7")
    assert 1 <= some <= 0.05 * files, (some, files)

    # The first merge after maintenance counts the rows of all files.
    lake.put("orders/2.csv", orders([ROWS], 2))
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    lake.put("orders/3.csv", orders([ROWS - 1, ROWS, ROWS + 1], 3))
    kit.run(lake, "orders")
    # A file without any of the keys cannot be read: the merge does not notice.
    gone = S3Address.parse_s3a(
        lake.lake.delta.session.sql(f"SELECT _metadata.file_path FROM delta.`{location}` WHERE id = 7").head()[0]
    )
    s3 = lake.clients.s3
    body = s3.get_object(Bucket=gone.bucket, Key=gone.key)["Body"].read()
    s3.delete_object(Bucket=gone.bucket, Key=gone.key)
    merged = kit.merge(lake, "orders")
    assert (merged.inserted, merged.updated) == (1, 2)
    s3.put_object(Bucket=gone.bucket, Key=gone.key, Body=body)
    assert clustered(lake, location) == ("id",)
    assert kit.silver(lake, "orders", "count(*), count(DISTINCT id), sum(at)") == [(ROWS + 2, ROWS + 2, ROWS + 8)]


def test_what_a_vector_hides_leaves_the_files_of_a_clustered_table(tidegate_lake: MakeLake) -> None:
    lake = tidegate_lake([]).lake
    location, session = lake.store.uri("bronze", "t"), lake.delta.session
    table = f"delta.`{location}`"
    named = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    session.sql(
        f"CREATE TABLE {table} (`a b` BIGINT, s STRUCT<x: INT>) USING delta CLUSTER BY (`a b`, s.x) "
        f"TBLPROPERTIES ({named})"
    ).collect()
    session.sql(f"INSERT INTO {table} SELECT id, named_struct('x', 1) FROM range(100)").collect()
    session.sql(f"OPTIMIZE {table}").collect()
    found = lake.delta.upkeep.find_mergeable(location, ("a b", "s.x"))
    assert (found.files, found.pieces, found.unclustered_share) == (0, 0, 0.0)
    session.sql(f"DELETE FROM {table} WHERE `a b` = 7").collect()
    purge_hidden_rows(session, location, lake.delta.table_state(location))
    assert cluster_columns(session, location, lake.delta.table_state(location)) == ("a b", "s.x")
    lake.delta.live_view(location, "live")
    assert [row[0] for row in session.sql("SELECT sum(_tidegate_rows) FROM live").collect()] == [99]


def test_files_of_a_whole_cube_give_maintenance_nothing_to_do(
    tidegate_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([]).lake
    location, session = lake.store.uri("bronze", "t"), lake.delta.session
    table = f"delta.`{location}`"
    vectors = "'delta.enableDeletionVectors' = 'true'"
    session.sql(f"CREATE TABLE {table} (id BIGINT) USING delta CLUSTER BY (id) TBLPROPERTIES ({vectors})").collect()
    session.sql(f"INSERT INTO {table} SELECT id FROM range(1000)").collect()
    session.sql(f"OPTIMIZE {table}").collect()
    size = session.sql(f"DESCRIBE DETAIL {table}").collect()[0]["sizeInBytes"]
    session.sql(f"DELETE FROM {table} WHERE id < 100").collect()
    session.sql(f"INSERT INTO {table} VALUES (1000)").collect()

    def found(cube_bytes: int) -> tuple[int, int, int]:
        monkeypatch.setattr(table_maintenance, "CLUSTER_ALL", Clustering(cube_bytes, takes_other_columns=True))
        mergeable = lake.delta.upkeep.find_mergeable(location, ("id",))
        return mergeable.files, mergeable.hidden, mergeable.pieces

    assert found(size // 2) == (1, 0, 1), "the cube stays as it is, with its hidden rows"
    # Delta measures a cube by the rows that no vector hides: 900 of 1000 here.
    assert found(size) == (2, 1, 1)
