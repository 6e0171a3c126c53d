"""The type of an event, from the message that announced an object to the ledger, the views and `trace`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.testing import TestLake

SALES = {"name": "sales", "prefix": "sales/", "mode": "load", "format": "csv", "columns": {"id": "bigint"}}
RULES = [{"key": "sales/{type}/**"}, {"key": "gone/{type}/**"}, {"tag": "kind"}]


def test_every_decision_on_a_key_has_the_event_type_that_its_message_had(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([SALES], event_types=RULES)
    s3, bucket = lake.clients.s3, lake.bucket

    def types() -> list[tuple[str, str, str | None]]:
        rows = kit.query(lake, "SELECT * FROM ledger.sales WHERE kind = 'row' ORDER BY n, position")
        return [(row["key"], row["event_name"].partition(":")[0], row["event_type"]) for row in rows]

    lake.put("sales/orders/a.csv", "id\n1\n")
    s3.put_object(Bucket=bucket, Key="sales/b.csv", Body=b"id\n2\ntwo\n", Tagging="kind=returns")
    s3.put_object(Bucket=bucket, Key="sales/bad.csv", Body=b"id\n\xff\n", Tagging="kind=wrong")
    lake.put("gone/orders/x.parquet", "")
    lake.delete("gone/orders/x.parquet")
    lake.intake()
    report = lake.materialize("bronze", "sales", from_inbox=True)
    SqlNames(lake.lake).name_tables()
    assert sorted(types()) == [
        ("sales/b.csv", "ObjectCreated", "returns"),
        ("sales/bad.csv", "ObjectCreated", "wrong"),
        ("sales/orders/a.csv", "ObjectCreated", "orders"),
    ]
    records, _ = kit.metadata(report)["event_types"]
    counts = {record.data["event_type"]: record.data["events"] for record in records}
    assert counts == {"orders": 1, "returns": 1, "wrong": 1}

    found = kit.query(lake, "SELECT key, kind, event_type FROM lake.quarantine")
    assert sorted(map(tuple, found)) == [("sales/b.csv", "row", "returns"), ("sales/bad.csv", "object", "wrong")]
    missed = kit.query(lake, "SELECT key, event_type FROM lake.intake WHERE key IS NOT NULL")
    assert set(map(tuple, missed)) == {("gone/orders/x.parquet", "orders")}

    # What no message announces keeps the type that the ledger has, or has the one that its key gives.
    s3.put_object(Bucket=bucket, Key="sales/orders/late.csv", Body=b"id\n4\n")
    s3.put_object(Bucket=bucket, Key="sales/late.csv", Body=b"id\n5\n", Tagging="kind=returns")
    lake.clients.sqs.purge_queue(QueueUrl=lake.config.queues[0].url)
    chosen = Choice(key="sales/bad.csv")
    bad = quarantined_objects(lake.lake, lake.key("sales"), chosen)
    redrive_objects(lake.lake, lake.key("sales"), bad, RedriveRequest("test", chosen))
    rebuild_table(lake.lake, lake.key("sales"), by="test")
    before = len(types())
    kit.run(lake, "sales")
    assert set(types()[before:]) == {
        ("sales/orders/a.csv", "Rebuild", "orders"),
        ("sales/b.csv", "Rebuild", "returns"),
        ("sales/bad.csv", "Rebuild", "wrong"),
        ("sales/orders/late.csv", "Rebuild", "orders"),
        ("sales/late.csv", "Rebuild", None),
    }
    stops = [stop.detail for stop in trace(lake.lake, bucket, "sales/b.csv").stops if stop.what.startswith("batch ")]
    assert len(stops) == 2
    assert all("; event type returns" in stop for stop in stops)
