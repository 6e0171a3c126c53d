"""A whole lake under the printed policies alone: every call that they do not allow is refused.

One lake with a table of each kind is run once under Dagster's role, with a Spark server under Spark's role. Then an
operator runs every command. The same run finds permissions that are not needed.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import boto3
import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from botocore.exceptions import ClientError
from deltalake import DeltaTable
from rich.console import Console

from tests.support.lakes.inventory import Line, deliver
from tests.support.servers.client import wait_until
from tests.support.servers.policed_aws import Asked, PolicedAws, RoleAws
from tidegate.assets.health.asset import report_health
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.bronze.small_objects import SMALL_BYTES
from tidegate.platform.catalog import sync_catalog
from tidegate.platform.cli.check.check import run_check
from tidegate.platform.cli.commands.doctor import run_doctor
from tidegate.platform.cli.commands.object_trace import run_trace
from tidegate.platform.cli.commands.rebuild import run_rebuild
from tidegate.platform.cli.commands.redrive import Kind, run_redrive
from tidegate.platform.cli.commands.reset import run_reset
from tidegate.platform.cli.commands.sql import run_sql
from tidegate.platform.cli.commands.status import run_status
from tidegate.platform.cli.commands.why import run_why
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.person_roles import operator, reader, tables
from tidegate.platform.cloud.roles.roles import webhook
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import Statements
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.aws import ACCOUNT, REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.operations.dead_letters import dead_letter_queues, peek, redrive_dead_letters
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_messages, redrive_messages
from tidegate.platform.routes.forwarder import Forwarder
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

NAME = "policed"
LANDING, VERSIONED, ARCHIVE, INVENTORIES = f"landing-{NAME}", f"versioned-{NAME}", f"archive-{NAME}", f"lists-{NAME}"
FOLDER = f"{LANDING}/all/"
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:topic-{NAME}"
ROUTES: list[dict[str, Any]] = [
    {"name": "topic", "topic": TOPIC},
    {"name": "queue", "queue": {"name": f"queue-{NAME}"}},
    {"name": "tagged", "queues_tagged": NAME, "unmatched": f"unmatched-{NAME}"},
]
TABLES: list[dict[str, Any]] = [
    {"name": "registered", "prefix": "registered/", "format": "parquet"},
    {"name": "loaded", "prefix": "loaded/", "format": "json", "silver": {"keys": ["id"], "order": "id", "every": 10}},
    {"name": "moved", "prefix": "moved/", "format": "json", "after_load": {"move": f"s3://{ARCHIVE}/moved/"}},
    {"name": "deleted", "prefix": "deleted/", "format": "json", "after_load": "delete"},
    {"name": "tagged", "prefix": "tagged/", "format": "json", "after_load": {"tag": {"seen": "yes"}}},
    {"name": "versions", "prefix": f"s3://{VERSIONED}/v/", "format": "json", "after_load": {"tag": {"seen": "yes"}}},
    {"name": "stocked", "prefix": "stocked/", "format": "json", "inventory": f"s3://{INVENTORIES}/{FOLDER}"},
    {"name": "clicks", "row_queue": {"name": "clicks", "dlq": f"clicks-{NAME}-dlq"}},
]
#: Tables whose run lists the prefix, or reads the inventory.
LISTED = ("stocked", "versions")

#: Permissions that this run does not need, and why they are printed.
SPARED = {
    ("spark", "WriteTables", "arn:aws:s3:::lake-policed/lake/outputs/*"): "outputs of tables, which this lake lacks",
    (
        "spark",
        "WriteTables",
        "arn:aws:s3:::lake-policed/lake/staging/*",
    ): "a trial of files before the reset of a loaded table",
    ("spark", "MarkVoidBatches", "s3:PutObject"): "a batch that became void",
    ("spark", "MarkVoidBatches", "arn:aws:s3:::lake-policed/lake/batches/*.void"): "a batch that became void",
    **{
        ("reader", "ListBuckets", f"arn:aws:s3:::{bucket}"): "an object that is gone, of which S3 then says so"
        for bucket in (LANDING, VERSIONED, INVENTORIES)
    },
    ("reader", "ReadSources", f"arn:aws:s3:::{VERSIONED}/*"): "an object of that bucket that is traced",
    **{
        ("operator", "LogsOfRegisteredTables", part): "staged commits of writers that died a day ago"
        for part in ("s3:DeleteObject", f"arn:aws:s3:::{LANDING}/registered/_delta_log/*")
    },
    ("spark", "WriteTables", "s3:AbortMultipartUpload"): "a large file that is given up",
    (
        "spark",
        "CoordinateCommits",
        "dynamodb:GetItem",
    ): "a commit whose entry another writer has, or whose reply was lost",
    ("spark", "LogsOfRegisteredTables", "s3:AbortMultipartUpload"): "a large checkpoint that is given up",
    (
        "spark",
        "ListBuckets",
        f"arn:aws:s3:::{VERSIONED}",
    ): "a bucket of JSON alone: a file that goes while it is read is missing, and not refused",
}


class _Stack:
    """The stack of a test lake. Buckets and queues are created without a policy."""

    def __init__(self, aws: LocalAws, proxy: PolicedAws, server: SparkServer) -> None:
        self.aws, self.spark, self._direct = RoleAws(aws, proxy, "dagster"), server, aws

    def clients(self) -> Clients:
        return Clients.connect(self._direct.endpoint, REGION, key="test", secret="test")


@dataclass(frozen=True)
class Course:
    """The result of the run.

    Attributes:
        roles: the statements of each role.
        forwarded: messages that each route sent. Those of tagged queues are counted by queue.
        said: the output of the commands, by name.
    """

    lake: TestLake
    proxy: PolicedAws
    roles: dict[str, Statements]
    rows: dict[str, int]
    forwarded: dict[str, int]
    unknown: tuple[str, ...]
    said: dict[str, str]


def lines(*ids: int) -> str:
    return "".join(f"{json.dumps({'id': id})}\n" for id in ids)


def large(*ids: int) -> bytes:
    """Return the lines of a file that Spark reads itself: smaller files are read in step 1 (look)."""
    return f"{lines(*ids)}{' ' * SMALL_BYTES}\n".encode()


def parquet(kind: str, number: int) -> bytes:
    body = io.BytesIO()
    pq.write_table(pa.table({"id": [number], "at": pa.array([number * 1000], pa.timestamp(kind))}), body)
    return body.getvalue()


def _land(lake: TestLake, proxy: PolicedAws) -> None:
    """Put a file for each table and each way to read it, rows, and messages that cannot be parsed."""
    s3, sqs = lake.clients.s3, lake.clients.sqs
    lake.put("registered/plain.parquet", parquet("us", 1))
    lake.put("registered/pandas.parquet", parquet("ns", 2))
    lake.put("loaded/a.json", lines(1, 2))
    lake.put("loaded/bad.json", "no JSON\n")
    for name in ("loaded/odd [1].json", "moved/a.json"):
        s3.put_object(Bucket=LANDING, Key=name, Body=large(3), Tagging="of=producer")
        proxy.tagged(LANDING, name)
    lake.put("deleted/a.json", lines(1))
    lake.put("tagged/a.json", lines(1))
    lake.put("stocked/a.json", lines(1))
    s3.put_object(Bucket=VERSIONED, Key="v/a.json", Body=large(1))
    urls = {queue: sqs.get_queue_url(QueueName=f"{queue}-{NAME}")["QueueUrl"] for queue in ("events", "clicks")}
    sqs.send_message(QueueUrl=urls["clicks"], MessageBody='{"id": 1}')
    sqs.send_message(QueueUrl=urls["events"], MessageBody="nobody understands this")
    for name in ("events", "clicks"):
        dead = sqs.get_queue_url(QueueName=f"{name}-{NAME}-dlq")["QueueUrl"]
        sqs.send_message(QueueUrl=dead, MessageBody='{"id": 2}')
    found = {item["Key"]: item for item in s3.list_objects_v2(Bucket=LANDING, Prefix="stocked/")["Contents"]}
    listed = [Line(key, item["Size"], item["ETag"].strip('"')) for key, item in found.items()]
    deliver(listed, prefix=FOLDER, source=LANDING, created=time.time() + 60).put(s3, INVENTORIES)


def _dagster(lake: TestLake, handles: Lake) -> tuple[str, ...]:
    """Do the work of Dagster's processes. Returns what the measurement of the lake could not read."""

    def take_all() -> bool:
        take_in(handles, seconds=2)
        assert Dealer().deal(handles, time.time()) == []
        waiting = {manifest.table for manifest in handles.store.inbox.waiting_manifests()} | set(
            handles.store.births.tables()
        )
        return waiting == {spec.table_key.encode() for spec in lake.config.tables}

    wait_until(take_all, "an event of each table")
    for spec in lake.config.tables:
        run_table(handles.table(spec.table_key.encode()), RunOptions(run_id="policed", listing=spec.name in LISTED))
    merge_table(handles, lake.spec("loaded"))
    _disturb_catalog(lake, handles.id)
    assert {change.failed for change in sync_catalog(handles, dry_run=False).changes} == {False}
    with dg.DagsterInstance.ephemeral() as instance:
        unknown = report_health(handles, instance, time.time()).health.unknown
    redrive_messages(handles, quarantined_messages(handles.store.quarantine, Choice()), RedriveRequest("test"))
    for letters in dead_letter_queues(handles.config, handles.queues):
        peek(handles.config, handles.store, letters, 1)
        redrive_dead_letters(handles.config, handles.store, letters, RedriveRequest("test"))
    return unknown


