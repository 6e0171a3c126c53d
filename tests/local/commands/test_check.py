"""`tidegate check` on a real S3, SQS and CloudWatch: every finding, caused as a user would cause it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.cli.check.check import findings
from tidegate.platform.cli.check.findings import Finding
from tidegate.platform.cli.check.lake import check_root
from tidegate.platform.cli.environment import Client
from tidegate.platform.cloud.requirements import EVENTS, WantedResources
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.aws import ACCOUNT, REGION, LocalAws
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.provision import Clients, provision

LAKE = """
lake: {{root: s3://lake-{tag}/own}}
queues: [{{name: q-{tag}, dlq: q-{tag}-dlq}}]
event_types: [{{key: "{{type}}/**"}}]
routes:
- {{name: all, topic: "arn:aws:sns:us-east-1:000000000000:topic-{tag}"}}
- {{name: search, queue: {{name: search-{tag}}}}}
- {{name: teams, queues_tagged: kind-{tag}, unmatched: nobody-{tag}}}
buckets: [landing-{tag}]
metrics: cloudwatch
tables:
- {{name: orders, prefix: "s3://landing-{tag}/orders/", format: parquet}}
- {{name: sales, prefix: "s3://landing-{tag}/sales/", format: csv, columns: {{id: int}}, after_load: delete}}
- {{name: seen, prefix: "s3://landing-{tag}/seen/", format: json, after_load: {{tag: {{seen: "yes"}}}}}}
- {{name: old, prefix: "s3://landing-{tag}/old/", format: json, after_load: {{move: "s3://archive-{tag}/old/"}}}}
"""
XML = b"<Error><Code>%s</Code><Message>no</Message></Error>"
DENIED = XML % b"AccessDenied"
DENIED_BY_SQS = json.dumps({"__type": "com.amazonaws.sqs#AccessDeniedException", "message": "no"}).encode()
DENIED_TAGS = json.dumps({"__type": "AccessDeniedException", "message": "no"}).encode()
ALL = list(EVENTS)


class Shore:
    """A lake in order, behind the proxy. Only its Spark server is missing.

    Attributes:
        clients: clients whose requests bypass the proxy.
    """

    def __init__(self, aws: LocalAws, proxy: FaultProxy, folder: Path) -> None:
        self.tag = uuid.uuid4().hex[:8]
        self.proxy = proxy
        self.clients = Clients.connect(aws.endpoint, REGION, key="test", secret="test")
        path = folder / "lake.yaml"
        path.write_text(LAKE.format(tag=self.tag))
        environ = {
            **aws.environ,
            "AWS_ENDPOINT_URL": proxy.endpoint,
            "TIDEGATE_LAKE": str(path),
            "SPARK_REMOTE": f"sc://127.0.0.1:{free_port()}",
        }
        settings = Settings.from_environ(environ)
        self.using = Client(replace(settings, aws=replace(settings.aws, max_attempts=1)), None)
        self.config = self.using.settings.config()
        self.bucket, self.lake = f"landing-{self.tag}", f"lake-{self.tag}"
        self.queue, self.dead = f"q-{self.tag}", f"q-{self.tag}-dlq"
        self.clients.s3.create_bucket(Bucket=f"archive-{self.tag}")
        self.clients.sqs.create_queue(QueueName=f"team-{self.tag}", tags={f"kind-{self.tag}": "orders"})
        self.url = provision(self.clients, WantedResources.from_config(self.config))
        self.arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{self.queue}"
        self.store = LakeStore(ObjectStore(self.clients.s3), self.config.lake.root)

    @property
    def topic(self) -> str:
        return f"arn:aws:sns:{REGION}:{ACCOUNT}:topic-{self.tag}"

    def queue_url(self, name: str) -> str:
        return self.clients.sqs.get_queue_url(QueueName=name)["QueueUrl"]

    def found(self, target: str = "") -> list[Finding]:
        """Return the findings, except that no Spark server answers."""
        *found, spark = findings(self.using, self.config, set(), (self.bucket, target) if target else None)
        assert (spark.what.startswith("Spark "), spark.what.endswith(": answers"), spark.ok) == (True, True, False)
        assert spark.detail.startswith("no Spark Connect server at ")
        assert "start one with `tidegate up`, on AWS with `tidegate spark`, or set SPARK_REMOTE" in spark.detail
        return [replace(finding, subject=finding.subject.replace(f"-{self.tag}", "")) for finding in found]

    def put(self, bucket: str, key: str, body: str = "") -> None:
        self.clients.s3.put_object(Bucket=bucket, Key=key, Body=body)

    def notify(self, **configuration: Any) -> None:
        self.clients.s3.put_bucket_notification_configuration(
            Bucket=self.bucket,
            NotificationConfiguration=configuration,  # type: ignore[arg-type]
        )

    def notify_queue(self, events: list[str], **rules: str) -> None:
        found = [{"Name": name, "Value": value} for name, value in rules.items()]
        filters = {"Filter": {"Key": {"FilterRules": found}}} if found else {}
        self.notify(QueueConfigurations=[{"QueueArn": self.arn, "Events": events, **filters}])

    def set_queue(self, **attributes: str) -> None:
        self.clients.sqs.set_queue_attributes(QueueUrl=self.url, Attributes=attributes)  # type: ignore[arg-type]

    def deny(self, method: str, path: str, body: bytes = DENIED) -> None:
        self.proxy.status(method, path, 403, None, body=body)

    def deny_sqs(self, operation: str) -> None:
        self.deny("POST", f"/{operation}$", DENIED_BY_SQS)

    def born(self, name: str, registered: bool) -> str:
        table = f"{self.bucket}.{name}"
        self.store.births.ensure_birth(table, name, registered=registered)
        return table


@pytest.fixture
def shore(local_aws: LocalAws, proxy: FaultProxy, tmp_path: Path) -> Iterator[Shore]:
    yield Shore(local_aws, proxy, tmp_path)
    proxy.clear()


IN_ORDER = [
    ("queue q: reachable", r"1 messages wait, 0 are in flight"),
    ("queue q: messages can be received", "allowed"),
    ("queue q: messages can be deleted", "allowed"),
    ("queue q: messages can be kept hidden", "allowed"),
    ("queue q: messages can be sent again", "allowed"),
    ("queue q: visibility timeout", "120 s"),
    ("queue q: retention", "14 days"),
    ("queue q: who may send", "its account, and services on behalf of its account"),
    ("queue q: dead-letter queue", r"q-\w+-dlq, after 8 receives; 0 messages are in it"),
    ("route all: topic", r"topic-\w+, with 0 subscriptions"),
    ("route search: queue", r"search-\w+"),
    ("route teams: queue", r"nobody-\w+, for events that no tagged queue takes"),
    ("route teams: tagged queues", r"1 queues have the tag kind-\w+, for 1 types"),
    ("bucket landing: reachable", ""),
    ("bucket landing: objects can be read", "s3:ListBucket, s3:GetObject and s3:GetObjectTagging are allowed"),
    ("bucket landing: notification", "created and removed objects, to the queue"),
    ("bucket landing: may send to the queue", r"q-\w+ takes from s3\.amazonaws\.com"),
    ("bucket landing: logs of registered tables", r"only the roles of Tidegate may write .*"),
    ("bucket landing: no Delta table of somebody else's", ""),
    ("lake root s3://lake/own/: reachable", ""),
    ("lake root s3://lake/own/: write, read, list, delete", "allowed"),
    ("lake root s3://lake/own/: conditional put", "one of 8 concurrent creations succeeded"),
    ("table orders: its log can be written", "allowed"),
    ("table orders: copies of its files can be written", "allowed"),
    ("table sales: after_load is allowed", "deleted"),
    ("table seen: after_load is allowed", "tagged"),
    ("table old: after_load is allowed", r"moved to s3://archive-\w+/old/"),
    ("tables: listed", "0 in the lake"),
    ("lake root: nothing strange", "inbox and tables"),
    ("table orders: as it was born", "not born yet"),
    ("table sales: as it was born", "not born yet"),
    ("table seen: as it was born", "not born yet"),
    ("table old: as it was born", "not born yet"),
    ("tables: no overlap with discovered ones", "tables in the lake: 0, configured: 4"),
    ("tables: registered ones are in lake.yaml", "each one"),
    ("CloudWatch: metrics can be published", "allowed"),
]


def test_a_lake_in_order_is_reported_line_by_line_and_not_changed(shore: Shore) -> None:
    found = shore.found()
    assert [(finding.what, finding.ok) for finding in found] == [(what, True) for what, _ in IN_ORDER]
    for finding, (_, detail) in zip(found, IN_ORDER, strict=True):
        assert re.fullmatch(detail, finding.detail), finding
    assert list(shore.store.objects.list_under(shore.bucket, "")) == []
    assert list(shore.store.objects.list_under(shore.lake, "")) == []


def test_a_server_without_work_is_reported_in_words_and_not_started(shore: Shore, tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(f"{path.read_text()}spark: {{start: on_demand}}\n")
    unnamed = replace(shore.using.settings, spark=SparkRemote.from_environ({}))
    using = replace(shore.using, settings=unnamed)
    *others, spark = findings(using, using.settings.config(), set())
    assert len(others) == len(IN_ORDER)
    assert (spark.what, spark.ok, spark.warning) == ("Spark: a server only for work", True, False)
    assert spark.detail == (
        "not running, because there is no work; the next run starts it. What only Spark knows was not checked"
    )
    assert not (tmp_path / ".tidegate").exists()


def other_arn(shore: Shore) -> str:
    url = shore.clients.sqs.create_queue(QueueName=f"other-{shore.tag}")["QueueUrl"]
    return shore.clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def topic(shore: Shore) -> None:
    arn = shore.using.settings.aws.client("sns").create_topic(Name=f"t-{shore.tag}")["TopicArn"]
    shore.notify(TopicConfigurations=[{"TopicArn": arn, "Events": ALL}])


QUEUE_FAULTS: dict[str, tuple[Callable[[Shore], object], dict[str, str]]] = {
    "its queue is not there": (
        lambda at: at.clients.sqs.delete_queue(QueueUrl=at.url),
        {
            "queue q: reachable": "there is no queue q-.* create it, or correct `queues` of lake.yaml",
            "bucket landing: notification": r"none of its notifications .* lake\.yaml \(none answered\): add one for",
        },
    ),
    "GetQueueUrl is denied": (
        lambda at: at.deny_sqs("GetQueueUrl"),
        {
            "queue q: reachable": "allow sqs:GetQueueUrl on q-",
            "route search: queue": "allow sqs:GetQueueUrl on search-",
            "route teams: queue": "allow sqs:GetQueueUrl on nobody-",
            "bucket landing: notification": "none answered",
        },
    ),
    "GetQueueAttributes is denied": (
        lambda at: at.deny_sqs("GetQueueAttributes"),
        {"queue q: reachable": "allow sqs:GetQueueAttributes on q-", "bucket landing: notification": "none answered"},
    ),
    "ReceiveMessage is denied": (
        lambda at: at.deny_sqs("ReceiveMessage"),
        {
            "queue q: messages can be received": r"sqs:ReceiveMessage on q-\w+; statement Queues of `tide",
            "queue q: dead-letter queue": r"sqs:ReceiveMessage on q-\w+-dlq; statement DeadLetters of",
        },
    ),
    "DeleteMessage is denied": (
        lambda at: at.deny_sqs("DeleteMessage"),
        {
            "queue q: messages can be deleted": r"sqs:DeleteMessage on q-\w+; statement Queues of `tide",
            "queue q: dead-letter queue": r"sqs:DeleteMessage on q-\w+-dlq; statement DeadLetters of",
        },
    ),
    "ChangeMessageVisibility is denied": (
        lambda at: at.deny_sqs("ChangeMessageVisibility"),
        {
            "queue q: messages can be kept hidden": r"sqs:ChangeMessageVisibility on q-\w+; statement Queues of `tide",
            "queue q: dead-letter queue": r"sqs:ChangeMessageVisibility on q-\w+-dlq; statement DeadLetters of",
        },
    ),
    "SendMessage is denied": (
        lambda at: at.deny_sqs("SendMessageBatch"),
        {
            "queue q: messages can be sent again": r"sqs:SendMessage on q-\w+; statement SendAgain of",
            "route search: queue": r"allow sqs:SendMessage on search-\w+; statement Forward of",
            "route teams: queue": r"allow sqs:SendMessage on nobody-\w+; statement Forward of",
        },
    ),
    "messages come back too soon": (
        lambda at: at.set_queue(VisibilityTimeout="30"),
        {"queue q: visibility timeout": "30 s, so messages come back .* set VisibilityTimeout to 120, at least 60"},
    ),
    "messages are not kept for long": (
        lambda at: at.set_queue(MessageRetentionPeriod="3600"),
        {"queue q: retention": "1 h, so events are lost .* set MessageRetentionPeriod to 1209600"},
    ),
    "no dead-letter queue": (
        lambda at: at.set_queue(RedrivePolicy=""),
        {"queue q: dead-letter queue": "there is none, .* set RedrivePolicy"},
    ),
    "another dead-letter queue": (
        lambda at: at.set_queue(RedrivePolicy=json.dumps({"deadLetterTargetArn": other_arn(at), "maxReceiveCount": 8})),
        {"queue q: dead-letter queue": "RedrivePolicy names other-.*, lake.yaml names q-.*-dlq: correct one of them"},
    ),
    "its dead-letter queue is gone": (
        lambda at: at.clients.sqs.delete_queue(QueueUrl=at.clients.sqs.get_queue_url(QueueName=at.dead)["QueueUrl"]),
        {"queue q: dead-letter queue": "there is no queue q-.*-dlq in this account and region: create it"},
    ),
    "its policy lets nobody send": (
        lambda at: at.set_queue(Policy=""),
        {"bucket landing: may send to the queue": r"does not let s3\.amazonaws\.com send for arn:aws:s3:::landing-"},
    ),
}

BUCKET_FAULTS: dict[str, tuple[Callable[[Shore], object], dict[str, str]]] = {
    "its bucket is not there": (
        lambda at: at.clients.s3.delete_bucket(Bucket=at.bucket),
        {
            "bucket landing: reachable": "there is no bucket landing-.*: create it, or correct lake.yaml",
            "table orders: its log can be written": "NoSuchBucket",
            "table orders: copies of its files can be written": "NoSuchBucket",
        },
    ),
    "ListBucket of it is denied": (
        lambda at: at.deny("GET|HEAD", f"^/{at.bucket}/?($|\\?list-type)"),
        {"bucket landing: reachable": "allow s3:ListBucket on arn:aws:s3:::landing-"},
    ),
    "GetObject is denied": (
        lambda at: at.deny("HEAD", f"^/{at.bucket}/tidegate-check-"),
        {"bucket landing: objects can be read": r"allow s3:GetObject on arn:aws:s3:::landing-\w+/\*"},
    ),
    "GetBucketNotification is denied": (
        lambda at: at.deny("GET", f"^/{at.bucket}.*notification"),
        {"bucket landing: notification": "allow s3:GetBucketNotification on arn:aws:s3:::landing-"},
    ),
    "it notifies nobody": (
        lambda at: at.notify(),
        {"bucket landing: notification": r"add one for s3:ObjectCreated:\*, s3:ObjectRemoved:\*, s3:LifecycleExp"},
    ),
    "it notifies another queue": (
        lambda at: at.notify(QueueConfigurations=[{"QueueArn": other_arn(at), "Events": ALL}]),
        {"bucket landing: notification": r"sends to a queue of lake\.yaml \(arn:aws:sqs:.*:q-\w+\): add one"},
    ),
    "removals are not told": (
        lambda at: at.notify_queue(ALL[:1]),
        {"bucket landing: notification": r"no notification for s3:ObjectRemoved:\*"},
    ),
    "what expires is not told": (
        lambda at: at.notify_queue(ALL[:2]),
        {"bucket landing: notification": r"no notification for s3:LifecycleExpiration:\*"},
    ),
    "a filter leaves a prefix out": (
        lambda at: at.notify_queue(ALL, prefix="orders/"),
        {"bucket landing: notification": r"leaves out sales/ \(table sales, csv files\): remove the filter"},
    ),
    "a filter leaves a format out": (
        lambda at: at.notify_queue(ALL, suffix=".parquet"),
        {"bucket landing: notification": r"leaves out sales/ \(table sales, csv files\)"},
    ),
    "a topic may not send": (
        topic,
        {"bucket landing: may send to the queue": r"does not let sns\.amazonaws\.com send for arn:aws:sns:"},
    ),
    "EventBridge may not send": (
        lambda at: at.notify(EventBridgeConfiguration={}),
        {"bucket landing: may send to the queue": r"does not let events\.amazonaws\.com send for \*"},
    ),
    "somebody else's Delta table": (
        lambda at: at.put(at.bucket, f"orders/_delta_log/{0:020d}.json", '{"metaData": {"configuration": {}}}'),
        {"bucket landing: no Delta": r"s3://landing-\w+/orders/ contains a Delta table of another owner"},
    ),
}

LAKE_FAULTS: dict[str, tuple[Callable[[Shore], object], dict[str, str]]] = {
    "the credentials have expired": (
        lambda at: at.deny("GET", f"^/{at.lake}/?($|\\?list-type)", XML % b"ExpiredToken"),
        {"lake root s3://lake/own/: reachable": r"does not accept the credentials \(ExpiredToken\): renew them"},
    ),
    "S3 cannot be reached": (
        lambda at: at.proxy.cut("GET", f"^/{at.lake}/?($|\\?list-type)", None),
        {"lake root s3://lake/own/: reachable": "AWS cannot be reached: .* check the network and AWS_ENDPOINT_URL"},
    ),
    "the lake's bucket is not there": (
        lambda at: at.clients.s3.delete_bucket(Bucket=at.lake),
        {"lake root s3://lake/own/: reachable": "there is no bucket lake-.*: create it, or correct lake.root"},
    ),
    "ListBucket of the lake is denied": (
        lambda at: at.deny("GET|HEAD", f"^/{at.lake}/?($|\\?list-type)"),
        {"lake root s3://lake/own/: reachable": "allow s3:ListBucket on arn:aws:s3:::lake-"},
    ),
    **{
        f"{action} in the lake is denied": (
            lambda at, method=method: at.deny(method, f"^/{at.lake}/own/_tidegate-check-"),
            {"lake root s3://lake/own/: write": rf"allow s3:{action} on arn:aws:s3:::lake-\w+/own/\*"},
        )
        for method, action in (("PUT", "PutObject"), ("GET", "GetObject"), ("DELETE", "DeleteObject"))
    },
    "the log of a registered table is not ours to write": (
        lambda at: at.deny("PUT", f"^/{at.bucket}/orders/_delta_log/"),
        {"table orders: its log can be written": r"allow s3:PutObject on \S+:landing-\w+/orders/_delta_log/\*"},
    ),
    "the copies of a registered table are not ours to write": (
        lambda at: at.deny("PUT", f"^/{at.bucket}/orders/_tidegate/"),
        {"table orders: copies of its files": "/orders/_tidegate/\\*; statement CopiesOfRegisteredTables of `tid"},
    ),
    "after_load may not delete": (
        lambda at: at.deny("DELETE", f"^/{at.bucket}/sales/"),
        {"table sales: after_load is allowed": r"allow s3:DeleteObject on arn:aws:s3:::landing-\w+/sales/\*"},
    ),
    "after_load may not tag": (
        lambda at: at.deny("PUT", f"^/{at.bucket}/seen/.*\\?tagging$"),
        {"table seen: after_load is allowed": r"s3:PutObjectTagging on .*/seen/\*; statement TagLoaded of"},
    ),
    "after_load may not tag versions": (
        lambda at: (
            at.clients.s3.put_bucket_versioning(Bucket=at.bucket, VersioningConfiguration={"Status": "Enabled"}),
            at.put(at.bucket, "seen/a.json"),
            at.deny("PUT", f"^/{at.bucket}/seen/.*versionId"),
        ),
        {"table seen: after_load is allowed": r"s3:PutObjectVersionTagging on .*/seen/\*; statement TagLoaded of"},
    ),
    "the folder of what was moved may not be listed": (
        lambda at: at.deny("GET|HEAD", f"^/archive-{at.tag}/?($|\\?list-type)"),
        {"table old: after_load is allowed": r"s3:ListBucket on arn:aws:s3:::archive-\w+; statement ListBuckets of"},
    ),
    **{
        f"after_load may not move: {action}": (
            lambda at, method=method, where=where: at.deny(method, f"^/archive-{at.tag}/old/.*{where}"),
            {"table old: after_load is allowed": rf"s3:{action} on .*/old/\*; statement \w+ of"},
        )
        for method, where, action in (
            ("PUT", "[0-9a-f]$", "PutObject"),
            ("PUT", "tagging$", "PutObjectTagging"),
            ("GET", "", "GetObject"),
            ("DELETE", "", "DeleteObject"),
        )
    },
    "S3 ignores If-Match": (
        lambda at: at.proxy.status("DELETE", f"^/{at.bucket}/sales/", 204, None),
        {"table sales: after_load is allowed": "it ignores If-Match, so after_load cannot be used"},
    ),
    "strays in the inbox and among the births": (
        lambda at: (at.put(at.lake, "own/inbox/x/notes.txt"), at.put(at.lake, "own/tables/notes.txt")),
        {
            "lake root: nothing strange": r"tables/notes\.txt is not a table's .* away; .*inbox/x/notes\.txt is "
            "not a manifest"
        },
    ),
    "a table was born otherwise": (
        lambda at: at.born("orders", registered=False),
        {"table orders: as it was born": "born with mode load, lake.yaml says register, .* `tidegate reset orders`"},
    ),
    "a birth record is damaged": (
        lambda at: at.put(at.lake, f"own/tables/{at.bucket}.orders.json", "{"),
        {"table orders: as it was born": r"orders\.json is not a birth record .*: restore its first version"},
    ),
    "a batch is damaged": (
        lambda at: at.put(at.lake, f"own/batches/{at.born('sales', registered=False)}/{1:020d}.json", "{"),
        {"table sales: as it was born": rf"s3://lake-\w+/own/batches/landing-\w+\.sales/{1:020d}\.json"},
    ),
    "a reset was interrupted": (
        lambda at: at.store.batches(at.born("sales", registered=False)).retire(0, "somebody"),
        {"table sales: as it was born": "a reset by somebody at .* ended .* repeat it with `tidegate reset`"},
    ),
    "lake.json is damaged": (
        lambda at: (
            at.put(at.lake, "own/lake.json", "{"),
            at.put(at.bucket, f"orders/_delta_log/{0:020d}.json", "{}"),
        ),
        {"bucket landing: no Delta": r"s3://lake-\w+/own/lake\.json"},
    ),
    "a discovered table holds a configured one": (
        lambda at: at.born("orders.eu", registered=False),
        {"tables: no overlap with discovered ones": "orders takes its files from now on. Materialize it"},
    ),
    "metrics may not be published": (
        lambda at: at.deny("POST", "PutMetricData|^/$", XML % b"AccessDenied"),
        {"CloudWatch: metrics can be published": "allow cloudwatch:PutMetricData on the namespace Tidegate"},
    ),
}

ROUTE_FAULTS: dict[str, tuple[Callable[[Shore], object], dict[str, str]]] = {
    "a topic is not there": (
        lambda at: at.clients.sns(REGION, ACCOUNT).delete_topic(TopicArn=at.topic),
        {"route all: topic": r"there is no topic arn:aws:sns:us-east-1:000000000000:topic-\w+: create it"},
    ),
    "publishing is denied": (
        lambda at: at.deny("POST", "/PublishBatch$"),
        {"route all: topic": r"allow sns:Publish on arn:\S+:topic-\w+; statement Publish of `tidegate policy dagster`"},
    ),
    "the attributes of a topic are denied": (
        lambda at: at.deny("POST", "/GetTopicAttributes$"),
        {"route all: topic": r"allow sns:GetTopicAttributes on arn:\S+; statement Topics of `tidegate policy dag"},
    ),
    "the queue of a route is not there": (
        lambda at: at.clients.sqs.delete_queue(QueueUrl=at.queue_url(f"search-{at.tag}")),
        {"route search: queue": r"there is no queue search-\w+: create it, or correct `queue` of the route"},
    ),
    "the queue for unmatched events is not there": (
        lambda at: at.clients.sqs.delete_queue(QueueUrl=at.queue_url(f"nobody-{at.tag}")),
        {"route teams: queue": r"there is no queue nobody-\w+: create it, or correct `unmatched` of the route"},
    ),
    "tags are denied": (
        lambda at: at.deny("POST", "/GetResources$", DENIED_TAGS),
        {"route teams: tagged queues": r"allow tag:GetResources on \*; statement FindTaggedQueues of"},
    ),
}

FAULTS = ROUTE_FAULTS | QUEUE_FAULTS | BUCKET_FAULTS | LAKE_FAULTS


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_fails_its_line_and_no_other(fault: str, shore: Shore) -> None:
    cause, expected = FAULTS[fault]
    cause(shore)
    failed = {finding.what: finding.detail for finding in shore.found() if not finding.ok}
    assert len(failed) == len(expected), failed
    for (what, detail), (begins, says) in zip(failed.items(), expected.items(), strict=True):
        assert what.startswith(begins), failed
        assert re.search(says, detail), failed


def test_a_tag_that_no_queue_has_is_a_warning(shore: Shore) -> None:
    shore.clients.sqs.delete_queue(QueueUrl=shore.queue_url(f"team-{shore.tag}"))
    (finding,) = (finding for finding in shore.found() if finding.warning)
    assert (finding.what, finding.ok) == ("route teams: tagged queues", True)
    assert re.match(r"no queue of this account and region has the tag kind-\w+, so every event goes", finding.detail)


def test_tags_of_versions_are_a_warning_where_no_object_has_one(shore: Shore) -> None:
    shore.put(shore.bucket, "seen/a.json")
    shore.deny("PUT", f"^/{shore.bucket}/seen/.*versionId")
    (finding,) = (finding for finding in shore.found() if finding.warning)
    assert (finding.what, finding.ok) == ("table seen: after_load is allowed", True)
    assert re.match(
        r"tagged; but once the bucket has versions: .* allow s3:PutObjectVersionTagging on ", finding.detail
    )


@pytest.mark.limit("Events and AWS", "The lake root is on S3, or on a store that honours `If-None-Match` of a PUT.")
def test_an_endpoint_that_ignores_the_condition_of_a_put_cannot_hold_a_lake(shore: Shore) -> None:
    s3 = shore.clients.s3
    s3.meta.events.register("before-call.s3.PutObject", _without_condition)
    *allowed, conditional = check_root(s3, LakeStore(ObjectStore(s3), shore.config.lake.root))
    assert [finding.ok for finding in allowed] == [True, True]
    assert not conditional.ok
    assert conditional.detail.startswith("8 of 8 racing conditional puts")
    assert "Use AWS S3 or a store that honours the header" in conditional.detail


def _without_condition(params: Any, **_: Any) -> None:
    params["headers"].pop("If-None-Match", None)
