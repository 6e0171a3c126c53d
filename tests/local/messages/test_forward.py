"""Routes through real topics, queues, tags and a real listing of S3: the local AWS over HTTP."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.servers.cloud import Cloud, notification
from tidegate.platform.cloud.subscription import subscription
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.forwarding.destination import TopicDestination
from tidegate.platform.lake.forwarding.destinations import Destinations
from tidegate.platform.lake.lake import open_lake
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.threads import parallel
from tidegate.platform.local.aws import ACCOUNT, REGION, LocalAws
from tidegate.platform.routes.forwarder import Forwarder

EVENTS = 60


@pytest.fixture(scope="module")
def cloud(local_aws: LocalAws) -> Cloud:
    """Return clients of the local AWS."""
    return Cloud(local_aws.endpoint)


def test_events_reach_topics_and_queues_of_every_kind(cloud: Cloud, tmp_path: Path) -> None:
    topic = cloud.sns.create_topic(Name="forward")["TopicArn"]
    events = cloud.queue("forward-events")
    urls = {name: cloud.queue(f"forward-{name}") for name in ("every", "filtered", "nobody", "fair")}
    urls["ordered"] = cloud.queue("forward-ordered.fifo", FifoQueue="true")
    urls |= {name: cloud.queue(f"forward-{name}", {"forward-type": "orders"}) for name in ("tag1", "tag2")}
    cloud.queue("forward-former", {"forward-type": "orders"})
    cloud.sqs.untag_queue(QueueUrl=cloud.queue("forward-former"), TagKeys=["forward-type"])
    cloud.sqs.tag_queue(QueueUrl=events, Tags={"forward-type": "orders"})  # a queue of the lake itself
    cloud.subscribe(topic, "forward-every")
    policy = json.dumps({"event_type": ["clicks"]})
    cloud.subscribe(topic, "forward-filtered", RawMessageDelivery="true", FilterPolicy=policy)
    cloud.subscribe(topic, "forward-events")  # what is forwarded comes back
    cloud.s3.create_bucket(Bucket="forward-lake")
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://forward-lake/root"},
            "queues": [{"name": "forward-events"}],
            "buckets": ["landing"],
            "intake": {"threads": 1},  # several would receive in any order
            "event_types": [{"key": "events/{type}/**"}],
            "routes": [
                {"name": "topic", "topic": topic},
                {"name": "ordered", "queue": {"name": "forward-ordered.fifo"}, "group": "table"},
                {"name": "fair", "queue": {"name": "forward-fair"}, "group": "table", "types": ["cli*"]},
                {"name": "tags", "queues_tagged": "forward-type", "unmatched": "forward-nobody"},
            ],
        }
    )
    lake = open_lake(config, cloud.aws, SparkRemote.parse("sc://localhost:1", None), lambda: pytest.fail("no Spark"))
    sent = [notification(f"events/{('orders', 'clicks', 'returns')[n % 3]}/{n}.json") for n in range(EVENTS)]
    for body in sent:
        cloud.sqs.send_message(QueueUrl=events, MessageBody=body)
    forwarder = Forwarder()
    taken = 0
    while received := take_in(lake, patience=1).received:
        taken += received
        results = forwarder.tick(lake, lake.store.outbox.lanes())
        assert [result.error for result in results if result.error] == []
        assert taken <= 2 * EVENTS, "what comes back is forwarded again, for ever"
    assert taken == 2 * EVENTS
    assert lake.store.outbox.lanes() == []
    got = {name: cloud.drain(url) for name, url in urls.items()}
    third = EVENTS // 3
    counts = {name: len(messages) for name, messages in got.items()}
    for name, number in {"every": EVENTS, "ordered": EVENTS, "nobody": 2 * third}.items():
        assert counts.pop(name) == number, name
    assert counts == dict.fromkeys(("filtered", "fair", "tag1", "tag2"), third)
    assert sorted(json.loads(entry["Body"])["Message"] for entry in got["every"]) == sorted(sent), "unchanged"
    types = {
        name: Counter(entry["MessageAttributes"]["event_type"]["StringValue"] for entry in got[name])
        for name in got
        if name != "every"
    }
    assert types["filtered"] == types["fair"] == {"clicks": third}
    assert types["tag1"] == types["tag2"] == {"orders": third}
    assert types["nobody"] == {"clicks": third, "returns": third}
    places = [sent.index(entry["Body"]) for entry in got["ordered"]]
    for group in range(3):
        own = [place for place in places if place % 3 == group]
        assert own == sorted(own), "in the order in which the lake's queue gave them"
    assert {entry["Attributes"]["MessageGroupId"] for entry in got["ordered"]} == {
        f"s3://landing/events/{name}/" for name in ("orders", "clicks", "returns")
    }


def test_a_thousand_tagged_queues_get_their_events(cloud: Cloud) -> None:
    """Each has a type of its own, which no filter policies of one topic could do: a topic has 200."""
    number = 1_050
    cloud.s3.create_bucket(Bucket="many-lake")
    urls = parallel(lambda n: cloud.queue(f"many-{n}", {"many-kind": f"t{n}"}), range(number))
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://many-lake/root"},
            "queues": [{"name": "many-events"}],
            "buckets": ["landing"],
            "event_types": [{"key": "events/{type}/**"}],
            "routes": [{"name": "teams", "queues_tagged": "many-kind", "unmatched": "many-nobody"}],
        }
    )
    by_name = dict(enumerate(urls))
    lake = open_lake(config, cloud.aws, SparkRemote.parse("sc://localhost:1", None), lambda: pytest.fail("no Spark"))
    sent = [Outgoing(f"m{n}", f"t{n}", "g", 1, notification(f"events/t{n}/1.json")) for n in range(number)]
    lake.store.outbox.put([(Lane("teams"), sent)])
    forwarder = Forwarder()
    for _ in range(50):  # a queue that is served late, because this machine is busy, has a lane of its own
        if not (lanes := lake.store.outbox.lanes()):
            break
        assert [result.error for result in forwarder.tick(lake, lanes) if result.error] == []
    assert lake.store.outbox.lanes() == []

    def bodies(n: int) -> set[str]:
        answer = cloud.sqs.receive_message(QueueUrl=by_name[n], MaxNumberOfMessages=10)
        return {message["Body"] for message in answer.get("Messages", [])}

    assert list(parallel(bodies, range(number))) == [{message.body} for message in sent], "at least once, and its own"


def test_objects_are_tagged_and_unwrapped(cloud: Cloud) -> None:
    for bucket in ("actions-lake", "actions-landing"):
        cloud.s3.create_bucket(Bucket=bucket)
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://actions-lake/root"},
            "queues": [{"name": "actions-events"}],
            "buckets": ["actions-landing"],
            "event_types": [{"key": "in/{type}/**"}],
            "routes": [
                {"name": "tags", "key": "in/{team}/**", "tag": {"team": "{team}", "kind": "{type}"}},
                {"name": "lines", "unwrap": "s3://actions-landing/lines/"},
            ],
        }
    )
    lake = open_lake(config, cloud.aws, SparkRemote.parse("sc://localhost:1", None), lambda: pytest.fail("no Spark"))
    url = cloud.queue("actions-events")
    place = {"Bucket": "actions-landing", "Key": "in/shop/1.json"}
    cloud.s3.put_object(**place, Body=b'[{"id": 1.50},\n{"id": 2}]', Tagging="owner=x")
    for key in ("in/shop/1.json", "lines/in/shop/1.json.jsonl", "in/shop/gone.json"):
        cloud.sqs.send_message(QueueUrl=url, MessageBody=notification(key, "actions-landing"))
    for _ in range(2):  # the second time as a redelivery
        cloud.sqs.send_message(QueueUrl=url, MessageBody=notification("in/shop/1.json", "actions-landing"))
        take_in(lake, patience=1)
        results = Forwarder().tick(lake, lake.store.outbox.lanes())
        assert [(result.error, result.undeliverable) for result in results] == [(None, 0), (None, 0)]
    tags = {tag["Key"]: tag["Value"] for tag in cloud.s3.get_object_tagging(**place)["TagSet"]}
    assert tags == {"owner": "x", "team": "shop", "kind": "shop"}
    listed = cloud.s3.list_objects_v2(Bucket="actions-landing", Prefix="lines/")["Contents"]
    assert [item["Key"] for item in listed] == ["lines/in/shop/1.json.jsonl"]
    lines = cloud.s3.get_object(Bucket="actions-landing", Key="lines/in/shop/1.json.jsonl")["Body"].read()
    assert lines == b'{"id": 1.50}\n{"id": 2}\n'


def test_a_topic_that_is_gone_keeps_its_messages_and_says_so(cloud: Cloud) -> None:
    cloud.queue("gone-events")
    cloud.s3.create_bucket(Bucket="gone-lake")
    topic = f"arn:aws:sns:{REGION}:{ACCOUNT}:gone"
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://gone-lake/root"},
            "queues": [{"name": "gone-events"}],
            "buckets": ["landing"],
            "routes": [{"name": "topic", "topic": topic}, {"name": "queue", "queue": {"name": "gone-queue"}}],
        }
    )
    lake = open_lake(config, cloud.aws, SparkRemote.parse("sc://localhost:1", None), lambda: pytest.fail("no Spark"))
    cloud.sqs.send_message(QueueUrl=cloud.queue("gone-events"), MessageBody=notification("x/1.json"))
    assert take_in(lake, patience=1).received == 1
    now = [0.0]
    forwarder = Forwarder(clock=lambda: now[0])
    errors = {str(result.lane): str(result.error) for result in forwarder.tick(lake, lake.store.outbox.lanes())}
    assert "NotFound" in errors["topic"]
    assert "NonExistentQueue" in errors["queue"] or "QueueDoesNotExist" in errors["queue"]
    cloud.sns.create_topic(Name="gone")
    url = cloud.queue("gone-queue")
    now[0] = 1_000.0
    assert [result.error for result in forwarder.tick(lake, lake.store.outbox.lanes())] == [None, None]
    assert len(cloud.drain(url)) == 1


def test_another_account_gets_events_by_what_subscribe_prints(cloud: Cloud) -> None:
    team = "444455556666"
    topic = cloud.sns.create_topic(Name="subscribed")["TopicArn"]
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://subscribed-lake/root"},
            "queues": [{"name": "subscribed-events"}],
            "buckets": ["landing"],
            "event_types": [{"key": "{type}/**"}],
            "routes": [{"name": "all", "topic": topic}],
        }
    )
    statement, policy, call = (
        part.text for part in subscription(config, config.routes[0], team, "theirs", ["orders", "returns.*"])
    )
    found = json.loads(cloud.sns.get_topic_attributes(TopicArn=topic)["Attributes"]["Policy"])
    found["Statement"].append(json.loads(statement))
    cloud.sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(found))
    # The local AWS takes the account from the access key.
    theirs = replace(cloud.aws, aws_access_key_id=team)
    url = theirs.client("sqs").create_queue(QueueName="theirs", Attributes={"Policy": policy})["QueueUrl"]
    words = shlex.split(call)
    options = {name: value for name, value in pairwise(words) if name.startswith("--")}
    theirs.client("sns").subscribe(
        TopicArn=options["--topic-arn"],
        Protocol=options["--protocol"],
        Endpoint=options["--notification-endpoint"],
        Attributes=json.loads(options["--attributes"]),
    )
    to_topic = TopicDestination(cloud.sns, topic, "lake-id", grouped=False)
    types = ("orders", "clicks", "returns.eu", None)
    sent = [Outgoing(f"m{n}", kind, "g", 1, f'{{"n": {n}}}') for n, kind in enumerate(types)]
    assert to_topic.send(sent) == []
    answer = theirs.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5)
    assert sorted(message["Body"] for message in answer["Messages"]) == ['{"n": 0}', '{"n": 2}']


def test_a_queue_gets_events_by_the_tag_that_subscribe_prints(cloud: Cloud) -> None:
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://tagged-lake/root"},
            "queues": [{"name": "tagged-events"}],
            "buckets": ["landing"],
            "event_types": [{"key": "{type}/**"}],
            "routes": [{"name": "teams", "queues_tagged": "printed-kind", "unmatched": "tagged-nobody"}],
        }
    )
    policy, call = (part.text for part in subscription(config, config.routes[0], ACCOUNT, "tagged-team", ["orders"]))
    url = cloud.queue("tagged-team", Policy=policy)
    words = shlex.split(call)
    cloud.sqs.tag_queue(QueueUrl=url, Tags=json.loads(words[words.index("--tags") + 1]))
    destinations = Destinations(config, cloud.aws, lambda: "lake-id", ObjectStore(cloud.s3))
    route = config.routes[0]
    (name,) = destinations.tagged_queues(route).names_with_value("orders")
    assert destinations.queue(route, name).send([Outgoing("m1", "orders", "g", 1, "{}")]) == []
    assert [message["Body"] for message in cloud.drain(url)] == ["{}"]