def _disturb_catalog(lake: TestLake, id: str) -> None:
    """Leave an entry of a table that is gone, and one that is not as it should be."""
    given = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": REGION}
    glue: Any = boto3.client("glue", endpoint_url=lake.clients.s3.meta.endpoint_url, **given)
    owner = {"tidegate.lake": id}
    glue.create_table(DatabaseName="raw_policed", TableInput={"Name": "gone", "Parameters": owner})
    found = glue.get_table(DatabaseName="raw_policed", Name="loaded")["Table"]
    changed = {"Name": "loaded", "Parameters": {**found["Parameters"], "classification": "csv"}}
    glue.update_table(DatabaseName="raw_policed", TableInput=changed)


def _forward(handles: Lake) -> dict[str, int]:
    """Send what waits in the outbox. Returns how many messages each route sent."""
    results = Forwarder().tick(handles, handles.store.outbox.lanes())
    assert [result.error for result in results if result.error] == []
    return {result.lane.route: result.sent for result in results}


def _commands(lake: TestLake) -> dict[str, str]:
    """Run every command as an operator, and `check` as Dagster. Returns the outputs."""
    said: dict[str, str] = {}

    def run(name: str, command: Callable[..., object], *given: Any, **options: Any) -> None:
        console = Console(file=io.StringIO(), width=200, no_color=True)
        found = command(console, *given, **options)
        assert isinstance(console.file, io.StringIO)
        said[name] = console.file.getvalue()
        assert found in (None, True), said[name]

    choice = Choice()
    dead = lake.clients.sqs.get_queue_url(QueueName=f"events-{NAME}-dlq")["QueueUrl"]
    lake.clients.sqs.send_message(QueueUrl=dead, MessageBody="{}")
    # The machine, the task or the pod that has Dagster checks with the role of its processes.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "dagster")
        run("check", run_check, lake.path, None, f"s3://{LANDING}/loaded/a.json")
    run("trace", run_trace, f"s3://{LANDING}/loaded/a.json", lake.path, None)
    run("sql", run_sql, "SELECT count(*) AS n FROM bronze.loaded", None, 10)
    run("redrive", run_redrive, Kind.OBJECTS, None, choice, lake.path, None, rate=500, yes=True)
    run("redrive --messages", run_redrive, Kind.MESSAGES, None, choice, lake.path, None, rate=500, yes=True)
    run("redrive --dlq", run_redrive, Kind.DEAD_LETTERS, None, choice, lake.path, None, rate=500, yes=True)
    run("rebuild", run_rebuild, "loaded", lake.path, None, yes=True)
    run("reset", run_reset, "registered", lake.path, None, yes=True, accept_loss=False)
    _leave_staged_bytes(lake)
    run("doctor", run_doctor, lake.path, None, repair=True)
    return said


