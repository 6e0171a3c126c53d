"""What a verified delivery becomes: its text, its identity, or the reason why it is not a row; and a sender's rate."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.events.row_queue import RowOrigin, row_of
from tidegate.platform.core.webhook.delivery import Delivery, delivery_of
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import Received, Scheme
from tidegate.platform.core.webhook.schemes import scheme_of
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.webhook.application import RateLimit

NOW = 1_700_000_000
DAY = 86_400_000
SUBSCRIPTION = {"Type": "SubscriptionConfirmation", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "MessageId": "n1",
                "Timestamp": "2023-11-14T22:13:20.500Z", "Message": "confirm"}  # fmt: skip


def genuine(name: str) -> Scheme:
    """Return the scheme, which believes every request."""
    return replace(scheme_of(name, "x-key"), verify=lambda received, secrets: None)


def delivered(name: str, body: str | bytes, at: float = NOW, **headers: str) -> Delivery:
    raw = body if isinstance(body, bytes) else body.encode(errors="surrogatepass")
    named = {header.replace("_", "-"): value for header, value in headers.items()}
    return delivery_of(genuine(name), "shop", Received(named, raw, at), ("s",), 4)


def why(name: str, body: str | bytes, **headers: str) -> str:
    with pytest.raises(Refusal) as caught:
        delivered(name, body, **headers)
    assert caught.value.reason is Reason.NO_ROW
    assert caught.value.problem()["status"] == 400
    return caught.value.detail


def test_nothing_is_read_before_the_signature_is_right() -> None:
    with pytest.raises(Refusal) as caught:
        delivery_of(scheme_of("github", ""), "shop", Received({"x-hub-signature-256": "no"}, b"[", NOW), ("s",), 4)
    assert caught.value.reason is Reason.SIGNATURE


@pytest.mark.parametrize(
    ("name", "body", "headers", "id"),
    [
        ("standard", "{}", {"webhook_id": "msg_1"}, "msg_1"),
        (
            "github",
            "{}",
            {"x_github_delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
            "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        ),
        ("shopify", "{}", {"x_shopify_webhook_id": "b54557e4"}, "b54557e4"),
        ("secret", "{}", {"webhook_id": "a"}, "a"),
    ],
)
def test_an_id_of_a_header_identifies_the_row_however_late_it_comes_again(
    name: str, body: str, headers: dict[str, str], id: str
) -> None:
    first, again = (delivered(name, body, at, **headers).origin for at in (NOW, NOW + 3 * 86_400))
    assert first == RowOrigin(f"shop:{id}", NOW * 1000, NOW * 1000 - 4 * DAY)
    assert again.message_id == first.message_id
    assert again.earliest <= first.sent_at <= again.latest


@pytest.mark.parametrize(
    ("name", "body", "id", "time"),
    [
        ("stripe", {"id": "evt_1", "created": NOW - 9}, "evt_1", NOW - 9),
        ("slack", {"event_id": "Ev1", "event_time": NOW - 5}, "Ev1", NOW - 5),
    ],
)
def test_a_time_in_the_body_is_that_of_the_row_and_needs_no_search(
    name: str, body: dict[str, object], id: str, time: int
) -> None:
    first, again = (delivered(name, json.dumps(body), at).origin for at in (NOW, NOW + 40 * 86_400))
    assert first == again == RowOrigin(f"shop:{id}", time * 1000)
    assert first.earliest == first.latest == first.sent_at


@pytest.mark.parametrize("time", ["1", None, True, 0, -1, 1.5, 10**400])
def test_without_a_time_in_the_body_the_arrival_counts(time: object) -> None:
    assert delivered("stripe", json.dumps({"id": "evt_1", "created": time})).origin == RowOrigin(
        "shop:evt_1", NOW * 1000, NOW * 1000 - 4 * DAY
    )


def test_an_event_of_the_future_is_refused() -> None:
    assert "created is a time after tomorrow" in why("stripe", json.dumps({"id": "e", "created": NOW + 86_401}))


@pytest.mark.parametrize("body", ['{"a": 1}', '{"id": 7, "a": 1}', '{"id": ""}'])
def test_without_an_id_the_body_identifies_the_row(body: str) -> None:
    hashed = hashlib.sha256(body.encode()).hexdigest()
    assert delivered("stripe", body).origin.message_id == f"shop:sha256:{hashed}"
    assert delivered("github", body).origin.message_id == f"shop:sha256:{hashed}"


@pytest.mark.parametrize("id", ["a b", "é", "a\n", "x" * 201])
def test_an_id_that_no_attribute_can_carry_is_refused(id: str) -> None:
    assert "1 to 200 visible characters" in why("standard", "{}", webhook_id=id)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "the row is not JSON"),
        ('{"a": 1', "the row is not JSON"),
        ("[1]", "the row is JSON but not an object"),
        ('"x"', "the row is JSON but not an object"),
        (b"\xff", "the body is not UTF-8"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"_message_id": 1}', "its member _message_id has the name of a column"),
    ],
)
def test_what_is_not_a_row_says_why(body: str | bytes, reason: str) -> None:
    assert reason in why("github", body)


@pytest.mark.parametrize("kind", ["SubscriptionConfirmation", "Notification"])
def test_a_body_that_looks_like_an_envelope_is_a_row_of_its_sender(kind: str) -> None:
    body = {**SUBSCRIPTION, "Type": kind, "MessageId": "billing:order-17", "Message": '{"amount": 0}'}
    found = delivered("github", json.dumps(body), x_github_delivery="d1")
    sent = Message("m1", found.text, "r", NOW * 1000, found.origin).with_identity(body["TopicArn"])
    assert (sent.body, sent.origin, found.origin.message_id) == (json.dumps(body), found.origin, "shop:d1")
    row = row_of(sent.body, sent.origin)
    assert row.origin == found.origin
    assert json.loads(row.line) == {"_message_id": "shop:d1", "_sent_at": "2023-11-14T22:13:20.000Z", **body}


def test_a_form_says_how_to_get_json() -> None:
    detail = why("github", "payload=%7B%7D", content_type="application/x-www-form-urlencoded")
    assert "set application/json for the webhook" in detail
    assert "set application/json" not in why("github", "x", content_type="application/json; charset=utf-8")


@given(
    st.dictionaries(st.text(max_size=3), st.none() | st.booleans() | st.integers() | st.text(max_size=9), max_size=4)
)
def test_the_message_is_a_row_of_the_same_members_that_sqs_can_take(members: dict[str, object]) -> None:
    for body in (json.dumps(members), json.dumps(members, ensure_ascii=False)):
        try:
            found = delivered("slack", body)
        except (Refusal, UnicodeEncodeError):
            assert any("\ud800" <= letter <= "\udfff" for letter in f"{members}")
            continue
        assert not {"\ufffe", "\uffff"} & set(found.text)
        row = json.loads(row_of(found.text, found.origin).line)
        assert row == {"_message_id": found.origin.message_id, "_sent_at": row["_sent_at"], **members}


def test_a_body_with_a_byte_order_mark_and_huge_numbers_keeps_its_digits() -> None:
    digits = "9" * 5000
    assert delivered("stripe", '\ufeff{"id": "e", "a": ' + digits + "}").text == '{"id": "e", "a": ' + digits + "}"


@pytest.mark.parametrize("scheme", ["github", "stripe"])
def test_a_body_with_two_byte_order_marks_is_not_a_row(scheme: str) -> None:
    for marks in ("\ufeff\ufeff", "\ufeff\ufeff\ufeff", "\ufeff \ufeff"):
        assert "the row is not JSON" in why(scheme, f'{marks}{{"id": "e", "a": 1}}')


def test_slack_s_test_of_an_address_is_answered_and_is_not_a_row() -> None:
    assert delivered("slack", '{"type": "url_verification", "challenge": "3eZb"}').challenge == "3eZb"
    assert delivered("slack", '{"type": "event_callback", "challenge": "3eZb"}').challenge is None
    assert delivered("github", '{"type": "url_verification", "challenge": "3eZb"}').challenge is None


def test_a_rate_lets_bursts_through_and_says_when_to_come_again() -> None:
    limit = RateLimit(2, 0.0)
    assert [limit.take(0.0) for _ in range(20)] == [0.0] * 20
    assert limit.take(0.0) == 0.5
    assert limit.take(0.25) == 0.25
    assert limit.take(0.5) == 0.0
    assert limit.take(1_000.0) == 0.0
    slow = RateLimit(0.01, 0.0)
    assert slow.take(0.0) == 0.0
    assert math.isclose(slow.take(0.0), 100.0)


@given(st.lists(st.floats(-1, 5), max_size=60))
def test_no_order_of_requests_exceeds_the_rate(steps: list[float]) -> None:
    now, taken, limit = 100.0, 0, RateLimit(3, 100.0)
    for step in steps:
        now += step
        taken += limit.take(now) == 0.0
    # A clock that goes back gives nothing; what it gives when it returns is bounded by all of its steps forward.
    forward = sum(step for step in steps if step > 0)
    assert taken <= 30 + 3 * forward + 1
