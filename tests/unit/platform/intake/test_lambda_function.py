"""What the function of AWS Lambda makes of the records that it is given."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tests.unit.platform.intake.test_tick import LAKE, ORDERS, body, record
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.intake import lambda_function
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.lambda_function import take_records
from tidegate.platform.intake.message_taking import MessageTaking
from tidegate.platform.lake.aws.message import Message, received_message
from tidegate.platform.lake.lake_root.store import LakeStore

ARN = "arn:aws:sqs:eu-west-1:123456789012:events"


@pytest.fixture
def lake() -> Any:
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    return SimpleNamespace(config=LAKE, queues=[], store=store, id="lake")


def given(id: str, text: str, **more: Any) -> dict[str, Any]:
    sent = {"SentTimestamp": "1700000000000"}
    return {"messageId": id, "receiptHandle": "r", "body": text, "attributes": sent, "eventSourceARN": ARN, **more}


def hints(lake: Any) -> list[str]:
    inbox, table = lake.store.inbox, ORDERS.encode()
    ids = [waiting.id for waiting in inbox.waiting_manifests(table)]
    return sorted(hint.key for manifest in inbox.table_inbox(table).read(ids) for hint in manifest.hints)


def test_its_events_become_hints_and_what_has_no_table_is_logged(lake: Any) -> None:
    events = [record("orders/a.json"), record("orders/b.json"), record("c.json", bucket="strange")]
    records = [given(str(place), body(event)) for place, event in enumerate(events)]
    assert take_records(lake, [*records, given("m", "no event")]) == []
    assert hints(lake) == ["orders/a.json", "orders/b.json"]
    (entry,) = lake.store.intake_log.entries()
    assert entry.counters["malformed"] == 1
    assert {event.queue for event in entry.unrouted} == {"events"}


def test_messages_that_are_not_taken_stay_in_their_queue(
    lake: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = MessageTaking.route_messages

    def without_b(
        self: MessageTaking, queue: str, messages: Sequence[Message]
    ) -> tuple[Sequence[Message], IntakeResult]:
        taken, intake = whole(self, queue, [message for message in messages if message.id != "b"])
        intake.left = ["b stays"]
        return taken, intake

    monkeypatch.setattr(MessageTaking, "route_messages", without_b)
    records = [given(id, body(record(f"orders/{id}.json"))) for id in ("a", "b", "c")]
    assert take_records(lake, records) == ["b"]
    assert capsys.readouterr().out == "b stays\n"
    assert hints(lake) == ["orders/a.json", "orders/c.json"]
    monkeypatch.setattr(lambda_function, "_lake", lambda: SimpleNamespace(open=lambda: lake))
    answer = lambda_function.lambda_handler({"Records": records}, None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "b"}]}


def test_a_batch_that_is_not_stored_fails_whole(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("S3 is away")

    monkeypatch.setattr(lake.store.objects, "put", refuse)
    with pytest.raises(OSError, match="S3 is away"):
        take_records(lake, [given("a", body(record("orders/a.json")))])


def test_a_queue_that_lake_yaml_does_not_have_is_refused(lake: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"the queue other, and lake\.yaml has events: add it there"):
        take_records(lake, [given("a", "{}", eventSourceARN=f"{ARN[:-6]}other")])


def test_a_record_is_the_message_that_sqs_gives() -> None:
    attributes = {
        "tidegate-message-id": {"stringValue": "first", "dataType": "String", "stringListValues": []},
        "tidegate-sent-at": {"stringValue": "7", "dataType": "String"},
        "lake": {"binaryValue": base64.b64encode(b"\x00\xff").decode(), "dataType": "Binary"},
        "not-asked": {"stringValue": "x", "dataType": "String"},
    }
    sqs = {
        "tidegate-message-id": {"StringValue": "first", "DataType": "String"},
        "tidegate-sent-at": {"StringValue": "7", "DataType": "String"},
        "lake": {"BinaryValue": b"\x00\xff", "DataType": "Binary"},
    }
    item = {
        "MessageId": "a",
        "Body": "text",
        "ReceiptHandle": "r",
        "Attributes": {"SentTimestamp": "1700000000000"},
        "MessageAttributes": sqs,
    }
    message = lambda_function._message_of(given("a", "text", messageAttributes=attributes), list(sqs))
    assert message == received_message(item)
    assert message.attributes == sqs
    assert message.first is not None
