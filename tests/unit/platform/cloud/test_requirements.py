"""One module states what a lake needs on AWS. The local platform creates it, checks require it, the page shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.cli.check.buckets import check_bucket, check_logs
from tidegate.platform.cli.check.findings import Failed
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.queues import CheckedQueue, check_queue
from tidegate.platform.cli.commands.doctor import check_table
from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.requirements import QUEUE_ATTRIBUTES, RETENTION, VISIBILITY, WantedQueue, WantedResources
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.local.provision import Clients, provision

ROOT = Path(__file__).parents[4]
LAKE = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events", "dlq": "events-dead"}],
        "buckets": ["landing", "second"],
        "tables": [
            {"name": "clicks", "row_queue": {"name": "clicks-rows"}},
            {"name": "orders", "prefix": "s3://landing/orders/", "format": "parquet"},
        ],
        "event_types": [{"key": "{type}/**"}],
        "routes": [
            {"name": "labels", "tag": {"a": "b"}},
            {"name": "all", "topic": "arn:aws:sns:eu-west-1:123456789012:all"},
            {"name": "ordered", "topic": "arn:aws:sns:eu-west-1:123456789012:ordered.fifo", "group": "table"},
            {"name": "search", "queue": {"name": "search.fifo"}, "group": "table"},
            {"name": "teams", "queues_tagged": "kind", "unmatched": "nobody"},
        ],
    }
)
WANTED = WantedResources.from_config(LAKE)


class Account:
    """The provisioned parts of S3, SQS and DynamoDB. Records what was put, and counts the writes."""

    meta = SimpleNamespace(region_name="eu-central-1")

    def __init__(self) -> None:
        self.buckets: dict[str, dict[str, Any]] = {}
        self.policies: dict[str, str] = {}
        self.queues: dict[str, dict[str, str]] = {}
        self.tables: dict[str, dict[str, Any]] = {}
        self.expiry: dict[str, Any] = {}
        self.topics: dict[str, dict[str, str]] = {}
        self.writes = 0
        missing = type("Missing", (Exception,), {})
        self.exceptions = SimpleNamespace(
            QueueDoesNotExist=missing, ResourceNotFoundException=missing, NotFoundException=missing
        )

    def clients(self) -> Clients:
        made: Any = self
        return Clients(made, made, made, self.sns)

    def sns(self, region: str, account: str) -> Any:
        """Return a client of SNS for a region and an account."""
        self.place = f"{region}:{account}"
        return self

    def head_bucket(self, Bucket: str) -> None:  # noqa: N803
        self.buckets.setdefault(Bucket, {})

    def get_bucket_policy(self, Bucket: str) -> dict[str, str]:  # noqa: N803
        if Bucket not in self.policies:
            raise ClientError({"ResponseMetadata": {"HTTPStatusCode": 404}}, "GetBucketPolicy")  # type: ignore[typeddict-item]
        return {"Policy": self.policies[Bucket]}

    def put_bucket_policy(self, Bucket: str, Policy: str) -> None:  # noqa: N803
        self.writes += 1
        self.policies[Bucket] = Policy

    def list_objects_v2(self, **_: Any) -> dict[str, Any]:
        return {"Contents": []}

    def head_object(self, **_: Any) -> dict[str, Any]:
        return {}

    get_object_tagging = head_object

    def get_bucket_notification_configuration(self, Bucket: str) -> dict[str, Any]:  # noqa: N803
        return self.buckets[Bucket]

    def put_bucket_notification_configuration(self, Bucket: str, NotificationConfiguration: Any) -> None:  # noqa: N803
        self.writes += 1
        self.buckets[Bucket] = NotificationConfiguration

    def get_queue_url(self, QueueName: str) -> dict[str, str]:  # noqa: N803
        if QueueName not in self.queues:
            raise self.exceptions.QueueDoesNotExist
        return {"QueueUrl": QueueName}

    def create_queue(self, QueueName: str, Attributes: Any = None) -> dict[str, str]:  # noqa: N803
        self.writes += 1
        arn = f"arn:aws:sqs:eu-central-1:123456789012:{QueueName}"
        self.queues[QueueName] = {"QueueArn": arn, **(Attributes or {})}
        return {"QueueUrl": QueueName}

    def get_queue_attributes(self, QueueUrl: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        return {"Attributes": self.queues[QueueUrl]}

    def set_queue_attributes(self, QueueUrl: str, Attributes: dict[str, str]) -> None:  # noqa: N803
        self.writes += 1
        self.queues[QueueUrl] |= Attributes

    def _answer(self, **_: Any) -> dict[str, Any]:
        return {}

    receive_message = delete_message = change_message_visibility = send_message_batch = _answer

    def get_topic_attributes(self, TopicArn: str) -> dict[str, Any]:  # noqa: N803
        if TopicArn not in self.topics:
            raise self.exceptions.NotFoundException
        return {"Attributes": self.topics[TopicArn]}

    def create_topic(self, Name: str, Attributes: dict[str, str]) -> None:  # noqa: N803
        self.writes += 1
        self.topics[f"arn:aws:sns:{self.place}:{Name}"] = Attributes

    def describe_table(self, TableName: str) -> dict[str, Any]:  # noqa: N803
        if TableName not in self.tables:
            raise self.exceptions.ResourceNotFoundException
        return self.tables[TableName]

    def create_table(self, **given: Any) -> None:
        self.writes += 1
        self.tables[given["TableName"]] = given

    def get_waiter(self, _: str) -> Any:
        return SimpleNamespace(wait=lambda **_: None)

    def describe_time_to_live(self, **_: Any) -> dict[str, Any]:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED"} if self.expiry else {}}

    def update_time_to_live(self, TimeToLiveSpecification: Any, **_: Any) -> None:  # noqa: N803
        self.writes += 1
        self.expiry = TimeToLiveSpecification


@pytest.fixture(scope="module")
def account() -> Account:
    made = Account()
    assert provision(made.clients(), WANTED) == "events"
    return made


def test_the_local_platform_makes_what_is_wanted(account: Account) -> None:
    for queue in (WantedQueue("events", "events-dead"), WantedQueue("clicks-rows", "clicks-rows-dlq")):
        dlq = account.queues[queue.dlq]
        found = {name: account.queues[queue.name][name] for name in queue.attributes("")}
        assert found == queue.attributes(dlq["QueueArn"])
        assert {name: dlq[name] for name in queue.dlq_attributes()} == queue.dlq_attributes()
    arn = account.queues["events"]["QueueArn"]
    assert json.loads(account.queues["events"]["Policy"]) == WANTED.queue_policy(arn)
    notifications = {bucket: found.get("QueueConfigurations", []) for bucket, found in account.buckets.items()}
    ours = WANTED.notification(arn)
    assert notifications == {"lake": [], "landing": [ours], "second": [ours]}
    assert WANTED.commit_table is not None
    assert account.tables == {"delta_log": WANTED.commit_table.definition()}
    assert account.expiry == WANTED.commit_table.time_to_live()


def test_a_lake_whose_commits_only_s3_coordinates_has_no_commit_table() -> None:
    config = LAKE.model_copy(update={"lake": LAKE.lake.model_copy(update={"commits": "s3"})})
    account = Account()
    wanted = WantedResources.from_config(config)
    provision(account.clients(), wanted)
    assert (wanted.commit_table, account.tables, account.expiry) == (None, {}, {})
    assert replace(wanted, commit_table=CommitTable()) == WANTED, "more depends on it than the table"


def test_the_local_platform_makes_the_topics_and_queues_of_routes(account: Account) -> None:
    place = "arn:aws:sns:eu-west-1:123456789012:"
    assert account.topics == {f"{place}all": {}, f"{place}ordered.fifo": {"FifoTopic": "true"}}
    fifo = {name: account.queues[name].get("FifoQueue") for name in ("search.fifo", "nobody")}
    assert fifo == {"search.fifo": "true", "nobody": None}


def test_what_is_right_is_not_written_again(account: Account) -> None:
    before = account.writes
    provision(account.clients(), WANTED)
    assert account.writes == before


def test_checks_find_nothing_wrong_with_what_is_made(account: Account) -> None:
    findings = list(_check(account))
    assert [finding for finding in findings if not finding.ok or finding.warning] == []
    assert {Check.QUEUE_VISIBILITY, Check.QUEUE_RETENTION, Check.QUEUE_DEAD_LETTERS, Check.QUEUE_POLICY} <= {
        finding.check for finding in findings
    }
    assert {Check.QUEUE_SENDERS, Check.BUCKET_LOGS} <= {finding.check for finding in findings}


def test_checks_warn_of_a_log_that_producers_may_write_and_fail_for_a_queue_that_is_open() -> None:
    account = Account()
    provision(account.clients(), WANTED)
    account.policies.clear()
    everybody = {"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    account.queues["events"]["Policy"] = json.dumps({"Statement": [everybody]})
    found = {finding.check: finding for finding in _check(account) if finding.subject in ("events", "landing")}
    logs, senders = found[Check.BUCKET_LOGS], found[Check.QUEUE_SENDERS]
    assert (logs.outcome, senders.outcome) == ("warning", "failed")
    assert "arn:aws:s3:::landing/" in logs.detail
    assert "_delta_log/*" in logs.detail
    assert "lets everybody send" in senders.detail


def _check(account: Any) -> Iterator[Any]:
    queues: list[CheckedQueue] = []
    for spec in LAKE.every_queue:
        yield from check_queue(account, spec, queues)
    for bucket in LAKE.buckets:
        tables = [spec for spec in LAKE.tables if spec.table_key.bucket == bucket]
        yield from check_bucket(account, bucket, tables, queues)
        yield from check_logs(account, bucket, LAKE)


@pytest.mark.parametrize("attribute", [VISIBILITY, RETENTION])
def test_checks_refuse_what_is_out_of_an_attribute_s_bounds(attribute: Any) -> None:
    account = Account()
    provision(account.clients(), WANTED)
    bounds = [(attribute.min_seconds, True), (attribute.min_seconds - 1, False)]
    if attribute.max_seconds:
        bounds += [(attribute.max_seconds, True), (attribute.max_seconds + 1, False)]
    for seconds, fits in bounds:
        account.queues["events"][attribute.name] = str(seconds)
        wrong = [finding for finding in _check(account) if not finding.ok]
        assert (wrong == []) is fits, seconds
        assert all(f"set {attribute.name} to {attribute.seconds}" in finding.detail for finding in wrong)


def test_the_doctor_asks_for_the_expiry_that_is_made() -> None:
    def table(ttl: str | None) -> Any:
        state = SimpleNamespace(status="ACTIVE", ttl=ttl, billing="PAY_PER_REQUEST")
        return SimpleNamespace(state=lambda: state, address=SimpleNamespace(possibly_lost=0), where="here")

    assert "TTL on expireTime" in check_table(table(CommitTable().expiry))
    with pytest.raises(Failed, match="TTL is not enabled on expireTime"):
        check_table(table(None))


def test_java_names_the_table_s_attributes_alike() -> None:
    source = (ROOT / "platform/jvm/src/main/java/io/tidegate/storage/DynamoDb.java").read_text(encoding="utf-8")
    names = dict(re.findall(r'static final String (\w+) = "(\w+)";', source))
    table = CommitTable()
    assert (names["TABLE_PATH"], names["FILE_NAME"]) == tuple(name for name, _ in table.keys)
    assert names["EXPIRE_TIME"] == table.expiry


def test_no_other_module_of_the_platform_states_it() -> None:
    stated = re.compile("|".join([*(attribute.name for attribute in QUEUE_ATTRIBUTES), "maxReceiveCount", "1209600"]))
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "platform").rglob("*.py")
        # A handle asks for what a queue has, and a printed command sets it.
        if "lake" not in path.relative_to(ROOT).parts
        if stated.search(re.sub(r"(VisibilityTimeout|MessageRetentionPeriod)=", "", path.read_text(encoding="utf-8")))
    }
    assert found == {"platform/cloud/requirements.py"}, "one place for what a lake needs on AWS"
