"""Assets that are materialized as by a user, on real Spark, real Delta and a local AWS."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dagster as dg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tidegate.platform.testing import TestLake
from tidegate.resources.lake_resource import LakeResource

ORDERS = {
    "name": "orders",
    "prefix": "orders/",
    "partition_columns": {"day": "int"},
    "silver": {"keys": ["id"], "order": "changed", "every": 10},
}


def test_files_become_bronze_and_silver_and_nothing_pending_commits_nothing(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([ORDERS])
    first = kit.parquet([{"id": 1, "changed": 1, "v": "a"}, {"id": 2, "changed": 1, "v": "b"}])
    second = kit.parquet([{"id": 2, "changed": 2, "v": "B"}])
    lake.put("orders/day=1/a.parquet", first)
    lake.put("orders/day=2/b.parquet", second)
    assert sum(len(hints) for hints in lake.intake().hints.values()) == 2

    result = lake.materialize("bronze", "orders", from_inbox=True)

    metadata = kit.metadata(result)
    expected = {"files": 2, "rows": 3, "bytes": len(first) + len(second), "delta_version": 0, "batch": 1, "events": 2}
    assert {name: metadata[name] for name in expected} == expected
    assert metadata["oldest_event_age_seconds"] >= 0
    assert metadata["dagster/uri"] == f"s3://{lake.bucket}/orders"
    assert metadata["dagster/table_name"] == "bronze.orders"
    columns = {column.name: column.type for column in metadata["dagster/column_schema"].columns}
    assert metadata["dagster/row_count"] == 3
    page, partition = (event.materialization for event in result.get_asset_materialization_events())
    assert (page.asset_key, partition.partition) == (dg.AssetKey(["bronze", "orders"]), lake.key("orders"))
    assert partition.metadata["page"].value == page.asset_key
    assert (partition.metadata["rows"].value, "dagster/column_schema" in partition.metadata) == (3, False)
    assert columns == {"id": "bigint", "changed": "bigint", "v": "string", "day": "int"}
    assert kit.checks(result) == {"write_once_keys": True, "nothing_quarantined": True, "schema_unchanged": True}
    assert sorted(tuple(row) for row in lake.sql("SELECT id, v, day FROM bronze.orders")) == [
        (1, "a", 1),
        (2, "B", 2),
        (2, "b", 1),
    ]

    merged = kit.metadata(lake.materialize("silver/orders"))
    volume = {"files": 2, "rows": 3, "bytes": len(first) + len(second), "batches": 1, "batch": 1}
    assert {name: merged[name] for name in volume} == volume
    assert merged["oldest_event_age_seconds"] >= 0
    assert (merged["inserted"], merged["updated"], merged["dagster/row_count"]) == (2, 0, 2)
    assert merged["dagster/table_name"] == "silver.orders"
    lineage = merged["dagster/column_lineage"].deps_by_column
    assert {name: [dep.column_name for dep in deps] for name, deps in lineage.items()} == {
        name: [name] for name in ("id", "changed", "v", "day")
    }
    descriptions = {column.name: column.description for column in merged["dagster/column_schema"].columns}
    assert descriptions["v"] == "from bronze.orders: v"
    assert descriptions["_deleted"] == "whether the key is deleted; only in `silver.orders_with_tombstones`"
    assert [tuple(row) for row in lake.sql("SELECT id, v FROM silver.orders ORDER BY id")] == [(1, "a"), (2, "B")]

    # The inbox is empty and the listing has nothing new. The run succeeds, and nothing is committed anywhere.
    ledger = lake.lake.table(lake.key("orders")).ledger.clock()
    for from_inbox in (True, False):
        metadata = kit.metadata(lake.materialize("bronze", "orders", from_inbox=from_inbox))
        assert (metadata["files"], metadata["rows"], metadata["batches"], metadata["delta_version"]) == (0, 0, 0, 0)
        assert "batch" not in metadata
    assert kit.state(lake, "orders").version == 0
    assert lake.lake.table(lake.key("orders")).ledger.clock() == ledger
    merged = kit.metadata(lake.materialize("silver/orders"))
    assert (merged["files"], merged["rows"], merged["batches"], merged["dagster/row_count"]) == (0, 0, 0, 2)

    # A redelivered event adds a decision to the ledger, but no rows to the table.
    kit.send(lake, kit.event(lake, "orders/day%3D1/a.parquet"))
    taken = lake.intake()
    assert sum(len(hints) for hints in taken.hints.values()) == 1
    assert taken.received == 1 + sum(taken.counters.values())
    metadata = kit.metadata(lake.materialize("bronze", "orders", from_inbox=True))
    assert (metadata["files"], metadata["rows"], metadata["duplicates"], metadata["batch"]) == (0, 0, 1, 2)
    assert len(kit.bronze(lake, "orders")) == 3
    assert [row["status"] for row in kit.ledger(lake, "orders")] == ["committed", "committed", "duplicate"]
    merged = kit.metadata(lake.materialize("silver/orders"))
    assert (merged["batch"], merged["inserted"], merged["updated"], merged["full_merge"]) == (2, 0, 0, "no")


def test_materialize_without_events_lists_the_prefix_and_late_events_are_duplicates(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([])
    # Its table key has escapes, and so have the folders of its table and its ledger.
    people = "Our people/v1.2~ü"
    assert lake.key(people).endswith(".Our~20people.v1~2e2~7e~c3~bc")
    lake.put(f"{people}/a.jsonl", kit.lines({"id": 1, "name": "Ann"}))
    lake.put(f"{people}/b.csv", "id,name\n2,Bob\n")

    metadata = kit.metadata(lake.materialize("bronze", people))

    assert (metadata["files"], metadata["rows"], metadata["events"]) == (2, 2, 2)
    assert kit.bronze(lake, people, "name") == [("Ann",), ("Bob",)]
    assert sum(len(hints) for hints in lake.intake().hints.values()) == 2
    metadata = kit.metadata(lake.materialize("bronze", people, from_inbox=True))
    assert (metadata["files"], metadata["duplicates"]) == (0, 2)


def test_updates_duplicates_and_deletes_of_loaded_files_reach_silver_as_in_the_demo(
    tidegate_lake: Callable[..., TestLake], kit: Any, compiled: Callable[[TestLake], None]
) -> None:
    """The queries are compiled, as in a cluster."""
    lake = tidegate_lake(
        [
            {
                "name": "weather",
                "prefix": "weather/",
                "format": "json",
                "columns": {
                    "at": "timestamp",
                    "origin": "string",
                    "temp": "double",
                    "changed": "int",
                    "gone": "boolean",
                },
                "silver": {"keys": ["at", "origin"], "order": "changed", "delete_when": "gone", "every": 10},
            }
        ]
    )

    def row(hour: int, temp: float, changed: int, gone: bool = False) -> dict[str, Any]:
        return {"at": f"2013-01-01T{hour:02d}:00:00Z", "origin": "JFK", "temp": temp, "changed": changed, "gone": gone}

    compiled(lake)
    lake.put("weather/day1.json", kit.lines(row(1, 10.0, 1), row(2, 20.0, 1), row(3, 30.0, 1)))
    metadata = kit.metadata(lake.materialize("bronze", "weather"))
    assert (metadata["files"], metadata["rows"], metadata["delta_version"]) == (1, 3, 0)
    lake.materialize("silver/weather")

    # The object is overwritten. Its new rows are appended, and the old rows stay. The etag distinguishes them.
    lake.put(
        "weather/day1.json", kit.lines(row(1, 11.0, 2), row(2, 20.0, 2, gone=True), row(3, 30.0, 1), row(3, 30.0, 1))
    )
    metadata = kit.metadata(lake.materialize("bronze", "weather"))
    assert (metadata["files"], metadata["rows"], metadata["delta_version"]) == (1, 4, 1)
    merged = kit.metadata(lake.materialize("silver/weather"))
    assert (merged["rows"], merged["dagster/row_count"]) == (4, 2)

    assert [tuple(r) for r in lake.sql("SELECT hour(at), temp FROM silver.weather ORDER BY at")] == [
        (1, 11.0),
        (3, 30.0),
    ]
    sources = kit.query(
        lake,
        "SELECT _source_path, _source_etag, _batch, count(*) AS rows FROM {t} GROUP BY ALL ORDER BY _batch",
        t=kit.location(lake, "weather"),
    )
    assert [(r["_batch"], r["rows"]) for r in sources] == [(1, 3), (2, 4)]
    assert {r["_source_path"] for r in sources} == {f"s3://{lake.bucket}/weather/day1.json"}
    assert len({r["_source_etag"] for r in sources}) == 2


@pytest.mark.parametrize("fails", [False, True], ids=["success", "failure"])
def test_a_run_leaves_no_session_behind(
    tidegate_lake: Callable[..., TestLake], monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """A run has a process of its own. A thread without the session that the tests share is enough to imitate it."""
    lake = tidegate_lake([])
    monkeypatch.setattr(SparkSession, "_default_session", None)
    made: list[SparkSession] = []

    @dg.asset
    def looks(lake: LakeResource) -> None:
        made.append(lake.open().delta.session)
        made[0].sql("SELECT 1").collect()  # the server has no session before the first request
        if fails:
            raise RuntimeError("on purpose")

    def run() -> None:
        assert dg.materialize([looks], resources={"lake": lake.resource}, raise_on_error=False).success is not fails

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()
    (session,) = made
    assert session.is_stopped
    again = SparkSession.builder.remote(f"{lake.stack.spark.remote.url};session_id={session.session_id}").create()
    with pytest.raises(PySparkException, match="SESSION_CLOSED"):
        again.sql("SELECT 1").collect()
    again.client.close()
