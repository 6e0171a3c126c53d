"""The process of the intake and of the forwarding dies by SIGKILL at each of its seams, and is started again."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.forwarding_process import opened, run_to_the_end, run_until_killed
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.lake_root.outbox import Lane
from tidegate.platform.local.aws import REGION, LocalAws

TYPES = ("orders", "clicks", "returns")
#: Events that are in the outbox before the process starts, in objects of this size, and events in the lake's queue.
OBJECTS, SIZE, QUEUED = 3, 12, 24


class Scene:
    """A lake with routes of all kinds, and the queues that they fill.

    Args:
        aws: reaches the local AWS.
    """

    def __init__(self, aws: Aws) -> None:
        self.aws, self.name = aws, uuid.uuid4().hex[:8]
        self.sqs = aws.client("sqs")
        self.events = self._queue("events", VisibilityTimeout="3")
        topic = aws.client("sns").create_topic(Name=f"topic-{self.name}")["TopicArn"]
        for bucket in ("lake", "landing"):
            aws.client("s3").create_bucket(Bucket=f"{bucket}-{self.name}")
        tag = f"type-{self.name}"
        self.queues = {
            "topic": self._queue("topic"),
            "ordered": self._queue("ordered.fifo", FifoQueue="true"),
            **{name: self._queue(name, tags={tag: "orders"}) for name in ("tag1", "tag2")},
            "nobody": self._queue("nobody"),
        }
        arn = f"arn:aws:sqs:{REGION}:000000000000:topic-{self.name}"
        aws.client("sns").subscribe(
            TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"}
        )
        self.config: dict[str, Any] = {
            "lake": {"root": f"s3://lake-{self.name}/root"},
            "queues": [{"name": f"events-{self.name}"}],
            "buckets": [f"landing-{self.name}"],
            "intake": {"threads": 1, "seconds": 4},  # several threads would receive in any order
            "tables": [
                {"name": kind, "prefix": f"s3://landing-{self.name}/events/{kind}/", "mode": "load"} for kind in TYPES
            ],
            "event_types": [{"key": "events/{type}/**"}],
            "routes": [
                {"name": "topic", "topic": topic, "types": ["clicks", "returns"]},
                {"name": "ordered", "queue": {"name": f"ordered-{self.name}.fifo"}, "group": "table"},
                {"name": "tags", "queues_tagged": tag, "unmatched": f"nobody-{self.name}"},
            ],
        }
        self.lake = opened(self.config, aws)
        self.sent: list[str] = []

    def _queue(self, name: str, tags: dict[str, str] | None = None, **attributes: str) -> str:
        stem, dot, ending = name.partition(".")
        full = f"{stem}-{self.name}{dot}{ending}"
        return str(self.sqs.create_queue(QueueName=full, Attributes=attributes, tags=tags or {})["QueueUrl"])

    def send(self, number: int) -> None:
        """Let events happen."""
        for _ in range(number):
            key = f"events/{TYPES[len(self.sent) % len(TYPES)]}/{len(self.sent):04}.json"
            place = {"bucket": {"name": f"landing-{self.name}"}, "object": {"key": key, "size": 1}}
            body = json.dumps({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": place}]})
            self.sqs.send_message(QueueUrl=self.events, MessageBody=body)
            self.sent.append(key)

    def waits_in_a_lane(self) -> None:
        """Let an event wait in the lane of a tagged queue, so that later events have to follow it there."""
        key = f"events/orders/{len(self.sent):04}.json"
        body = json.dumps({"Records": [{"s3": {"object": {"key": key}}}]})
        waiting = Outgoing("waits", "orders", "g", 1, body, f"tag1-{self.name}")
        self.lake.store.outbox.put([(Lane("tags", f"tag1-{self.name}"), [waiting])])

    def expected(self) -> dict[str, list[str]]:
        """Return the keys whose events each queue has to get, as the routes say it in words."""
        of = {name: [key for key in self.sent if key.split("/")[1] == name] for name in TYPES}
        others = sorted(of["clicks"] + of["returns"])
        orders = sorted(of["orders"])
        return {
            "topic": others,
            "ordered": sorted(self.sent),
            "tag1": sorted([*orders, f"events/orders/{len(self.sent):04}.json"]),
            "tag2": orders,
            "nobody": others,
        }

    def got(self) -> dict[str, list[str]]:
        """Return the keys of the events in each queue, in the order in which the queue gives them."""
        return {name: self._drain(url) for name, url in self.queues.items()}

    def _drain(self, url: str) -> list[str]:
        keys: list[str] = []
        while messages := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                (record,) = json.loads(message["Body"])["Records"]
                keys.append(record["s3"]["object"]["key"])
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return keys

    def hinted(self) -> set[str]:
        """Return the keys of all hints in the inbox."""
        inbox = self.lake.store.inbox
        found = [inbox.table_inbox(table) for table in inbox.tables()]
        return {
            hint.key
            for table in found
            for manifest in table.read([waiting.id for waiting in table.waiting_manifests()])
            for hint in manifest.hints
        }


@pytest.fixture
def scene(local_aws: LocalAws) -> Scene:
    given = {"region_name": REGION, "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return Scene(Aws(endpoint_url=local_aws.endpoint, **given))


@pytest.mark.parametrize("seam", ["intake-stored", "forward-sent", "forward-moved"])
def test_the_process_is_killed_at_a_seam_and_every_destination_gets_its_events_in_order(
    seam: str, scene: Scene, tmp_path: Path
) -> None:
    for _ in range(OBJECTS if seam != "intake-stored" else 0):
        scene.send(SIZE)
        assert take_in(scene.lake, patience=1).received == SIZE
    scene.send(QUEUED)
    scene.waits_in_a_lane()
    run_until_killed(scene.config, scene.aws, seam, tmp_path / "marker")
    run_to_the_end(scene.config, scene.aws)
    got, expected = scene.got(), scene.expected()
    assert {name: sorted(set(keys)) for name, keys in got.items()} == expected, "an event is lost, or at a wrong place"
    for kind in TYPES:
        own = [key for key in got["ordered"] if key.split("/")[1] == kind]
        assert own == [key for key in scene.sent if key.split("/")[1] == kind], "order within a group"
    assert all(max(Counter(keys).values()) <= 2 for keys in got.values()), "one death repeats an event once"
    assert scene.hinted() == set(scene.sent)
