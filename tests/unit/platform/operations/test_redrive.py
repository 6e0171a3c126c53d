"""Redrive: what it selects, how fast it is, and that its files and messages take the ordinary ways."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import PlannedHint, make_plan
from tidegate.platform.core.config.event_types import EventTypeRule
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.events.s3_event import parse_body
from tidegate.platform.core.routing.event_type import EventTypes, text_attributes
from tidegate.platform.intake.message_routing import parse_messages, route_events
from tidegate.platform.intake.store_and_delete import store_and_delete
from tidegate.platform.lake.aws.message import received_message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Quarantined, Reading
from tidegate.platform.operations import redrive
from tidegate.platform.operations.redrive import (
    Choice,
    RedriveRequest,
    message_from_body,
    quarantined_messages,
    quarantined_objects,
    redrive_messages,
    redrive_objects,
)

ORDERS = "landing.orders"
STATES = {
    "orders/refused.csv": LastState(Status.COMMITTED, "e1", 3),
    "orders/bad.csv": LastState(Status.QUARANTINED, "e1", 4),
    "orders/moved.csv": LastState(Status.MOVED, "e1", 4),
    "orders/restored.csv": LastState(Status.REMOVED, "e1", 4),
}
READINGS = [
    Reading("orders/moved.csv", "e1", 10, 1, None, 10, None),
    Reading("orders/moved.csv", "e0", 10, 2, None, 10, None),
    Reading("orders/restored.csv", "e1", 10, 2, None, 10, None),
]
ROUTED = LakeConfig.model_validate(
    {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "events"}], "buckets": ["landing"]}
)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.fixture
def lake() -> Any:
    sent: list[str] = []
    return SimpleNamespace(
        config=ROUTED,
        store=LakeStore(Objects(), "s3://lake/root"),  # type: ignore[arg-type]
        table=lambda table_key: SimpleNamespace(
            spec=SimpleNamespace(max_files=100),
            ledger=SimpleNamespace(
                clock=lambda: (4, 5),
                memory=lambda version, n, keys: (None, STATES),
                committed_readings=lambda version: READINGS,
            ),
        ),
        queues=[SimpleNamespace(name="events", send=lambda body, attributes: sent.append(body))],
        sent=sent,
    )


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        (Choice(), True),
        (Choice(reason="NOT gzip"), True),
        (Choice(reason="empty"), False),
        (Choice(key="orders/2026/*.csv"), True),
        (Choice(key="*.parquet"), False),
        (Choice(since=NOON), True),
        (Choice(until=NOON), False),
        (Choice(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 1, 3, tzinfo=UTC)), True),
    ],
)
def test_each_selection_finds_what_it_names(choice: Choice, meant: bool) -> None:
    assert choice.includes("orders/2026/a b.csv", "its name ends in .gz, but it is not gzip", NOON) == meant


def test_a_file_that_a_rebuild_refused_is_read_again_in_the_place_of_its_rows(lake: Any) -> None:
    """Its rows are in the table, so a hint that only asked for a new decision would change nothing."""
    found = [Quarantined(key, "read again, and refused", NOON) for key in STATES]
    redrive_objects(lake, ORDERS, found, RedriveRequest("somebody"))
    ids = [manifest.id for manifest in lake.store.inbox.waiting_manifests(ORDERS)]
    taken = [
        PlannedHint(hint, manifest.id)
        for manifest in lake.store.inbox.table_inbox(ORDERS).read(ids)
        for hint in manifest.hints
    ]
    assert [item.hint.decides_again for item in taken] == [True] * len(STATES)
    plan = make_plan(taken, dict.fromkeys(STATES, S3Found("e1", 10, 1)), STATES, registered=False)
    assert {candidate.key: candidate.replaces for candidate in plan.candidates} == {
        "orders/refused.csv": 3,
        "orders/bad.csv": None,
        "orders/moved.csv": 1,
        "orders/restored.csv": 2,
    }


def test_objects_become_hints_at_the_rate_that_was_asked_for(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Quarantined(f"orders/{i}.csv", "bad", NOON) for i in range(250)]
    slept: list[float] = []

    def go() -> str:
        return redrive_objects(lake, ORDERS, found, RedriveRequest("somebody", rate=50, sleep=slept.append))

    go()
    waiting = lake.store.inbox.waiting_manifests(ORDERS)
    hints = [
        hint
        for manifest in lake.store.inbox.table_inbox(ORDERS).read([manifest.id for manifest in waiting])
        for hint in manifest.hints
    ]
    assert [manifest.hints for manifest in waiting] == [50] * 5
    assert slept == [1.0] * 4
    assert {hint.key for hint in hints} == {item.key for item in found}
    assert all(hint.decides_again and hint.event_id is None for hint in hints)
    (entry,) = lake.store.operations.entries()
    assert (entry["operation"], entry["by"], entry["table"], entry["objects"]) == ("redrive", "somebody", ORDERS, 250)
    assert sorted(entry["manifests"]) == sorted(manifest.id for manifest in waiting)
    # The log of operations records the redrive even if the run dies right after.
    with dying_in(redrive, "redrive-log"):
        go()
    assert len(list(lake.store.operations.entries())) == 2
    assert len(lake.store.inbox.waiting_manifests(ORDERS)) == 5
    # A run that dies after its first manifest leaves objects in quarantine. Repeated, it puts all of them again.
    with dying_in(redrive, "redrive-manifest"):
        go()
    assert len(lake.store.inbox.waiting_manifests(ORDERS)) == 6
    go()
    assert len(lake.store.inbox.waiting_manifests(ORDERS)) == 11


def test_messages_leave_the_quarantine_after_they_were_sent(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = lake.store.quarantine.keep_message
    keep("m1#0", "{ no JSON", "the body is not JSON")
    keep("m2#1", "?", "the body is not JSON")
    keep("m3#0", "[]", "no object")

    def go() -> None:
        redrive_messages(lake, quarantined_messages(lake.store.quarantine, choice), RedriveRequest("somebody", choice))

    choice = Choice(reason="not json")
    with dying_in(redrive, "redrive-sent"):
        go()
    assert lake.sent == ["{ no JSON"]
    assert len(quarantined_messages(lake.store.quarantine, choice)) == 2, "sent, and perhaps once more: never lost"
    go()
    assert lake.sent == ["{ no JSON", "{ no JSON", "?"]
    assert [message.event_id for message in quarantined_messages(lake.store.quarantine, Choice())] == ["m3#0"]
    assert len(list(lake.store.objects.list_under("lake", "root/quarantine/redriven/"))) == 2


def test_a_message_of_events_goes_back_with_its_attributes_so_that_its_events_get_the_same_type(lake: Any) -> None:
    """From the receive to the next one: a rule reads an attribute, and a route sends by its type."""
    typing = EventTypes((EventTypeRule.model_validate({"attribute": "kind"}),))
    given = {
        "kind": {"DataType": "String", "StringValue": "orders", "StringListValues": [], "BinaryListValues": []},
        "raw": {"DataType": "Binary.x", "BinaryValue": b"\xff\x00", "BinaryListValues": []},
    }
    received = [{"MessageId": "m", "Body": "{ no JSON", "ReceiptHandle": "r", "MessageAttributes": given}]
    messages = list(map(received_message, received))
    intake = route_events(parse_messages(messages), ROUTED, set())
    store_and_delete(
        SimpleNamespace(config=ROUTED, store=lake.store),  # type: ignore[arg-type]
        SimpleNamespace(name="events", delete=len),  # type: ignore[arg-type]
        messages,
        intake,
    )
    client: Any = SimpleNamespace(send_message=lambda **entry: sent.append(entry))
    sent: list[dict[str, Any]] = []
    lake.queues[0] = Queue(client, "https://sqs.example/1/events")
    redrive_messages(lake, quarantined_messages(lake.store.quarantine, Choice()), RedriveRequest("somebody"))
    (again,) = sent
    assert again["MessageAttributes"] == {
        "kind": {"DataType": "String", "StringValue": "orders"},
        "raw": {"DataType": "Binary.x", "BinaryValue": b"\xff\x00"},
    }
    texts = [text_attributes(found, typing.attributes) for found in (given, again["MessageAttributes"])]
    assert [typing.find_type("any", text) for text in texts] == [typing.find_type("any", texts[0])] * 2
    # What is released stays what it was.
    (kept,) = (body for key, body in lake.store.objects.bodies.items() if "/redriven/" in key)
    assert json.loads(kept)["attributes"]["raw"] == {"DataType": "Binary.x", "BinaryValue": "/wA="}


def test_a_message_that_sqs_does_not_take_stays_and_the_others_are_sent(lake: Any) -> None:
    """Also, only one body is in memory at a time."""
    log: list[str] = []
    for number in range(3):
        lake.store.quarantine.keep_message(f"m{number}#0", f"body {number}", "the body is not JSON")
    code = "InvalidMessageContents"

    def send(body: str, attributes: Any) -> None:
        if body == "body 1":
            raise ClientError({"Error": {"Code": code, "Message": "no such character"}}, "SendMessage")
        lake.sent.append(body)

    lake.queues[0].send = send
    found = quarantined_messages(lake.store.quarantine, Choice())
    assert [message.body for message in found] == ["", "", ""]
    redrive_messages(lake, found, RedriveRequest("somebody", log=log.append))
    assert lake.sent == ["body 0", "body 2"]
    assert [message.event_id for message in quarantined_messages(lake.store.quarantine, Choice())] == ["m1#0"]
    assert log[0].startswith("m1#0 stays in quarantine because SQS refuses it: ")
    assert log[-1] == "2 of 3 messages were sent again"
    code = "AccessDenied"
    with pytest.raises(ClientError):
        redrive_messages(lake, quarantined_messages(lake.store.quarantine, Choice()), RedriveRequest("somebody"))


def test_many_kept_messages_are_read_a_few_at_a_time(lake: Any) -> None:
    for number in range(100):
        lake.store.quarantine.keep_message(f"m{number:03}#0", "?", "the body is not JSON")
    read = lake.store.objects.get
    asked: list[str] = []
    lake.store.objects.get = lambda bucket, key: asked.append(key) or read(bucket, key)
    messages = lake.store.quarantine.messages()
    assert next(messages).event_id == "m000#0"
    assert len(asked) <= 32
    assert len(list(messages)) == 99


def test_a_row_queue_s_message_goes_back_to_its_queue_as_what_it_was(lake: Any) -> None:
    again: list[tuple[str, RowOrigin]] = []
    lake.queues.append(SimpleNamespace(name="clicks", send=lambda *given: again.append(given)))
    keep, first, log = lake.store.quarantine.keep_message, RowOrigin("first", 17), []
    webhook = RowOrigin("shop:1", 17, 5)
    keep("m1#0", "{ no JSON", "the row is not JSON", "clicks", first)
    keep("m2#0", "?", "the row is not JSON", "a queue of no table any more", first)
    keep("m3#0", "?", "the body is not JSON", "events")
    keep("m4#0", "{ no JSON", "the row is not JSON", "clicks", webhook)
    redrive_messages(
        lake, quarantined_messages(lake.store.quarantine, Choice()), RedriveRequest("somebody", log=log.append)
    )
    assert (again, lake.sent) == ([("{ no JSON", first), ("{ no JSON", webhook)], ["?"])
    assert [message.event_id for message in quarantined_messages(lake.store.quarantine, Choice())] == ["m2#0"]
    assert "1 messages of a queue of no table any more stay in quarantine" in log[0]
    (entry,) = lake.store.operations.entries()
    assert (entry["queue"], len(entry["messages"])) == ("clicks, events", 3)
    # A sent message is kept as a copy, with its origin.
    (kept,) = [body for key, body in lake.store.objects.bodies.items() if key.endswith("redriven/m1-0.json")]
    assert json.loads(kept)["row"] == {"queue": "clicks", "message_id": "first", "sent_at": 17}


@pytest.mark.parametrize("with_events", [False, True])
def test_messages_of_events_never_go_to_a_row_queue(lake: Any, *, with_events: bool) -> None:
    rows: list[Any] = []
    log: list[str] = []
    lake.config = LakeConfig.model_validate(
        {
            **ROUTED.model_dump(by_alias=True, exclude_unset=True),
            "tables": [{"name": "c", "row_queue": {"name": "clicks"}}],
        }
    )
    clicks = SimpleNamespace(name="clicks", send=lambda *given, **more: rows.append(given))
    lake.queues = [clicks, *lake.queues] if with_events else [clicks]
    lake.store.quarantine.keep_message("m1#0", '{"a": 1}', "an unknown envelope", "events")
    redrive_messages(
        lake, quarantined_messages(lake.store.quarantine, Choice()), RedriveRequest("somebody", log=log.append)
    )
    assert (rows, lake.sent) == ([], ['{"a": 1}'] if with_events else [])
    assert [kept.event_id for kept in quarantined_messages(lake.store.quarantine, Choice())] == (
        [] if with_events else ["m1#0"]
    )
    stays = "1 messages with S3 events stay in quarantine: lake.yaml has no queue of events"
    assert (stays in log) is not with_events


TOPIC = "arn:aws:sns:eu-west-1:123456789012:t"
ENVELOPE = {"Type": "Notification", "TopicArn": TOPIC, "MessageId": "n1", "Timestamp": "2023-11-14T22:13:20.500Z",
            "Message": '{"a": 1}'}  # fmt: skip


@pytest.mark.parametrize("topic", [None, TOPIC])
def test_an_envelope_in_quarantine_is_opened_once_its_topic_is_named(lake: Any, topic: str | None) -> None:
    again: list[Any] = []
    log: list[str] = []
    lake.queues.append(SimpleNamespace(name="clicks", send=lambda body, first: again.append((body, first))))
    lake.config = SimpleNamespace(
        table_of_rows=lambda name: SimpleNamespace(row_queue=SimpleNamespace(topic=topic)) if name == "clicks" else None
    )
    came, carried = RowOrigin("m1", 1_700_000_000_900), RowOrigin("shop:1", 1_700_000_000_000)
    for event_id, origin in (("m1#0", came), ("m2#0", carried)):
        lake.store.quarantine.keep_message(event_id, json.dumps(ENVELOPE), "an envelope", "clicks", origin)
    redrive_messages(
        lake, quarantined_messages(lake.store.quarantine, Choice()), RedriveRequest("somebody", log=log.append)
    )
    # What a sender of webhooks wrote is never opened.
    opened = [('{"a": 1}', RowOrigin("n1", 1_700_000_000_500))] if topic else []
    assert again == [*opened, (json.dumps(ENVELOPE), carried)]
    assert [message.event_id for message in quarantined_messages(lake.store.quarantine, Choice())] == (
        [] if topic else ["m1#0"]
    )
    assert topic or any("m1#0 stays in quarantine" in line and "add `topic`" in line for line in log)


def test_a_record_that_was_cut_out_of_its_notification_is_one_again() -> None:
    def record(key: str) -> dict[str, Any]:
        return {
            "eventSource": "aws:s3",
            "eventName": "ObjectCreated:Put",
            "eventTime": "2026-01-02T03:04:05.000Z",
            "s3": {"bucket": {"name": "landing"}, "object": {"key": key}},
        }

    good = record("orders/a.csv")
    bad = {**good, "s3": {"bucket": {}, "object": {"key": "orders/b.csv"}}}
    (reject,) = parse_body(json.dumps({"Records": [good, bad]}), "m").rejects
    # The reader finds the same problem when it reads the record again, and no other.
    (again,) = parse_body(message_from_body(reject.raw), "n").rejects
    assert again.reason == reject.reason
    assert [event.key for event in parse_body(message_from_body(json.dumps(good)), "n").events] == ["orders/a.csv"]
    assert message_from_body("{ no JSON") == "{ no JSON"


def test_objects_of_before_an_adoption_are_chosen_by_key_only() -> None:
    found = [Quarantined("orders/a.parquet", "bad", NOON), Quarantined("orders/b.parquet", "old", NOON, unlogged=True)]
    ledger = SimpleNamespace(clock=lambda: (1, 1), quarantined_objects=lambda version: found)
    lake: Any = SimpleNamespace(table=lambda _: SimpleNamespace(ledger=ledger))
    for key, chosen in (("*", ["a"]), ("**", ["a"]), ("*.parquet", ["a"]), ("?*", ["a"]), ("orders/*", ["a", "b"])):
        objects = quarantined_objects(lake, ORDERS, Choice(key=key))
        assert [item.key for item in objects] == [f"orders/{name}.parquet" for name in chosen], key
