"""The intake sensor on a real queue, a real bucket and a real Dagster instance."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dagster as dg
import pytest
import yaml

from tests.support.ticks import evaluate
from tidegate.assets.keys import SHARED_JOB, LakeNames
from tidegate.assets.runs.held_tables import SHARED_OP, RunTables
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.operations.ingest import IngestRequest, ingest
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


def tick(lake: TestLake, instance: dg.DagsterInstance) -> Any:
    return evaluate("intake", lake.definitions, instance, lake.resource)


def tables_of(tick: Any) -> list[str]:
    """Return the tables for which a tick requests runs, shared runs or their own."""
    shared = [request.run_config["ops"][SHARED_OP]["config"]["tables"] for request in tick.run_requests
              if request.job_name == SHARED_JOB]  # fmt: skip
    own = [request.partition_key for request in tick.run_requests if request.job_name != SHARED_JOB]
    return [*own, *(table for tables in shared for table in tables)]


def hints(lake: TestLake, table: str) -> list[Hint]:
    ids = [manifest.id for manifest in lake.lake.store.inbox.waiting_manifests(lake.key(table))]
    return [
        hint for manifest in lake.lake.store.inbox.table_inbox(lake.key(table)).read(ids) for hint in manifest.hints
    ]


def send(lake: TestLake, body: Any) -> None:
    lake.lake.queues[0].send(body if isinstance(body, str) else json.dumps(body))


def record(lake: TestLake, key: str, name: str = "ObjectCreated:Put") -> dict[str, Any]:
    return {
        "eventSource": "aws:s3",
        "eventTime": "2024-05-01T10:00:00.000Z",
        "eventName": name,
        "s3": {"bucket": {"name": lake.bucket}, "object": {"key": key, "size": 1, "eTag": "e", "sequencer": "0A"}},
    }


def test_a_tick_drains_adds_partitions_and_asks_for_runs(tidegate_lake: MakeLake, instance: dg.DagsterInstance) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    lake.put("orders/ü + 100%.parquet", b"x")
    lake.put("found/a.json", b"{}")
    lake.put("orders/_hidden.parquet", b"x")
    first = tick(lake, instance)
    keys = sorted([lake.key("orders"), lake.key("found")])
    assert [sorted(request.partition_keys) for request in first.dynamic_partitions_requests] == [keys]
    assert sorted(tables_of(first)) == keys
    assert [hint.key for hint in hints(lake, "orders")] == ["orders/ü + 100%.parquet"]
    assert lake.lake.queues[0].depth() == (0, 0)
    counted = [entry.counters for entry in lake.lake.store.intake_log.entries()]
    assert sum(counters.get("own_file", 0) for counters in counted) == 1

    # Runs are requested until the inbox is empty, also without a new message. A partition is added only once.
    instance.add_dynamic_partitions(LakeNames().name("tables"), keys)
    again = tick(lake, instance)
    assert (sorted(tables_of(again)), again.dynamic_partitions_requests) == (keys, [])
    instance.create_run_for_job(
        lake.definitions.resolve_job_def("bronze_job"),
        status=dg.DagsterRunStatus.STARTED,
        tags={"dagster/partition": lake.key("orders")},
    )
    assert tables_of(tick(lake, instance)) == [lake.key("found")]


def test_tables_share_a_run_and_one_that_fails_is_alone_in_that(
    tidegate_lake: MakeLake, instance: dg.DagsterInstance, kit: Any
) -> None:
    lake = tidegate_lake([{"name": "sales", "prefix": "sales/"}, {"name": "a_taken", "prefix": "a_taken/"}])
    foreign = {"metaData": {"id": "x", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [],
                            "schemaString": '{"type":"struct","fields":[]}', "configuration": {}}}  # fmt: skip
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    lake.put(f"a_taken/_delta_log/{0:020d}.json", kit.lines(protocol, foreign))
    lake.put("a_taken/1.parquet", kit.parquet([{"id": 1}]))
    lake.put("logs/1.json", '{"line": "a"}\n')
    lake.put("sales/1.parquet", kit.parquet([{"id": 1}, {"id": 2}]))
    tables = [lake.key(name) for name in ("a_taken", "logs", "sales")]
    taken_in = tick(lake, instance)
    (request,) = taken_in.run_requests
    assert tables_of(taken_in) == tables
    instance.add_dynamic_partitions(LakeNames().name("tables"), tables)

    run = lake.definitions.resolve_job_def(SHARED_JOB).execute_in_process(
        request.run_config, instance, tags=request.tags, raise_on_error=False
    )

    assert not run.success
    assert (kit.bronze(lake, "logs", "line"), kit.bronze(lake, "sales")) == ([("a",)], [(1,), (2,)])
    status = instance.get_status_by_partition(LakeNames().bronze, tables, LakeNames().tables) or {}
    assert [state and state.value for state in map(status.get, tables)] == ["FAILED", "MATERIALIZED", "MATERIALIZED"]
    record = instance.get_run_by_id(run.run_id)
    assert record
    assert RunTables(instance).find_failed(record) == [lake.key("a_taken")]
    assert [hints(lake, name) for name in ("logs", "sales")] == [[], []]
    assert [hint.key for hint in hints(lake, "a_taken")] == ["a_taken/1.parquet"]
    _configure_what_was_discovered(lake, kit)
    page = instance.get_latest_materialization_event(dg.AssetKey(["bronze", "sales"]))
    assert page
    assert page.run_id == run.run_id


def _configure_what_was_discovered(lake: TestLake, kit: Any) -> None:
    """Configure the table that was discovered.

    Its table key stays, so its rows, its ledger and its name in SQL stay too. A new file is added to them.
    """
    born = lake.lake.store.births.read(lake.key("logs"))
    body = yaml.safe_load(lake.path.read_text())
    body["tables"].append({"name": "log_lines", "prefix": f"s3://{lake.bucket}/logs/", "columns": {"line": "string"}})
    lake.path.write_text(yaml.safe_dump(body))
    lake.put("logs/2.json", '{"line": "b"}\n')
    handles = lake.resource.open()
    run_table(handles.table(lake.key("logs")), RunOptions(run_id="materialized by hand", listing=True))
    assert kit.bronze(lake, "logs", "line") == [("a",), ("b",)]
    assert handles.table(lake.key("logs")).spec.name == "log_lines"
    assert handles.store.births.read(lake.key("logs")) == born
    assert [row["n"] for row in kit.ledger(lake, "logs")] == [1, 2]


def test_a_tick_that_dies_before_the_delete_loses_nothing(
    tidegate_lake: MakeLake, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    for number in range(3):
        lake.put(f"orders/{number}.json", b'{"id": 1}\n')
    lake.clients.sqs.set_queue_attributes(QueueUrl=lake.lake.queues[0].url, Attributes={"VisibilityTimeout": "3"})

    def die(self: Queue, messages: Any) -> int:
        raise ConnectionError("cut between the manifests and the delete")

    with monkeypatch.context() as patched:
        patched.setattr(Queue, "delete", die)
        with pytest.raises(ConnectionError):
            lake.intake()
    assert {hint.key for hint in hints(lake, "orders")} == {f"orders/{number}.json" for number in range(3)}
    redelivered, end = 0, time.monotonic() + 60
    while redelivered < 3 and time.monotonic() < end:
        redelivered += len(lake.intake().hints.get(lake.spec("orders").table_key, []))
    assert redelivered >= 3
    assert lake.lake.queues[0].depth() == (0, 0)
    # Every redelivered event is a duplicate, so each row is in the table once.
    done = lake.materialize("bronze", "orders", from_inbox=True)
    metadata = done.asset_materializations_for_node("bronze")[0].metadata
    assert metadata["files"].value == 3
    assert metadata["rows"].value == 3
    assert metadata["duplicates"].value == metadata["events"].value - 3 >= 3
    assert hints(lake, "orders") == []


def test_what_went_to_no_table_comes_back_once_a_table_is_configured(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([])
    lake.put("sales/emea/2024/05/01/13/a.parquet", kit.parquet([{"id": 1}]))
    lake.put("sales/emea/b.parquet", kit.parquet([{"id": 2}]))
    lake.put("gone/c.parquet", b"x")
    lake.delete("gone/c.parquet")
    lake.put("sales/c.dat", kit.parquet([{"id": 3}]))
    assert set(lake.intake().hints) == {TableKey(lake.bucket, "sales/emea/")}
    assert sum(len(result.batch.rows) for result in kit.run(lake, "sales/emea", listing=False)) == 2

    # A folder around a table, and one inside it, are tables of their own.
    lake.put("sales/d.parquet", kit.parquet([{"id": 4}]))
    assert set(lake.intake().hints) == {TableKey(lake.bucket, "sales/")}
    assert lake.lake.table(lake.key("sales/emea")).birth.registered is False
    kit.run(lake, "sales")
    assert kit.bronze(lake, "sales", "id") == [(4,)], "a listing leaves out what is below the table inside it"

    unrouted = [event for entry in lake.lake.store.intake_log.entries() for event in entry.unrouted]
    reasons = {event.key: event.reason for event in unrouted if event.outcome == "no_table"}
    assert set(reasons) == {"gone/c.parquet", "sales/c.dat"}
    assert "add a table with its prefix and its `format` to lake.yaml" in reasons["sales/c.dat"]

    body = yaml.safe_load(lake.path.read_text())
    body["tables"] = [{"name": "sales", "prefix": f"s3://{lake.bucket}/sales/", "format": "parquet"}]
    lake.path.write_text(yaml.safe_dump(body))
    handles = lake.resource.open()
    # A list names one of the objects, twice, and one that is not there.
    keys = [f"s3://{lake.bucket}/sales/{name}\n".encode() for name in ("c.dat", "c.dat", "none.dat")]
    assert ingest(handles, keys, IngestRequest("test", "keys")).tables == {lake.key("sales"): 3}
    run_table(handles.table(lake.key("sales")), RunOptions(run_id="of the list", listing=False))
    assert kit.bronze(lake, "sales", "id") == [(3,), (4,)]
    run_table(handles.table(lake.key("sales")), RunOptions(run_id="materialized by hand", listing=True))
    assert kit.bronze(lake, "sales", "id") == [(1,), (2,), (3,), (4,)]


def test_every_envelope_through_a_real_queue(tidegate_lake: MakeLake) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    lake.intake()  # receives the s3:TestEvent of the bucket's set-up
    notification = {"Records": [record(lake, "orders/sns+%C3%BC.json")]}
    send(lake, {"Records": [record(lake, "orders/one.json"), record(lake, "orders/two.json", "ObjectRemoved:Delete")]})
    send(
        lake,
        {
            "Type": "Notification",
            "MessageId": "n",
            "TopicArn": "arn:aws:sns:us-east-1:1:t",
            "Message": json.dumps(notification),
        },
    )
    send(
        lake,
        {
            "version": "0",
            "id": "17793124-05d4-b198-2fde-7ededc63b103",
            "detail-type": "Object Created",
            "source": "aws.s3",
            "time": "2024-05-01T10:00:00Z",
            "detail": {
                "version": "0",
                "bucket": {"name": lake.bucket},
                "object": {"key": "orders/a+b.json", "size": 1, "etag": "e", "sequencer": "0A"},
                "reason": "PutObject",
            },
        },
    )
    send(
        lake,
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": lake.bucket, "Time": "2024-05-01T10:00:00.000Z"},
    )
    send(lake, "{ this is no JSON")
    send(lake, {"Records": [record(lake, "orders/bad%zz.json"), record(lake, "orders/good.json")]})
    intake = lake.intake()
    assert sorted(hint.key for hint in hints(lake, "orders")) == [
        "orders/a+b.json",  # EventBridge does not encode keys
        "orders/good.json",
        "orders/one.json",
        "orders/sns ü.json",
        "orders/two.json",
    ]
    assert intake.counters == {"test": 1, "malformed": 2}
    assert intake.received == 8
    kept = [item.key for item in lake.lake.store.objects.list_under(lake.lake_bucket, "lake/quarantine/messages/")]
    assert len(kept) == 2
    assert lake.lake.queues[0].depth() == (0, 0)


def test_manifests_never_exceed_the_table_s_cap(tidegate_lake: MakeLake) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "max_files": 3}])
    send(lake, {"Records": [record(lake, f"orders/{number}.json") for number in range(8)]})
    lake.intake()
    assert sorted(manifest.hints for manifest in lake.lake.store.inbox.waiting_manifests(lake.key("orders"))) == [
        2,
        3,
        3,
    ]


def test_f22_two_of_everything_bring_each_file_once(tidegate_lake: MakeLake, kit: Any) -> None:
    """Two queues have every event. Two sensors drain both queues at once, and two schedulers run the table at once."""
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "format": "json", "columns": {"id": "int"}}])
    first = lake.lake.queues[0]
    made = lake.clients.sqs.create_queue(QueueName=f"{first.name}-2")
    second = Queue(lake.clients.sqs, made["QueueUrl"])
    lake.lake.queues.append(second)
    for n in range(12):
        lake.put(f"orders/{n}.json", kit.lines({"id": n}))
        second.send(json.dumps({"Records": [record(lake, f"orders/{n}.json")]}))

    def both(work: Callable[[], Any]) -> list[Any]:
        with ThreadPoolExecutor(2) as pool:
            return [future.result() for future in [pool.submit(work) for _ in range(2)]]

    assert sum(len(hints) for taken in both(lake.intake) for hints in taken.hints.values()) == 24
    both(lambda: kit.run(lake, "orders", listing=False))
    assert sorted(kit.bronze(lake, "orders", "id")) == [(n,) for n in range(12)]
    assert Counter(row["status"] for row in kit.ledger(lake, "orders")) == {"committed": 12, "duplicate": 12}
    assert lake.lake.store.inbox.waiting_manifests(lake.key("orders")) == []
