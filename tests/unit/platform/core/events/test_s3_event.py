"""Bodies of SQS messages: a corpus that follows AWS's documentation (tests/unit/data/bodies), and the accounting."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.events import s3_event
from tidegate.platform.core.events.s3_event import ParsedBody, S3Event, parse_body

BODIES = Path(__file__).parents[3] / "data" / "bodies"


def parsed(name: str) -> ParsedBody:
    return parse_body((BODIES / f"{name}.json").read_text(encoding="utf-8"), "m1")


def test_an_s3_notification() -> None:
    assert parsed("s3_put").events == [
        S3Event(
            bucket="landing",
            key="flights/year=2013/month=1/part-0.parquet",
            event_name="ObjectCreated:Put",
            event_time=datetime(2024, 5, 1, 10, 0, 0, 123000, tzinfo=UTC),
            size=1024,
            etag="d41d8cd98f00b204e9800998ecf8427e",
            version_id="096fKKXTRTtl3on89fVO.nfljtsv6qko",
            sequencer="0055AED6DCD90281E5",
            event_id="m1#0",
        )
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "s3_multipart_and_put",
            [("ObjectCreated:Put", "m1#0"), ("ObjectCreated:CompleteMultipartUpload", "m1#1")],
        ),
        (
            "s3_removed",
            [
                ("ObjectRemoved:Delete", "m1#0"),
                ("ObjectRemoved:DeleteMarkerCreated", "m1#1"),
                ("LifecycleExpiration:Delete", "m1#2"),
            ],
        ),
        ("s3_restore_completed", [("ObjectRestore:Completed", "m1#0")]),
        ("s3_moto", [("ObjectCreated:Put", "m1#0")]),
        ("s3_ministack", [("ObjectCreated:Put", "m1#0")]),
        ("s3_minio", [("ObjectCreated:Put", "m1#0")]),
        ("s3_record_alone", [("ObjectCreated:Put", "m1#0")]),
        ("s3_without_source", [("ObjectCreated:Put", "m1#0")]),
        ("s3_bom", [("ObjectCreated:Put", "m1#0")]),
        ("sns_s3_put", [("ObjectCreated:Put", "m1#0")]),
        ("eventbridge_created", [("ObjectCreated:PutObject", "m1#0")]),
        ("sns_eventbridge_created", [("ObjectCreated:PutObject", "m1#0")]),
        ("eventbridge_deleted", [("ObjectRemoved:DeleteMarkerCreated", "m1#0")]),
        ("eventbridge_expired", [("LifecycleExpiration:Delete", "m1#0")]),
        ("eventbridge_restored", [("ObjectRestore:Completed", "m1#0")]),
    ],
)
def test_names_and_ids(name: str, expected: list[tuple[str, str]]) -> None:
    body = parsed(name)
    assert [(event.event_name, event.event_id) for event in body.events] == expected
    assert (body.tests, body.rejects) == (0, [])


def test_a_record_is_read_alone_without_its_source_and_behind_a_byte_order_mark() -> None:
    assert parsed("s3_record_alone") == parsed("s3_without_source") == parsed("s3_bom") == parsed("s3_put")


def test_topics_that_pass_on_what_others_sent_change_nothing() -> None:
    inner = (BODIES / "sns_s3_put.json").read_text(encoding="utf-8")
    outer = json.dumps({"Type": "Notification", "TopicArn": "arn:aws:sns:x", "Message": inner})
    assert parse_body(outer, "m1") == parse_body(inner, "m1")
    for _ in range(9):
        outer = json.dumps({"Type": "Notification", "TopicArn": "arn:aws:sns:x", "Message": outer})
    (reject,) = parse_body(outer, "m1").rejects
    assert reject.reason.startswith("an SNS notification inside 4 others: ")


def test_sns_changes_nothing() -> None:
    assert parsed("sns_s3_put") == parsed("s3_put")
    assert parsed("sns_eventbridge_created") == parsed("eventbridge_created")


def test_notification_keys_are_decoded() -> None:
    assert [event.key for event in parsed("s3_encoded_keys").events] == [
        "in/red flower+one.csv",
        "in/100%/ü🦆.json",
        "in//b[1].json",
        "in/moto/x.csv",
    ]


def test_eventbridge_keys_are_taken_as_they_are() -> None:
    (event,) = parsed("eventbridge_created").events
    assert event.key == "in/red flower+one 100%.csv"
    assert (event.version_id, event.sequencer) == ("IYV3p45BT0ac8hjHg1houSdS1a.Mro8e", "617f08299329d189")
    assert (event.size, event.etag) == (5, "b1946ac92492d2347c6235b4d2611184")


def test_what_is_absent_is_none() -> None:
    (moto,) = parsed("s3_moto").events
    assert (moto.version_id, moto.sequencer) == (None, None)
    assert parsed("s3_unversioned").events[0].version_id is None
    removed = parsed("s3_removed").events[0]
    assert (removed.size, removed.etag) == (None, None)


@pytest.mark.parametrize("name", ["s3_test_event", "sns_s3_test_event"])
def test_the_test_event_is_counted(name: str) -> None:
    assert parsed(name) == ParsedBody(tests=1)


def test_good_records_survive_bad_neighbours() -> None:
    body = parsed("bad_good_record_among_bad")
    assert [(event.key, event.event_id) for event in body.events] == [("in/good.csv", "m1#1")]
    assert {reject.event_id: reject.reason for reject in body.rejects} == {
        "m1#0": "the object key 'in/%ff.csv' is not UTF-8 when decoded: invalid start byte",
        "m1#2": "the object key 'in/50%.csv' has a broken percent escape at position 5",
        "m1#3": "the record's eventSource is 'aws:ses', not aws:s3",
        "m1#4": "the event has no readable s3.bucket.name",
        "m1#5": "the event has no readable s3.object.key",
        "m1#6": "the record's s3 is missing",
        "m1#7": "the record is not an object",
        "m1#8": "the record is missing",
    }
    assert json.loads(body.rejects[2].raw)["eventSource"] == "aws:ses"
    assert body.received == 9


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bad_not_json", "the body is not JSON: Expecting value"),
        ("bad_empty", "the body is not JSON: Expecting value"),
        ("bad_truncated", "the body is not JSON"),
        ("bad_array", "the body is JSON but not an object"),
        ("bad_text", "the body is JSON but not an object"),
        ("bad_no_records", "Records is not a list with at least one record"),
        ("bad_records_object", "Records is not a list with at least one record"),
        ("bad_unknown", "an unknown envelope (it has customer, orderId)"),
        ("bad_sns_subscription", "an SNS message of type 'SubscriptionConfirmation'"),
        ("bad_sns_text", "the Message of the SNS notification is not JSON"),
        ("bad_sns_no_message", "an SNS notification without a Message"),
        ("bad_sns_other_event", "an unknown envelope (it has alarm)"),
        ("bad_eventbridge_ec2", "an EventBridge event of source 'aws.ec2', not aws.s3"),
        (
            "bad_eventbridge_cloudtrail",
            "CloudTrail's record of the call 'PutObject', which EventBridge passes on, not an S3 event: turn "
            "EventBridge on in the bucket's notification settings",
        ),
        (
            "bad_cloudtrail_records",
            "the record's eventSource is 's3.amazonaws.com', not aws:s3: a record of CloudTrail",
        ),
        ("bad_lambda_sqs", "the record's eventSource is 'aws:sqs', not aws:s3: SQS messages as Lambda is given them"),
        ("bad_lambda_destination", "what a Lambda function's destination receives about a call, not an S3 event"),
        ("bad_sqs_receive", "the answer of an SQS receive, not an S3 event"),
        ("bad_record_without_source", "the record's eventSource is None, not aws:s3"),
        ("bad_eventbridge_no_key", "the event has no readable detail.object.key"),
    ],
)
def test_what_is_not_an_event_is_rejected_with_its_reason(name: str, reason: str) -> None:
    body = parsed(name)
    (reject,) = body.rejects
    assert reject.reason.startswith(reason)
    assert reject.event_id == "m1#0"
    assert (body.events, body.tests) == ([], 0)


def test_a_rejected_body_is_kept_whole() -> None:
    (reject,) = parsed("bad_not_json").rejects
    assert reject.raw == (BODIES / "bad_not_json.json").read_text(encoding="utf-8")


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"Records":' * 100_000,
        '{"a": 1' + "0" * 5000 + "}",
        f'{{"Type": {DEEP}, "TopicArn": 1}}',
        f'{{"Records": [{{"eventSource": {DEEP}}}]}}',
        f'{{"source": {DEEP}, "detail-type": 1}}',
        f'{{"source": "aws.s3", "detail-type": {DEEP}, "detail": {{}}}}',
        json.dumps({"x" * 200_000: 1}),
        json.dumps({"Records": [{"eventSource": "x" * 200_000}]}),
        json.dumps(
            {"Records": [{"eventSource": "aws:s3", "s3": {"bucket": {"name": "b"}, "object": {"key": "%" * 99_999}}}]}
        ),
    ],
    ids=range(10),
)
def test_bodies_that_upset_a_parser_are_rejected_in_a_short_sentence(body: str) -> None:
    (reject,) = parse_body(body, "m").rejects
    assert len(reject.reason) < 1_000


def test_of_many_records_that_are_not_events_few_are_kept_while_they_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    whole = s3_event.Reject.__post_init__

    def count(self: s3_event.Reject) -> None:
        made.append(self.event_id)
        whole(self)

    monkeypatch.setattr(s3_event.Reject, "__post_init__", count)
    good = json.dumps(json.loads((BODIES / "s3_put.json").read_text(encoding="utf-8"))["Records"][0])
    found = parse_body('{"Records":[' + "1," * 100_000 + good + "]}", "m")
    (reject,) = found.rejects
    assert (reject.records, reject.event_id, len(found.events), found.received) == (100_000, "m#0", 1, 100_001)
    assert "100000 of its 100001 records are not events" in reject.reason
    assert len(made) < 50


@pytest.mark.parametrize("body", ['{"\\ud800x":1}', '{"Records":[{"eventSource":"\\udfff"}]}', "\ud800"])
def test_half_a_surrogate_pair_can_be_written_down(body: str) -> None:
    (reject,) = parse_body(body, "m").rejects
    assert "\\ud" in reject.reason + reject.raw
    (reject.reason + reject.raw).encode()


def record(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BODIES / "s3_put.json").read_text(encoding="utf-8"))["Records"][0]
    return found | changes


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-01T10:00:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T10:00:00.5Z", datetime(2024, 5, 1, 10, 0, 0, 500000, tzinfo=UTC)),
        ("2024-05-01T10:00:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T12:00:00+02:00", datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))),
        ("yesterday", None),
        (None, None),
        (17, None),
    ],
)
def test_times(text: object, moment: datetime | None) -> None:
    (event,) = parse_body(json.dumps({"Records": [record(eventTime=text)]}), "m").events
    assert event.event_time == moment


def test_odd_values_do_not_cost_the_event() -> None:
    odd = record(eventName=None)
    odd["s3"]["object"].update(size="12", eTag=17, versionId="\ud800", sequencer=17)
    (event,) = parse_body(json.dumps({"Records": [odd]}), "m").events
    assert (event.event_name, event.size, event.etag) == ("Unknown", None, None)
    assert (event.version_id, event.sequencer) == (None, None)


#: Texts, also with half of a surrogate pair, which JSON can escape and no UTF-8 file can hold.
TEXT = st.text(st.characters(categories=None) | st.sampled_from("\ud800\udfff"), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
GOOD = KEYS.map(lambda key: record(s3={"bucket": {"name": "b"}, "object": {"key": quote_plus(key, safe="/")}}))


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """Draw a good record in which anything replaces one value, at any depth."""
    whole = record()
    part = whole
    while True:
        name = draw(st.sampled_from(sorted(part)))
        if not isinstance(part[name], dict) or draw(st.booleans()):
            part[name] = draw(JSON)
            return whole
        part = part[name]


@given(TEXT | JSON.map(json.dumps))
def test_anything_is_accounted_for_and_can_be_written_down(body: str) -> None:
    found = parse_body(body, "m")
    assert found.received >= 1
    for reject in found.rejects:
        (reject.reason + reject.raw).encode()


@given(st.lists(GOOD | damaged() | JSON, min_size=1, max_size=6), st.booleans())
def test_every_record_is_accounted_for_once(records: list[Any], in_sns: bool) -> None:
    body = json.dumps({"Records": records})
    if in_sns:
        body = json.dumps({"Type": "Notification", "TopicArn": "arn:aws:sns:x", "Message": body})
    found = parse_body(body, "m")
    ids = [event.event_id for event in found.events] + [reject.event_id for reject in found.rejects]
    assert sorted(ids) == sorted(f"m#{index}" for index in range(len(records)))


@given(st.lists(KEYS, min_size=1, max_size=5))
def test_keys_survive_every_envelope(keys: list[str]) -> None:
    notification = json.dumps(
        {
            "Records": [
                record(s3={"bucket": {"name": "b"}, "object": {"key": quote_plus(key, safe="/")}}) for key in keys
            ]
        }
    )
    assert [event.key for event in parse_body(notification, "m").events] == keys
    for key in keys:
        detail = {"bucket": {"name": "b"}, "object": {"key": key}}
        body = json.dumps({"source": "aws.s3", "detail-type": "Object Created", "detail": detail})
        assert [event.key for event in parse_body(body, "m").events] == [key]


def _with(field: str, value: Any) -> str:
    item = {"key": "a.csv", "size": 1, "eTag": "e", "versionId": "v", "sequencer": "s"}
    record = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "eventTime": "2026-01-02T03:04:05Z"}
    (record if field in record else item)[field] = value
    return json.dumps({"Records": [{**record, "s3": {"bucket": {"name": "b"}, "object": item}}]})


def _from_eventbridge(field: str, value: Any) -> str:
    item = {"key": "a.csv", "size": 1, "etag": "e", "version-id": "v", "sequencer": "s"}
    event = {"source": "aws.s3", "detail-type": "Object Created", "time": "2026-01-02T03:04:05Z"}
    detail = {"bucket": {"name": "b"}, "object": item, "reason": "PutObject"}
    next(part for part in (event, detail, item) if field in part)[field] = value
    return json.dumps({**event, "detail": detail})


_LONGEST = {"etag": 128, "version_id": 1024, "sequencer": 64}
_FIELDS = {"eTag": "etag", "versionId": "version_id", "version-id": "version_id"}


@pytest.mark.parametrize(
    ("made", "field"),
    [
        *((_with, field) for field in ("eTag", "versionId", "sequencer")),
        *((_from_eventbridge, field) for field in ("etag", "version-id", "sequencer")),
    ],
)
def test_a_text_beyond_its_bound_counts_as_absent(made: Callable[[str, Any], str], field: str) -> None:
    name = _FIELDS.get(field, field)
    for length, found in ((_LONGEST[name], True), (_LONGEST[name] + 1, False), (1 << 20, False)):
        (event,) = parse_body(made(field, "x" * length), "m1").events
        assert getattr(event, name) == ("x" * length if found else None)


@pytest.mark.parametrize("made", [_with, _from_eventbridge])
def test_a_size_fits_into_63_bits_or_counts_as_absent(made: Callable[[str, Any], str]) -> None:
    for size, found in ((0, 0), (2**63 - 1, 2**63 - 1), (2**63, None), (10**4000, None), (-1, None), (True, None)):
        (event,) = parse_body(made("size", size), "m1").events
        assert event.size == found


def test_a_name_beyond_its_bound_is_unknown() -> None:
    for body in (_with("eventName", "s3:" + "x" * 65), _from_eventbridge("reason", "x" * 60)):
        assert [event.event_name for event in parse_body(body, "m1").events] == ["Unknown"]
    (event,) = parse_body(_with("eventName", "s3:" + "x" * 64), "m1").events
    assert event.event_name == "x" * 64


@pytest.mark.parametrize("source", ["evil:s3", "x", 1, ["aws:s3"], {}])
def test_events_are_of_the_services_that_are_known(source: Any) -> None:
    body = json.loads(_with("size", 1))
    body["Records"][0]["eventSource"] = source
    parsed = parse_body(json.dumps(body), "m1")
    assert (parsed.events, len(parsed.rejects)) == ([], 1)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_body_that_has_a_member_twice_is_not_an_event(wrapped: bool) -> None:
    """It is forwarded as it is, and another consumer may take the other member."""
    body = _with("size", 1)
    twice = f"{body[:-1]}, {_with('key', 'b.csv')[1:]}"
    if wrapped:
        twice = json.dumps({"Type": "Notification", "TopicArn": "arn:aws:sns:x", "Message": twice})
    (reject,) = parse_body(twice, "m1").rejects
    assert "has the member 'Records' twice" in reject.reason