def _looks(lake: TestLake) -> dict[str, str]:
    """Run the commands that change nothing, as a person who may only look. Returns the outputs."""
    said: dict[str, str] = {}
    console = Console(file=io.StringIO(), width=200, no_color=True)
    assert isinstance(console.file, io.StringIO)
    run_status(console, lake.path, None, as_json=False)
    run_trace(console, f"s3://{LANDING}/loaded/a.json", lake.path, None)
    run_sql(console, "SELECT count(*) AS n FROM bronze.loaded", None, 10)
    run_why(console, "loaded", ["id=1"], lake.path, None)
    said["reader"] = console.file.getvalue()
    return said


def _leave_staged_bytes(lake: TestLake) -> None:
    """Leave an open entry below the newest one, as a dead writer does."""
    items = lake.clients.dynamodb.scan(TableName="delta_log")["Items"]
    of_table = sorted(
        (item["fileName"]["S"], item) for item in items if item["tablePath"]["S"].endswith(f"{LANDING}/registered")
    )
    item = {**of_table[0][1], "complete": {"S": "false"}}
    item.pop("expireTime", None)
    lake.clients.dynamodb.put_item(TableName="delta_log", Item=item)


@pytest.fixture(scope="module")
def course(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    folder = tmp_path_factory.mktemp("policed")
    roles: dict[str, Statements] = {}
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        proxy = stack.enter_context(PolicedAws(local_aws.endpoint, roles))
        environ = RoleAws(local_aws, proxy, "spark").environ
        server = SparkServer(folder / "spark", environ, port=0, memory="2g", conf=SMALL_DATA)
        stack.callback(server.stop)
        server.start(150)
        direct = _Stack(local_aws, proxy, server)
        for bucket in (VERSIONED, ARCHIVE, INVENTORIES):
            direct.clients().s3.create_bucket(Bucket=bucket)
        direct.clients().s3.put_bucket_versioning(Bucket=VERSIONED, VersioningConfiguration={"Status": "Enabled"})
        queue = {"url": direct.aws.queue_url(f"events-{NAME}"), "dlq": f"events-{NAME}-dlq"}
        more = {"buckets": [LANDING, VERSIONED], "queues": [queue], "metrics": "cloudwatch", "discovery": False}
        more |= {"catalog": {"bronze": "raw_policed", "silver": "clean_policed"}}
        more |= {"event_types": [{"key": "{type}/**"}], "routes": ROUTES}
        lake = TestLake(direct, folder, NAME, TABLES, more)  # type: ignore[arg-type]
        # The log store creates its table.
        lake.clients.dynamodb.delete_table(TableName="delta_log")
        roles["dagster"], roles["spark"] = dagster(lake.config), spark(lake.config)
        roles["reader"] = reader(lake.config)
        roles["operator"] = (*dagster(lake.config), *operator(lake.config))
        lake.clients.sqs.create_queue(QueueName=f"team-{NAME}", tags={NAME: "loaded"})
        proxy.queue_tagged(f"team-{NAME}", **{NAME: "loaded"})
        _land(lake, proxy)
        handles = stack.enter_context(lake.resource.open_lake())
        unknown = _dagster(lake, handles)
        forwarded = _forward(handles)
        rows = {
            spec.name: handles.delta.session.sql(f"SELECT 1 FROM bronze.{spec.name}").count()
            for spec in lake.config.tables
        }
        user = {
            **RoleAws(local_aws, proxy, "operator").environ,
            **server.remote.environ,
            "TIDEGATE_LAKE": str(lake.path),
        }
        for name, value in user.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        said = _commands(lake)
        (folder / "dagster").mkdir()
        patch.setenv("DAGSTER_HOME", str(folder / "dagster"))
        patch.setenv("AWS_ACCESS_KEY_ID", "reader")
        said |= _looks(lake)
        for name in ("registered", "loaded"):
            run_table(handles.table(lake.key(name)), RunOptions(run_id="after", listing=False))
        yield Course(lake, proxy, roles, rows, forwarded, unknown, said)


def test_nothing_that_the_lake_does_is_refused(course: Course) -> None:
    assert list(course.proxy.unknown) == []
    assert list(course.proxy.refused) == []
    assert course.unknown == ()


def test_every_table_has_its_rows_and_every_file_is_where_it_has_to_be(course: Course) -> None:
    assert course.rows == {
        "registered": 2, "loaded": 3, "moved": 1, "deleted": 1, "tagged": 1, "versions": 1, "stocked": 1, "clicks": 1
    }  # fmt: skip
    s3 = course.lake.clients.s3
    there = [item["Key"] for item in s3.list_objects_v2(Bucket=LANDING).get("Contents", [])]
    assert not [key for key in there if key.startswith(("moved/", "deleted/"))]
    copies = [key for key in there if "/_tidegate/copies/" in key]
    assert len(copies) == 1
    tags = s3.get_object_tagging(Bucket=ARCHIVE, Key="moved/a.json")["TagSet"]
    assert tags == [{"Key": "of", "Value": "producer"}]
    for bucket, key in ((LANDING, "tagged/a.json"), (VERSIONED, "v/a.json")):
        assert s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"] == [{"Key": "seen", "Value": "yes"}]


def test_events_were_forwarded_to_a_topic_a_queue_and_tagged_queues(course: Course) -> None:
    everything = course.forwarded["topic"]
    assert everything > 0
    assert course.forwarded == {"topic": everything, "queue": everything, "tagged": everything}
    sqs, depths = course.lake.clients.sqs, {}
    for name in ("queue", "unmatched", "team"):
        url = sqs.get_queue_url(QueueName=f"{name}-{NAME}")["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        depths[name] = int(found["Attributes"]["ApproximateNumberOfMessages"])
    assert depths["queue"] == everything == depths["unmatched"] + depths["team"]
    assert depths["team"] == 3, "a message for each object below loaded/"


def test_the_commands_did_what_they_are_for(course: Course) -> None:
    assert "all checks ok" in course.said["check"]
    assert "nothing is wrong" in course.said["doctor"]
    assert "1 entries closed" in course.said["doctor"]


#: What neither a person who only looks nor an engine may do, with the calls of S3.
CHANGES: list[tuple[str, Callable[[Any, str, str], object]]] = [
    ("put", lambda s3, bucket, key: s3.put_object(Bucket=bucket, Key=key, Body=b"x")),
    ("delete", lambda s3, bucket, key: s3.delete_object(Bucket=bucket, Key=key)),
    ("copy", lambda s3, bucket, key: s3.copy_object(Bucket=bucket, Key=f"{key}.copy", CopySource=f"{bucket}/{key}")),
]


def _client(course: Course, proxy: PolicedAws, role: str) -> Any:
    return Clients.connect(proxy.endpoint, REGION, key=role, secret="test").s3


def _is_refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except ClientError as error:
        return error.response["Error"]["Code"].startswith("AccessDenied")
    return False


def test_an_engine_reads_every_table_with_the_role_of_tables_and_nothing_else_of_the_lake(
    course: Course, local_aws: LocalAws
) -> None:
    lake, statements = course.lake, tables(course.lake.config)
    bucket = lake.config.lake.bucket
    with PolicedAws(local_aws.endpoint, {"tables": statements}) as proxy:
        given = {
            "AWS_ENDPOINT_URL": proxy.endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "tables", "AWS_SECRET_ACCESS_KEY": "test",
        }  # fmt: skip
        locations = [f"s3://{bucket}/lake/silver/loaded", f"s3://{LANDING}/registered/"]
        locations.append(lake.lake.store.births.read(lake.key("loaded")).location.replace("s3a://", "s3://"))
        s3 = _client(course, proxy, "tables")
        for location in locations:
            files = DeltaTable(location, storage_options=given).file_uris()
            assert files, location
            for bucket_of, key in (S3Address.parse(unquote(file)) for file in files):
                assert pq.read_table(io.BytesIO(s3.get_object(Bucket=bucket_of, Key=key)["Body"].read())).num_rows
        assert list(proxy.refused) == list(proxy.unknown) == []
        assert needless(list(proxy.asked), statements) == set()
        every = local_aws_keys(lake, bucket)
        others = {key.split("/")[1]: key for key in every if not key.startswith(("lake/bronze/", "lake/silver/"))}
        assert {"batches", "ledger", "operations", "quarantine", "lake.json"} <= others.keys()
        for key in others.values():
            assert _is_refused(lambda key=key: s3.get_object(Bucket=bucket, Key=key)), key
        assert _is_refused(lambda: s3.get_object(Bucket=LANDING, Key="loaded/a.json")), "a source that is not a table"
        for name, change in CHANGES:
            for key in (next(key for key in every if key.startswith("lake/silver/loaded/")), "lake/silver/loaded/new"):
                assert _is_refused(lambda change=change, key=key: change(s3, bucket, key)), name


def test_a_person_who_only_looks_changes_nothing(course: Course, local_aws: LocalAws) -> None:
    bucket = course.lake.config.lake.bucket
    with PolicedAws(local_aws.endpoint, {"reader": reader(course.lake.config)}) as proxy:
        s3 = _client(course, proxy, "reader")
        keys = {key.split("/")[1]: key for key in local_aws_keys(course.lake, bucket)}
        for key in keys.values():
            assert not _is_refused(lambda key=key: s3.get_object(Bucket=bucket, Key=key)), key
            for name, change in CHANGES:
                assert _is_refused(lambda change=change, key=key: change(s3, bucket, key)), (name, key)


def test_the_server_of_webhooks_sends_rows_and_receives_none(course: Course, local_aws: LocalAws) -> None:
    sender = {"name": "shop", "queue": f"clicks-{NAME}", "verification": "github", "secrets": [{"env": "SHOP"}]}
    config = LakeConfig.model_validate({**yaml.safe_load(course.lake.path.read_text()), "webhooks": [sender]})
    with PolicedAws(local_aws.endpoint, {"webhook": webhook(config)}) as proxy:
        sqs = Clients.connect(proxy.endpoint, REGION, key="webhook", secret="test").sqs
        queue = Queue(sqs, f"clicks-{NAME}")
        queue.require_sending()
        assert queue.send_rows([(lines(1), RowOrigin(f"shop:{number}", 1)) for number in range(2)]) == ["", ""]
        assert list(proxy.refused) == list(proxy.unknown) == []
        assert needless(list(proxy.asked), webhook(config)) == set()
        assert _is_refused(lambda: sqs.receive_message(QueueUrl=queue.url))


def local_aws_keys(lake: TestLake, bucket: str) -> list[str]:
    """Return the keys of all objects of a bucket."""
    pages = lake.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return [item["Key"] for page in pages for item in page.get("Contents", [])]


def needless(asked: list[Asked], statements: Statements) -> set[tuple[str, str]]:
    """Return the actions and resources of statements without which every request is still allowed."""
    found = set()
    for place, statement in enumerate(statements):
        if statement.denies:
            continue
        parts = [
            *(
                (action, replace(statement, actions=tuple(x for x in statement.actions if x != action)))
                for action in statement.actions
            ),
            *(
                (arn, replace(statement, resources=tuple(x for x in statement.resources if x != arn)))
                for arn in statement.resources
            ),
        ]
        for part, less in parts:
            others = (*statements[:place], less, *statements[place + 1 :])
            if all(call.allowed(others) for call in asked):
                found.add((statement.sid, part))
    return found


def test_nothing_is_printed_that_nobody_needs(course: Course) -> None:
    spared = {
        (role, *part)
        for role, statements in course.roles.items()
        for part in needless([request for request in course.proxy.asked if request.role == role], statements)
    }
    # An operator has all permissions of Dagster, and need not use all of them.
    own = {statement.sid for statement in operator(course.lake.config)}
    found = {permission for permission in spared if permission[0] != "operator" or permission[1] in own}
    assert found == set(SPARED), {permission: SPARED.get(permission, "?") for permission in found ^ set(SPARED)}
