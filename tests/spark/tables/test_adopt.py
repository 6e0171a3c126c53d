"""A table that others made becomes one of the lake: no file is read twice, none is lost, whatever dies meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import PySparkException

from tests.support.lakes.seams import dying_in
from tidegate.platform.bronze import entry_hints, record, run
from tidegate.platform.core.errors import DataError
from tidegate.platform.operations import adopt
from tidegate.platform.operations.adopt import SEAMS, adopt_table, plan_adoption
from tidegate.platform.operations.redrive import Choice, quarantined_objects
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
ORDERS = {
    "name": "orders",
    "prefix": "orders/",
    "mode": "register",
    "silver": {"keys": ["id"], "order": "at", "every": 10},
}


_CHOICES = Choice(), Choice(key="orders/day=tue/*")


def _options(lake: TestLake) -> dict[str, str]:
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
    kept = {key: lake.stack.aws.environ[key] for key in keys}
    return {**kept, "AWS_ENDPOINT_URL": lake.stack.aws.endpoint, "AWS_ALLOW_HTTP": "true"}


def _write(lake: TestLake, *ids: int, day: str | None = None, at: int = 1) -> None:
    """Append rows by delta-rs, in a file of their own."""
    columns: dict[str, Any] = {"id": pa.array(ids, pa.int64()), "at": pa.array([at] * len(ids), pa.int64())}
    columns |= {"day": pa.array([day] * len(ids))} if day else {}
    place, partitions = f"s3://{lake.bucket}/orders", ["day"] if day else None
    write_deltalake(place, pa.table(columns), mode="append", partition_by=partitions, storage_options=_options(lake))


def _files(lake: TestLake) -> list[str]:
    """Return the keys of the Parquet files below the prefix."""
    listed = lake.clients.s3.list_objects_v2(Bucket=lake.bucket, Prefix="orders/")["Contents"]
    return [item["Key"] for item in listed if item["Key"].endswith(".parquet") and "_delta_log" not in item["Key"]]


def _adopt(lake: TestLake, **options: Any) -> Any:
    return adopt_table(lake.lake, lake.key("orders"), by="somebody", **options)


def _statuses(kit: Any, lake: TestLake) -> Mapping[str, str]:
    return {row["key"]: row["status"] for row in kit.ledger(lake, "orders")}


def _waiting(lake: TestLake) -> int:
    return sum(1 for _ in lake.lake.store.inbox.waiting_manifests(lake.key("orders")))


def test_a_partitioned_table_of_delta_rs_is_adopted_once_wherever_that_dies(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    _write(lake, 1, 2, day="mon")
    _write(lake, 3, day="tue")
    _write(lake, 4, day="tue")
    live_before = _files(lake)
    time.sleep(2)  # A tombstone's second is in doubt.
    DeltaTable(f"s3://{lake.bucket}/orders", storage_options=_options(lake)).optimize.compact()
    compacted = [key for key in _files(lake) if key not in live_before]
    back, *left = [key for key in live_before if "day=tue" in key]
    time.sleep(2)
    # A producer puts a file again whose rows have left, and its event waits.
    lake.put(back, lake.clients.s3.get_object(Bucket=lake.bucket, Key=back)["Body"].read())
    lake.put("orders/day=wed/stray.parquet", kit.parquet([{"id": 9, "at": 1}]))
    with pytest.raises(PySparkException, match="tidegate adopt"):
        kit.run(lake, "orders", listing=True)

    plan = plan_adoption(lake.lake, lake.key("orders"))
    assert (plan.live.objects, plan.live.rows, plan.left.objects, plan.others.objects) == (2, 4, 1, 1)
    assert plan.again.objects == 1
    assert (plan.refusals, plan.recent_commits) == ((), 4)
    for seam in SEAMS:
        with dying_in(adopt, seam):
            _adopt(lake)
    with dying_in(run, "commit"):
        _adopt(lake)
    with dying_in(record, "record-ledger"):
        kit.run(lake, "orders", listing=False)
    assert not _adopt(lake).shares, "it was adopted before the last repetition"
    assert lake.sql("SELECT count(*) AS n FROM bronze.orders")[0]["n"] == 4
    version = kit.state(lake, "orders").version
    _adopt(lake)
    assert (version, kit.state(lake, "orders").version) == (4, 4), "one commit takes a table over"
    assert plan_adoption(lake.lake, lake.key("orders")).adopted

    assert {row["n"] for row in kit.ledger(lake, "orders")} == {1}
    stray = "orders/day=wed/stray.parquet"
    assert _statuses(kit, lake) == {
        **dict.fromkeys([*live_before, *compacted], "preexisting"), **dict.fromkeys([stray, back], "quarantined"),
    }  # fmt: skip
    assert {row["key"] for row in kit.ledger(lake, "orders") if row["cause"] == "left"} == set(left)
    found = [[item.key for item in quarantined_objects(lake.lake, lake.key("orders"), of)] for of in _CHOICES]
    assert found == [[], [back]]
    store, ledgers = lake.lake.store, f"{lake.key('orders')}.."
    for place in (store.key("staging", ""), store.key("ledger", f"{ledgers}seed-")):
        assert not list(store.objects.list_under(store.bucket, place))

    rows = [(1, 1, "mon"), (2, 1, "mon"), (3, 1, "tue"), (4, 1, "tue")]
    assert kit.bronze(lake, "orders") == rows
    kit.merge(lake, "orders")
    assert kit.silver(lake, "orders", "id, day") == [(id, day) for id, _, day in rows]
    # The listing has every object again, and one is new.
    lake.put("orders/day=wed/new.parquet", kit.parquet([{"id": 5, "at": 1}]))
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [*rows, (5, 1, "wed")]
    kit.merge(lake, "orders")
    assert kit.silver(lake, "orders", "id") == [(1,), (2,), (3,), (4,), (5,)]
    # A live file is removed, another is overwritten, and one whose rows had left is deleted.
    lake.clients.s3.delete_object(Bucket=lake.bucket, Key=compacted[0])
    lake.clients.s3.delete_object(Bucket=lake.bucket, Key=left[0])
    monday = next(key for key in live_before if "day=mon" in key)
    lake.put(monday, kit.parquet([{"id": 7, "at": 1}]))
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(5, 1, "wed")]
    fate = kit.fate(lake, "orders")
    assert fate[monday.removeprefix("orders/")][1].startswith("overwritten")
    assert (fate[compacted[0].removeprefix("orders/")][0], fate[left[0].removeprefix("orders/")][0]) == (
        "removed",
        "unapplied",
    )


def test_a_table_of_spark_with_a_stuck_run_is_adopted_with_what_waits(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS])
    location = f"s3a://{lake.bucket}/orders"
    kit.query(
        lake,
        "CREATE TABLE {t} (id BIGINT NOT NULL, at BIGINT) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
        "'delta.deletedFileRetentionDuration' = 'interval 0 hours')",
        t=location,
    )
    kit.query(lake, "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 1 FROM range(4)", t=location)
    kit.query(lake, "DELETE FROM {t} WHERE id = 3", t=location)
    # Delta no longer knows this tombstone, and the log has it: the file does not enter again.
    kit.query(lake, "INSERT INTO {t} VALUES (8, 1)", t=location)
    before = _files(lake)
    kit.query(lake, "INSERT INTO {t} VALUES (9, 1)", t=location)
    time.sleep(2)
    kit.query(lake, "DELETE FROM {t} WHERE id IN (8, 9)", t=location)
    # With --enter, too, an object that may be a copy of one that left stays out.
    (again,) = set(_files(lake)) - set(before)
    time.sleep(2)
    lake.put(again, lake.clients.s3.get_object(Bucket=lake.bucket, Key=again)["Body"].read())
    lake.put("orders/new.parquet", kit.parquet([{"id": 5, "at": 1}]))
    with pytest.raises(DataError, match=r"column id is NOT NULL.*DROP NOT NULL"):
        _adopt(lake)
    kit.query(lake, "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL", t=location)
    with pytest.raises(PySparkException, match="tidegate adopt"):
        kit.run(lake, "orders")
    waiting = _waiting(lake)
    # Another commit comes between the look and the commit: nothing is taken over, and the next adoption begins again.
    with dying_in(adopt, "adopt-birth"):
        _adopt(lake, enter=True)
    assert _waiting(lake) == waiting
    kit.query(lake, "INSERT INTO {t} VALUES (4, 1)", t=location)
    with pytest.raises(PySparkException, match=r"another writer still commits.*tidegate adopt"):
        kit.run(lake, "orders", listing=False)

    # What was decided enters, whatever the repetition says, and not before the table is the lake's.
    with dying_in(adopt, "adopt-decide"):
        _adopt(lake, enter=True)
    assert _waiting(lake) == waiting
    with dying_in(entry_hints, "adopt-enter"):
        _adopt(lake)
    assert _waiting(lake) == waiting + 1
    _adopt(lake)

    assert kit.bronze(lake, "orders") == [(id, 1) for id in (0, 1, 2, 4)]
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders") == [(id, 1) for id in (0, 1, 2, 4, 5)]
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(id, 1) for id in (0, 1, 2, 4, 5)]
    assert _statuses(kit, lake)[again] == "quarantined"
    assert all(row["status"] for row in kit.ledger(lake, "orders")), "what enters has no row of the adoption"
    kit.merge(lake, "orders")
    assert kit.silver(lake, "orders", "id") == [(0,), (1,), (2,), (4,), (5,)]
    assert [entry["operation"] for entry in lake.lake.store.operations.entries()] == ["adopt"] * 2
    assert json.loads(json.dumps(kit.state(lake, "orders").properties))["delta.logRetentionDuration"].endswith("days")


def test_a_table_whose_files_are_not_those_of_its_log_is_refused(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([ORDERS, {"name": "loads", "prefix": "loads/", "mode": "load", "format": "json"}])
    with pytest.raises(DataError, match="there is no Delta table at"):
        plan_adoption(lake.lake, lake.key("orders"))
    with pytest.raises(DataError, match="is not registered by"):
        plan_adoption(lake.lake, lake.key("loads"))
    _write(lake, 1)
    _write(lake, 2)
    first, second = _files(lake)
    lake.clients.s3.delete_object(Bucket=lake.bucket, Key=first)
    lake.put(second, b"other bytes")
    refusals = plan_adoption(lake.lake, lake.key("orders")).refusals
    assert ["1 files of the table are not in S3" in refusals[0], "another size" in refusals[1]] == [True, True]
    assert (first in refusals[0], second in refusals[1]) == (True, True)
    with pytest.raises(DataError, match="cannot be adopted"):
        _adopt(lake)
    copy = {"path": "_tidegate/copies/x.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1}
    lake.put("orders/_delta_log/00000000000000000002.json", json.dumps({"add": {**copy, "dataChange": True}}).encode())
    assert "1 files of the table are not its own" in plan_adoption(lake.lake, lake.key("orders")).refusals[0]
    assert lake.lake.table(lake.key("orders")).birth is None
