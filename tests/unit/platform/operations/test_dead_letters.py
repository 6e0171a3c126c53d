"""Dead-letter queues in Dagster: their place in the lineage, their checks, and the sensor that reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tests.support.ticks import evaluate
from tests.unit.conftest import PAPER
from tidegate.assets.health.report import HealthReport
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.health.measurement import Health, QueueHealth
from tidegate.platform.definitions import build_definitions
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectGone, StoreError
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations import dead_letters
from tidegate.platform.operations.dead_letters import (
    UNDERSTOOD,
    DeadLetter,
    DeadLetters,
    dead_letter_queues,
    peek,
    redrive_dead_letters,
)
from tidegate.platform.operations.redrive import RedriveRequest
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.health import health_events

QUEUES = [{"name": "events", "dlq": "dead"}, {"url": "https://sqs.example/1/more", "dlq": "dead"}, {"name": "third"}]
CONFIG = LakeConfig.model_validate({**PAPER, "queues": QUEUES})
DEAD, EVENTS = dg.AssetKey(["sqs", "dead"]), dg.AssetKey(["sqs", "events"])


class Sqs:
    """Queues that lose a message when it is received, and record their calls."""

    def __init__(self, **bodies: list[str]) -> None:
        self.bodies, self.asked = bodies, list[str]()

    def get_queue_url(self, **given: str) -> dict[str, str]:
        return {"QueueUrl": f"https://sqs.example/1/{given['QueueName']}"}

    def get_queue_attributes(self, **given: Any) -> dict[str, Any]:
        self.asked.append("attributes")
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "VisibilityTimeout")
        return {"Attributes": {**dict.fromkeys(names, "0"), "VisibilityTimeout": "30"}}

    def receive_message(self, **given: Any) -> dict[str, Any]:
        name = given["QueueUrl"].rpartition("/")[2]
        self.asked.append(f"receive {name}")
        taken, self.bodies[name] = self.bodies.get(name, []), []
        return {"Messages": [{"MessageId": f"m{n}", "Body": b, "ReceiptHandle": f"r{n}"} for n, b in enumerate(taken)]}

    def delete_message_batch(self, **given: Any) -> dict[str, Any]:
        self.asked.append(f"delete {len(given['Entries'])}")
        return {}


def lake(sqs: Sqs) -> Any:
    queues = [Queue(sqs, spec.url or spec.name) for spec in CONFIG.queues]  # type: ignore[arg-type]
    return SimpleNamespace(config=CONFIG, queues=queues, store=LakeStore(Objects(), "s3://lake/root"))  # type: ignore[arg-type]


def event(key: str) -> str:
    s3 = {"bucket": {"name": "landing"}, "object": {"key": key}}
    return json.dumps({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": s3}]})


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(CONFIG, LakeResource(lake_yaml="", spark_remote="sc://127.0.0.1:1", aws=AwsResource()))


def test_a_dead_letter_queue_is_in_the_lineage_behind_its_queue(definitions: dg.Definitions) -> None:
    node = definitions.resolve_asset_graph().get(DEAD)
    assert node.parent_keys == {EVENTS}
    assert not node.child_keys
    assert "tidegate redrive --dlq dead" in (node.description or "")
    assert {check.name for check in node.check_keys} == {"is_empty", "every_event_has_a_table"}


def test_its_consumer_is_off_until_it_is_turned_on(
    definitions: dg.Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turned on, it does what the intake does: it writes hints, copies unreadable messages, and deletes messages."""
    sensor = definitions.resolve_sensor_def("dead_letters")
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED
    sqs = Sqs(dead=[event("orders/a.csv"), "{ no JSON"], events=[event("orders/b.csv")])
    handles = lake(sqs)
    monkeypatch.setattr(LakeResource, "open", lambda self: handles)
    resource = LakeResource(lake_yaml="", spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    with dg.instance_for_test() as instance:
        tick = evaluate("dead_letters", definitions, instance, resource)
    assert tick.skip_message == "took in 2 events of dead letters, 1 of them no table's"
    assert not tick.run_requests, "the intake's next tick asks for them"
    (judged,) = tick.asset_events
    assert isinstance(judged, dg.AssetCheckEvaluation)
    assert (judged.asset_key, judged.check_name, judged.passed) == (DEAD, "every_event_has_a_table", False)
    assert "delete 2" in sqs.asked
    assert "receive events" not in sqs.asked
    inbox = handles.store.inbox.table_inbox("landing.orders")
    (manifest,) = inbox.read([waiting.id for waiting in inbox.waiting_manifests()])
    assert [hint.key for hint in manifest.hints] == ["orders/a.csv"]
    assert [message.body for message in handles.store.quarantine.messages()] == ["{ no JSON"]
    (entry,) = handles.store.intake_log.entries()
    assert [event.queue for event in entry.unrouted] == ["dead"]


def test_the_measurement_has_its_depth_and_for_how_long_without_receiving_from_it() -> None:
    """Each measurement has a line in `results`: the observations, and the results of the check."""
    cursor, results = None, []
    for minute, dead in enumerate([0, 3, 5, None, 5, 0, 0]):
        queues = (QueueHealth("events", 0, 0, dead), QueueHealth("more", 0, 0, 77), QueueHealth("third", 0, 0))
        events, cursor = health_events(HealthReport(Health(1000.0 + 60 * minute, (), queues)), CONFIG, cursor)
        own = [event for event in events if event.asset_key == DEAD]
        seen = [event for event in own if isinstance(event, dg.AssetObservation)]
        judged = [event for event in own if isinstance(event, dg.AssetCheckEvaluation)]
        results.append(
            (
                [(event.metadata["dead_letters"].value, event.metadata["not_empty_seconds"].value) for event in seen],
                [event.passed for event in judged],
            )
        )
    assert results == [
        ([(0, 0)], [True]),
        ([(3, 0)], [False]),
        ([(5, 60)], []),
        ([], []),
        ([(5, 180)], []),
        ([(0, 0)], [True]),
        ([], []),
    ]


def test_each_dead_letter_queue_is_found_once_by_either_name() -> None:
    sqs = Sqs()
    handles = lake(sqs)
    (found,) = dead_letter_queues(handles.config, handles.queues)
    assert (found.source.name, found.queue.url) == ("events", "https://sqs.example/1/dead")
    named = [dead_letter_queues(handles.config, handles.queues, name) for name in ("dead", "events", "more")]
    assert [[pair.queue.name for pair in found] for found in named] == [["dead"]] * 3
    with pytest.raises(ValueError, match=r"'nothing' is neither a queue of lake\.yaml .*: events, dead, more"):
        dead_letter_queues(handles.config, handles.queues, "nothing")


@pytest.mark.parametrize(
    ("body", "keys", "reason"),
    [
        (event("orders/a.csv"), ("orders/a.csv",), "it is understood and has a table now"),
        (event("new/a.csv"), ("new/a.csv",), "it is understood and has a table now"),
        (event("top.csv"), ("top.csv",), "it is in no folder"),
        ("{ no JSON", ("m#0",), "the body is not JSON"),
        ('{"Event":"s3:TestEvent"}', ("m",), "it is understood"),
    ],
)
def test_a_dead_letter_says_what_the_intake_would_say(body: str, keys: tuple[str, ...], reason: str) -> None:
    letter = DeadLetter.from_message(Message("m", body, "r", sent_at=60_000), CONFIG, [])
    assert letter.keys == keys
    assert letter.reason.startswith(reason)
    assert letter.at.isoformat() == "1970-01-01T00:01:00+00:00"


def test_a_message_whose_type_needs_tags_that_s3_refuses_says_so() -> None:
    """The intake leaves it in its queue, so it becomes a dead letter although the message is good."""
    rules = [{"key": "clicks/**", "type": "clicks"}, {"attribute": "kind"}, {"tag": "type"}]
    routes = [{"name": "all", "topic": "arn:aws:sns:eu-west-1:111122223333:all"}]
    handles = lake(Sqs())
    handles.config = LakeConfig.model_validate({**PAPER, "queues": QUEUES, "event_types": rules, "routes": routes})
    asked: list[str] = []

    def tags(bucket: str, key: str) -> dict[str, str]:
        asked.append(key)
        if key.endswith("gone.csv"):
            raise ObjectGone("it is gone")
        if key.endswith("late.csv"):
            raise StoreError("S3 did not answer")
        if key.endswith("secret.csv"):
            raise ObjectForbidden("S3 refuses the tags of s3://landing/orders/secret.csv (403)\nand more")
        return {}

    handles.store.objects.tags = tags
    kind = {"kind": {"DataType": "String", "StringValue": "typed"}}
    messages = [
        Message("secret", event("orders/secret.csv"), "r"),
        Message("typed", event("orders/secret.csv"), "r", attributes=kind),
        *(Message(name, event(f"orders/{name}.csv"), "r") for name in ("good", "gone", "late")),
        Message("key", event("clicks/secret.csv"), "r"),
    ]
    received = iter([messages, []])
    dead = SimpleNamespace(receive=lambda **_: next(received), hide=lambda left, seconds: None)
    letters = peek(handles.config, handles.store, DeadLetters(SimpleNamespace(name="events"), dead), 20)  # type: ignore[arg-type]
    reasons = {letter.message.id: letter.reason for letter in letters}
    assert reasons.pop("secret") == (
        "the type of an event depends on the tags of its object, and S3 refuses them: S3 refuses the tags of "
        "s3://landing/orders/secret.csv (403); allow `s3:GetObjectTagging` (`tidegate policy dagster`)"
    )
    assert set(reasons.values()) == {UNDERSTOOD}
    assert sorted(asked) == ["orders/gone.csv", "orders/good.csv", "orders/late.csv", "orders/secret.csv"]


def test_a_dead_letter_is_deleted_after_it_was_sent_and_only_if_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a death between the two, the letter exists twice, but is not lost. A letter that SQS refuses stays."""
    handles, done = lake(Sqs()), list[str]()
    letters = [Message(f"m{number}", event(f"orders/{number}.csv"), f"r{number}") for number in range(3)]
    received = iter([letters, []] * 2)

    def send(messages: list[Message]) -> dict[str, str]:
        done.extend(f"send {message.id}" for message in messages if message.id != "m1")
        return {message.id: f"new {message.id}" for message in messages if message.id != "m1"}

    queue = SimpleNamespace(
        name="dead",
        depth=lambda: (3, 0),
        receive=lambda **_: next(received),
        delete=lambda gone: done.extend(f"delete {message.id}" for message in gone),
        hide=lambda left, seconds: done.extend(f"give back {message.id}" for message in left),
    )
    pair = DeadLetters(SimpleNamespace(name="events", send_again=send), queue)  # type: ignore[arg-type]

    with dying_in(dead_letters, "redrive-sent"):
        redrive_dead_letters(handles.config, handles.store, pair, RedriveRequest("somebody"))
    assert done == ["send m0", "send m2"]
    next(received)
    done.clear()
    log: list[str] = []
    redrive_dead_letters(handles.config, handles.store, pair, RedriveRequest("somebody", log=log.append))
    assert done == ["send m0", "send m2", "delete m0", "delete m2", "give back m1"]
    assert log[-1].startswith("SQS refused 1 of these. Turn on the sensor `dead_letters`")


def test_what_comes_back_while_it_is_redriven_is_not_sent_a_second_time() -> None:
    """Otherwise, a queue whose consumer fails at once would get the same messages for ever."""
    handles, sent, waiting = lake(Sqs()), list[str](), [Message("m0", event("orders/0.csv"), "r")]

    def send(messages: list[Message]) -> dict[str, str]:
        sent.extend(message.id for message in messages)
        waiting.append(Message(f"again {len(sent)}", messages[0].body, "r"))
        return {message.id: f"again {len(sent)}" for message in messages}

    queue = SimpleNamespace(
        name="dead", depth=lambda: (1, 0), receive=lambda **_: waiting[-1:], delete=lambda _: None, hide=lambda *_: None
    )
    pair = DeadLetters(SimpleNamespace(name="events", send_again=send), queue)  # type: ignore[arg-type]
    redrive_dead_letters(handles.config, handles.store, pair, RedriveRequest("somebody", sleep=lambda _: None))
    assert sent == ["m0"]


def test_a_dead_letter_in_its_topic_s_envelope_leaves_with_the_identity_of_its_publication() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:t"
    envelope = {"Type": "Notification", "TopicArn": topic, "MessageId": "n1", "Timestamp": "2023-11-14T22:13:20.500Z",
                "Message": '{"a": 1}'}  # fmt: skip
    message = Message("m1", json.dumps(envelope), "r", 1_700_000_000_900)
    opened = DeadLetter.from_row_message(message, topic)
    assert (opened.reason, opened.message.body) == (UNDERSTOOD, '{"a": 1}')
    assert (opened.message.first, opened.message.receipt) == (RowOrigin("n1", 1_700_000_000_500), "r")
    other = DeadLetter.from_row_message(message, None)
    assert (other.message, "add `topic`" in other.reason) == (message, True)
    plain = DeadLetter.from_row_message(replace(message, body="{}"), topic)
    assert plain.message.first == RowOrigin("m1", 1_700_000_000_900)
