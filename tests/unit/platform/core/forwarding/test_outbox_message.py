from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.forwarding.message_bodies import Body, inner_body, parts_of, split_in_halves
from tidegate.platform.core.forwarding.outbox_message import (
    MAX_BYTES,
    MAX_MESSAGES,
    OutboxName,
    Outgoing,
    split_into_objects,
)


def outgoing(number: int = 0, body: str = "{}") -> Outgoing:
    return Outgoing(f"m{number}", "orders", "s3://landing/orders/", 1_000 + number, body)


def outgoing_of(id: str, body: str) -> Outgoing:
    return Outgoing(id, None, "s3://landing/orders/", 1, body)


def records(*keys: str) -> str:
    # Spaces and unusual members show whether a body was written again.
    return json.dumps({"x": [1.0], "Records": [{"s3": {"object": {"key": key}}} for key in keys]}, indent=1)


def keys(body: str) -> list[str]:
    return [record["s3"]["object"]["key"] for record in json.loads(body)["Records"]]


def envelope(message: str, number: int, **attributes: str) -> str:
    content: dict[str, Any] = {
        "Type": "Notification",
        "MessageId": f"sns{number}",
        "TopicArn": "arn:aws:sns:eu-central-1:1:a",
        "Timestamp": "2026-01-02T10:00:00Z",
        "Message": message,
        "MessageAttributes": {name: {"Type": "String", "Value": value} for name, value in attributes.items()},
    }
    return json.dumps(content)


def test_a_body_comes_out_of_its_envelopes_unchanged() -> None:
    text = records("a", "b")
    sqs = {"kind": {"DataType": "String", "StringValue": "sqs"}, "own": {"DataType": "String", "StringValue": "o"}}
    assert inner_body(text, "m1", sqs) == Body(text, "m1", sqs)
    nested = envelope(envelope(text, 1, kind="first"), 2, kind="second")
    body = inner_body(nested, "m1", sqs)
    assert (body.text, body.id) == (text, "sns1")
    assert body.attributes["kind"]["Value"] == "first"
    assert set(body.attributes) == {"kind", "own"}


def test_a_body_is_divided_only_if_its_records_differ() -> None:
    body = Body(records("a", "b", "c"), "m1")
    assert [part for _, part in parts_of(body, [0, 1, 2], 3, lambda _: "x")] == [body]
    parts = list(parts_of(body, [0, 1, 2], 3, lambda place: place % 2))
    assert [(place, part.id, keys(part.text)) for place, part in parts] == [
        (0, "m1#0", ["a", "c"]),
        (1, "m1#1", ["b"]),
    ]
    assert json.loads(parts[0][1].text)["x"] == [1.0]
    (left,) = parts_of(body, [1, 2], 3, lambda _: "x")
    assert keys(left[1].text) == ["b", "c"]


def test_a_body_is_halved_down_to_single_records() -> None:
    assert [keys(half) for half in split_in_halves(records("a", "b", "c"))] == [["a"], ["b", "c"]]
    assert (
        split_in_halves(records("a"))
        == split_in_halves('{"detail-type": "Object Created"}')
        == split_in_halves("[]")
        == []
    )


@given(st.text(), st.none() | st.text(), st.text(), st.text())
def test_a_message_of_the_outbox_is_read_as_it_was_written(id: str, type: str | None, body: str, to: str) -> None:
    message = Outgoing(id, type, "s3://landing/x/", 5, body, to)
    line = message.to_json()
    assert "\n" not in line
    assert Outgoing.from_json(line.encode().decode()) == message


@given(st.text(), st.text(), st.text(), st.text())
def test_a_message_with_another_body_is_another_one_whatever_id_its_sender_chose(
    id: str, other_id: str, body: str, other_body: str
) -> None:
    message, same, other = outgoing_of(id, body), outgoing_of(id, body), outgoing_of(other_id, other_body)
    assert message.deduplication_id == same.deduplication_id
    assert (message.deduplication_id == other.deduplication_id) == ((id, body) == (other_id, other_body))
    assert message.deduplication_id != outgoing_of(id, f"{body}x").deduplication_id
    assert message.digest_with("q1") != message.digest_with("q2")


def test_groups_have_names_that_sqs_takes() -> None:
    names = ["s3://landing/orders/", "s3://landing/a b/", "s3://landing/täglich/", f"s3://landing/{'x' * 128}/"]
    groups = [Outgoing("m", None, name, 0, "").group_id for name in names]
    assert groups[0] == names[0]
    assert all(len(group) == 64 for group in groups[1:])
    assert len(set(groups)) == 4


def test_the_name_of_an_object_gives_its_place_count_and_age() -> None:
    name = OutboxName.from_messages([outgoing(5), outgoing(2)])
    assert OutboxName.parse(str(name)) == name
    assert (name.messages, name.oldest) == (2, 1_002)
    left = OutboxName.from_messages([outgoing(5)], name.ulid)
    assert str(left).startswith(f"{name.ulid}-1-")
    assert OutboxName.parse("to") is OutboxName.parse("x.jsonl") is None


def test_an_object_is_bounded_in_messages_and_bytes() -> None:
    many = [outgoing(number) for number in range(2 * MAX_MESSAGES + 1)]
    assert [len(content) for content in split_into_objects(many)] == [MAX_MESSAGES, MAX_MESSAGES, 1]
    large = [outgoing(number, "x" * (MAX_BYTES // 3)) for number in range(7)]
    assert [len(content) for content in split_into_objects(large)] == [3, 3, 1]
    assert [len(content) for content in split_into_objects([outgoing(0, "x" * MAX_BYTES * 2)])] == [1]
