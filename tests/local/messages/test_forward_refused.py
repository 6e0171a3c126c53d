"""What routes cannot send: a policy forbids it, a queue is another account's, or a body is as large as SQS takes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.support.servers.cloud import Cloud, notification
from tests.support.servers.fault_proxy import Answer, FaultProxy, Request
from tidegate.assets.keys import LakeNames
from tidegate.assets.routes.report import route_state
from tidegate.platform.cli.check.routes import check_routes
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.lake import Lake, open_lake
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.routes.forwarder import Forwarder

ROLE = "arn:aws:sts::000000000000:assumed-role/tidegate/lake"
#: SQS takes a body of so many bytes.
MIB = 1 << 20


class Forbidding(FaultProxy):
    """A proxy that answers as AWS does if a policy forbids the call. The local AWS enforces no policy.

    Attributes:
        forbidden: names of queues and topics to which nothing may be sent, and of operations that are not allowed.
    """

    def __init__(self, aws: LocalAws) -> None:
        super().__init__(aws.endpoint)
        self.forbidden: set[str] = set()

    def answer(self, request: Request, forward: Any) -> Answer:
        operation = request.headers.get("X-Amz-Target", "").rpartition(".")[2]
        if operation in self.forbidden:
            return _refusal("com.amazonaws.tagging#AccessDeniedException", f"perform: tag:{operation}")
        sent_to = next((name for name in self.forbidden if f"{name}".encode() in request.body), None)
        if operation == "SendMessageBatch" and sent_to:
            return _refusal("com.amazon.coral.service#AccessDeniedException", f"perform: sqs:sendmessage on {sent_to}")
        if b"Action=PublishBatch" in request.body and sent_to:
            text = f"User: {ROLE} is not authorized to perform: SNS:Publish on resource: {sent_to}"
            error = f"<Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>{text}</Message></Error>"
            return Answer(
                403, "Forbidden", [("Content-Type", "text/xml")], f"<ErrorResponse>{error}</ErrorResponse>".encode()
            )
        return forward()  # type: ignore[no-any-return]


def _refusal(kind: str, what: str) -> Answer:
    body = json.dumps({"__type": kind, "message": f"User: {ROLE} is not authorized to {what}"}).encode()
    return Answer(400, "Bad Request", [("Content-Type", "application/x-amz-json-1.0")], body)


@pytest.fixture(scope="module")
def forbidding(local_aws: LocalAws) -> Iterator[Forbidding]:
    with Forbidding(local_aws) as running:
        yield running


@pytest.fixture
def cloud(forbidding: Forbidding) -> Iterator[Cloud]:
    """Yield clients of the local AWS, through the proxy."""
    yield Cloud(forbidding.endpoint)
    forbidding.forbidden = set()


def lake_of(cloud: Cloud, name: str, **given: Any) -> Lake:
    """Return a lake whose queue has its name."""
    cloud.s3.create_bucket(Bucket=f"{name}-lake")
    config = LakeConfig.model_validate(
        {
            "lake": {"root": f"s3://{name}-lake/root"},
            "queues": [{"name": f"{name}-events"}],
            "buckets": ["landing"],
            "event_types": [{"key": "events/{type}/**"}],
            **given,
        }
    )
    return open_lake(config, cloud.aws, SparkRemote.parse("sc://localhost:1", None), lambda: pytest.fail("no Spark"))


def test_a_policy_that_forbids_keeps_the_messages_of_its_destination_only(cloud: Cloud, forbidding: Forbidding) -> None:
    topic = cloud.sns.create_topic(Name="no-topic")["TopicArn"]
    urls = {name: cloud.queue(name) for name in ("no-queue", "yes-queue", "no-subscriber")}
    urls |= {name: cloud.queue(name, {"no-kind": "orders"}) for name in ("no-tagged", "yes-tagged")}
    cloud.subscribe(topic, "no-subscriber", RawMessageDelivery="true")
    lake = lake_of(
        cloud,
        "no",
        routes=[
            {"name": "topic", "topic": topic},
            {"name": "closed", "queue": {"name": "no-queue"}},
            {"name": "open", "queue": {"name": "yes-queue"}},
            {"name": "tags", "queues_tagged": "no-kind", "unmatched": "no-nobody"},
        ],
    )
    events = cloud.queue("no-events")
    sent = [notification(f"events/orders/{n}.json") for n in range(3)]
    for body in sent:
        cloud.sqs.send_message(QueueUrl=events, MessageBody=body)
    assert take_in(lake, patience=1).received == len(sent)
    now = [0.0]
    forwarder = Forwarder(clock=lambda: now[0])

    forbidding.forbidden = {"GetResources"}
    errors = {str(result.lane): str(result.error) for result in forwarder.tick(lake, [Lane("tags")])}
    assert "tag:GetResources" in errors["tags"]

    forbidding.forbidden = {topic.replace(":", "%3A"), "no-queue", "no-tagged"}
    errors = {}
    for _ in range(2):  # In the first, what a tagged queue refuses gets a lane of its own.
        now[0] += 1_000.0
        for result in forwarder.tick(lake, lake.store.outbox.lanes()):
            errors[str(result.lane)] = str(result.error)
    assert "is not authorized to perform: SNS:Publish on resource: " in errors["topic"]
    assert "is not authorized to perform: sqs:sendmessage on no-queue" in errors["closed"]
    assert "is not authorized to perform: sqs:sendmessage on no-tagged" in errors["tags to no-tagged"]
    assert sorted(message["Body"] for message in cloud.drain(urls["yes-queue"])) == sorted(sent)
    assert sorted(message["Body"] for message in cloud.drain(urls["yes-tagged"])) == sorted(sent)
    lanes, an_hour_later = lake.store.outbox.lanes(), time.time() + 3_600
    for route in lake.config.routes:
        own = [lane for lane in lanes if lane.route == route.name]
        found = route_state(lake.store.outbox, route, an_hour_later, own, forwarder.errors())
        check = found.check(LakeNames().route(route.name))
        assert check.passed is (route.name == "open")
        assert ("is not authorized to perform" in str(check.description)) is not check.passed

    forbidding.forbidden = set()
    now[0] += 1_000.0
    assert {result.error for result in forwarder.tick(lake, lake.store.outbox.lanes())} == {None}
    assert lake.store.outbox.lanes() == []
    for name in ("no-queue", "no-subscriber", "no-tagged"):
        assert sorted(message["Body"] for message in cloud.drain(urls[name])) == sorted(sent), name


def test_a_tagged_queue_of_another_account_is_not_found_and_its_events_are_unmatched(cloud: Cloud) -> None:
    theirs = replace(cloud.aws, aws_access_key_id="444455556666").client("sqs")
    tagged = theirs.create_queue(QueueName="far-team", tags={"far-kind": "orders"})["QueueUrl"]
    nobody, namesake = cloud.queue("far-nobody"), cloud.queue("far-team")
    lake = lake_of(cloud, "far", routes=[{"name": "teams", "queues_tagged": "far-kind", "unmatched": "far-nobody"}])
    body = notification("events/orders/1.json")
    cloud.sqs.send_message(QueueUrl=cloud.queue("far-events"), MessageBody=body)
    take_in(lake, patience=1)
    assert [result.error for result in Forwarder().tick(lake, lake.store.outbox.lanes())] == [None]
    assert [message["Body"] for message in cloud.drain(nobody)] == [body]
    assert cloud.drain(namesake) == []
    assert "Messages" not in theirs.receive_message(QueueUrl=tagged)
    said = [finding.detail for finding in check_routes(lake.config, cloud.aws)]
    assert "no queue of this account and region has the tag far-kind, so every event goes to `unmatched`" in said


def test_a_body_of_a_mebibyte_is_divided_or_kept_with_the_reason_and_its_files_reach_their_table(cloud: Cloud) -> None:
    topic = cloud.sns.create_topic(Name="huge-topic")["TopicArn"]
    every, direct = cloud.queue("huge-every"), cloud.queue("huge-queue")
    cloud.subscribe(topic, "huge-every", RawMessageDelivery="true")
    lake = lake_of(
        cloud,
        "huge",
        tables=[{"name": "orders", "prefix": "s3://landing/events/orders/", "mode": "load", "format": "json"}],
        routes=[{"name": "topic", "topic": topic}, {"name": "queue", "queue": {"name": "huge-queue"}}],
    )
    keys = [f"events/orders/{n}.json" for n in range(1_000)]
    text, many, small = _filled("events/orders/one.json"), _filled(*keys), notification("events/orders/small.json")
    events = cloud.queue("huge-events")
    assert len(text) == MIB
    assert MIB - 1_000 < len(many) <= MIB
    for body in (text, many, small):
        cloud.sqs.send_message(QueueUrl=events, MessageBody=body)
    assert take_in(lake, patience=1).received == len(keys) + 2
    results = {result.lane.route: result for result in Forwarder().tick(lake, lake.store.outbox.lanes())}
    assert {name: (result.error, result.undeliverable) for name, result in results.items()} == {
        "topic": (None, 1),
        "queue": (None, 1),
    }
    for route, limit in {"topic": "260,144", "queue": "1,046,576"}.items():
        (kept,) = lake.store.outbox.undeliverable_messages(route)
        assert kept.message.body == text
        assert "its body has 1,048," in kept.reason
        assert f"at most {limit}" in kept.reason
    for url in (every, direct):
        bodies = [message["Body"] for message in cloud.drain(url)]
        found = [record["s3"]["object"]["key"] for body in bodies for record in json.loads(body)["Records"]]
        assert sorted(found) == sorted([*keys, "events/orders/small.json"])
    assert sum(manifest.hints for manifest in lake.store.inbox.waiting_manifests()) == len(keys) + 2


def _filled(*keys: str) -> str:
    """Return a body of which each record has as many blanks as make the body as large as SQS takes."""
    body = {"Records": [{**json.loads(notification(key))["Records"][0], "blanks": ""} for key in keys]}
    each = " " * ((MIB - len(json.dumps(body))) // len(keys))
    return json.dumps({"Records": [{**record, "blanks": each} for record in body["Records"]]})
