"""`tidegate intake` in several processes, and as a function: nothing is lost if one of them dies."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from benchmarks.support.messages import send_all
from tests.support.servers.client import wait_until
from tests.support.servers.command_process import CommandProcess
from tests.support.ticks import evaluate
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.definitions import build_definitions
from tidegate.platform.intake.lambda_function import take_records
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.lake.settings import Settings
from tidegate.platform.local.aws import LocalAws
from tidegate.resources.lake_resource import LakeResource

FILES, ROWS, NO_TABLE = 900, 300, 40
#: Seconds. Only a failing test waits so long.
DEADLINE = 90.0
VISIBILITY = 6
#: Seconds after which the sensor reads an entry of the log.
SETTLED = 11
LAKE = """\
lake: {root: "s3://many-lake/x"}
queues: [{name: many-events}]
buckets: [many-landing]
intake: {by: processes, threads: 2}
discovery: false
window: 0
tables:
  - {name: orders, prefix: "s3://many-landing/orders/"}
  - {name: clicks, row_queue: {name: many-rows}}
"""


def _event(n: int) -> str:
    folder = "orders" if n < FILES else "strange"
    s3 = {"bucket": {"name": "many-landing"}, "object": {"key": f"{folder}/part-{n:05d}.json", "size": 10}}
    record = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": "2026-11-23T05:00:00.000Z"}
    return json.dumps({"Records": [{**record, "s3": s3}]})


def _row(n: int) -> str:
    return json.dumps({"id": n})


@pytest.fixture
def lake(tmp_path: Path, local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    """Return an empty lake with its queues and buckets, whose Spark server refuses connections."""
    for name, value in {**local_aws.environ, "SPARK_REMOTE": "sc://127.0.0.1:1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TIDEGATE_LAKE", str(tmp_path / "lake.yaml"))
    (tmp_path / "lake.yaml").write_text(LAKE)
    settings = Settings.from_environment()
    sqs, s3 = settings.aws.client("sqs"), settings.aws.client("s3")
    urls = [
        sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": str(VISIBILITY)})["QueueUrl"]
        for name in ("many-events", "many-rows")
    ]
    for bucket in ("many-lake", "many-landing"):
        s3.create_bucket(Bucket=bucket)
    yield open_lake(settings.config(), settings.aws, settings.spark, _no_spark, settings.environ)
    for url in urls:
        sqs.delete_queue(QueueUrl=url)
    for bucket in ("many-lake", "many-landing"):
        store = ObjectStore(s3)
        store.delete(bucket, [item.key for item in store.list_under(bucket, "")])
        s3.delete_bucket(Bucket=bucket)


def _no_spark() -> Any:
    raise AssertionError("intake has asked for Spark")


def _hints(lake: Lake, table: str) -> Counter[str]:
    (spec,) = (spec for spec in lake.config.tables if spec.name == table)
    inbox = lake.store.inbox.table_inbox(spec.table_key.encode())
    ids = [waiting.id for waiting in lake.store.inbox.waiting_manifests(spec.table_key.encode())]
    return Counter(hint.key for manifest in inbox.read(ids) for hint in manifest.hints)


def _rows(lake: Lake) -> Counter[int]:
    bodies = [lake.store.objects.get("many-lake", key) for key in _hints(lake, "clicks")]
    return Counter(json.loads(line)["id"] for body in bodies if body for line in body.splitlines())


def _all_is_there(lake: Lake) -> None:
    orders = _hints(lake, "orders")
    assert set(orders) == {f"orders/part-{n:05d}.json" for n in range(FILES)}
    assert set(_rows(lake)) == set(range(ROWS))
    strange = {str(event.subject) for entry in lake.store.intake_log.entries() for event in entry.unrouted}
    assert strange == {f"s3://many-landing/strange/part-{n:05d}.json" for n in range(FILES, FILES + NO_TABLE)}


def _send(lake: Lake) -> None:
    sqs = Settings.from_environment().aws.client("sqs")._client
    events, rows = (queue.url for queue in lake.queues)
    send_all(sqs, events, FILES + NO_TABLE, _event)
    send_all(sqs, rows, ROWS, _row)


def _pid(process: CommandProcess) -> int:
    return int(process.wait_for(r"draining 2 queues \(process (\d+)\)", DEADLINE)[1])


def _ready(process: CommandProcess) -> int:
    port = process.wait_for(r"health on http://localhost:(\d+)/readyz", DEADLINE)[1]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_processes_that_are_killed_and_paused_lose_nothing(lake: Lake, tmp_path: Path) -> None:
    """One is killed and one is paused for longer than messages stay hidden, both while they hold messages."""
    with ExitStack() as running:
        first, second = (running.enter_context(CommandProcess(tmp_path / f"{n}.log", "intake")) for n in range(2))
        paused = _pid(second)
        _pid(first)
        _send(lake)
        wait_until(lambda: sum(queue.depth()[1] for queue in lake.queues) > 0, "messages are in flight", DEADLINE)
        os.kill(paused, signal.SIGSTOP)
        first.kill()
        third = running.enter_context(CommandProcess(tmp_path / "2.log", "intake"))
        _pid(third)
        time.sleep(VISIBILITY + 1)
        os.kill(paused, signal.SIGCONT)
        wait_until(lambda: all(queue.depth() == (0, 0) for queue in lake.queues), "the queues are empty", DEADLINE)
        wait_until(lambda: _ready(third) == 200, "the process is ready", DEADLINE)
        assert third.end(signal.SIGTERM) == second.end(signal.SIGTERM) == 0
        assert re.search(r"received \d+ events, for [12] table", second.output + third.output)
    _all_is_there(lake)


def test_the_sensor_requests_the_runs_of_what_processes_took_in(lake: Lake, tmp_path: Path) -> None:
    with CommandProcess(tmp_path / "a.log", "intake") as process:
        _pid(process)
        _send(lake)
        wait_until(lambda: all(queue.depth() == (0, 0) for queue in lake.queues), "the queues are empty", DEADLINE)
    time.sleep(SETTLED)
    _send(lake)  # The sensor leaves these where they are.
    resource = LakeResource.from_environment()
    definitions = build_definitions(lake.config, resource)
    with dg.DagsterInstance.local_temp() as instance:
        first = evaluate("intake", definitions, instance, resource)
        again = evaluate("intake", definitions, instance, resource, first.cursor)
        health = evaluate("health", definitions, instance, resource)
    requests = list(first.run_requests or ())
    assert requests != [], "runs of both tables, or one that they share"
    (partitions,) = first.dynamic_partitions_requests
    assert set(partitions.partition_keys) == {spec.table_key.encode() for spec in lake.config.tables}
    (evaluation,) = [
        found for found in first.asset_events if isinstance(found, dg.AssetCheckEvaluation) and not found.passed
    ]
    assert evaluation.metadata["no_table"].value == NO_TABLE
    assert again.asset_events == [], "what was reported is not reported again"
    assert lake.queues[0].depth()[0] > 0
    assert "2 of 2 tables are behind" in str(health.skip_message) or health.asset_events, "health needs no Spark either"


def test_a_function_takes_the_records_that_lambda_gives(lake: Lake) -> None:
    _send(lake)
    sqs = Settings.from_environment().aws.client("sqs")
    for queue in lake.queues:
        arn = f"arn:aws:sqs:eu-west-1:123456789012:{queue.name}"
        while messages := sqs.receive_message(
            QueueUrl=queue.url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
        ).get("Messages", []):
            records = [
                {
                    "messageId": message["MessageId"],
                    "receiptHandle": message["ReceiptHandle"],
                    "body": message["Body"],
                    "attributes": message["Attributes"],
                    "messageAttributes": {},
                    "md5OfBody": message["MD5OfBody"],
                    "eventSource": "aws:sqs",
                    "eventSourceARN": arn,
                    "awsRegion": "eu-west-1",
                }
                for message in messages
            ]
            assert take_records(lake, records) == []
            for message in messages:
                sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])
    _all_is_there(lake)
    with pytest.raises(ConfigurationError, match=r"the queue other, and lake\.yaml has many-events, many-rows"):
        take_records(lake, [{"eventSourceARN": "arn:aws:sqs:eu-west-1:1:other"}])


def test_a_lake_whose_sensor_drains_is_refused(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "lake.yaml").write_text(LAKE.replace("by: processes, ", ""))
    with CommandProcess(tmp_path / "a.log", "intake") as process:
        assert process.exit_code(DEADLINE) == 1
    assert "lets the sensor `intake` drain the queues. Write `intake: {by: processes}`" in process.output
    (tmp_path / "lake.yaml").write_text(LAKE)
    with CommandProcess(tmp_path / "b.log", "intake") as process:
        _pid(process)
        (tmp_path / "lake.yaml").write_text(LAKE.replace("by: processes, ", ""))
        process.wait_for("ConfigurationError: .*lets the sensor", DEADLINE)
        wait_until(lambda: _ready(process) == 503, "the process is not ready", DEADLINE)
        (tmp_path / "lake.yaml").write_text(LAKE)
        wait_until(lambda: _ready(process) == 200, "the process is ready again", DEADLINE)
        assert load_lake(tmp_path / "lake.yaml").intake.by == "processes"
