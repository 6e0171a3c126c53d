"""Rows of a row queue's messages, the objects that are made of them, and the configuration of such a queue."""

from __future__ import annotations

import itertools
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.bronze import decide
from tidegate.platform.bronze.prepare.load.repeated_messages import drop_repeated_messages
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.events.row_queue import LATEST, Row, RowObject, RowOrigin, parse_row_key, row_of, spans
from tidegate.platform.core.routing.route import NoRoute, route, rows_route
from tidegate.platform.intake import row_objects
from tidegate.platform.intake.row_objects import write_row_objects
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.message import Message

ORIGIN = RowOrigin("m1", 1_700_000_000_123)
OURS = '{"_message_id":"m1","_sent_at":"2023-11-14T22:13:20.123Z"'
BEFORE = """lake: {root: s3://my-lake/lake}
queues: [{name: events}]
buckets: [landing]
tables:
"""
CLICKS = "  - {name: clicks, row_queue: {name: clicks-rows, dlq: clicks-dead}}\n"


def line(body: str) -> str:
    return row_of(body, ORIGIN).line


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ('{"a": 1}', ',"a": 1}'),
        ('{"a":12345678901234567890.10,"b":1E400,"c":0.1}', ',"a":12345678901234567890.10,"b":1E400,"c":0.1}'),
        (f'{{"a":{"9" * 5000}}}', f',"a":{"9" * 5000}}}'),
        ('\ufeff \r\n{\r\n  "a": "x\\ny",\n  "ü": {}\n}\n', ', "a": "x\\ny", "ü": {} }'),
        ("{}", "}"),
        ("{ }", " }"),
        ('{"_": "_message_id"}', ',"_": "_message_id"}'),
    ],
)
def test_a_body_keeps_its_text_behind_our_two_columns(body: str, rest: str) -> None:
    found = line(body)
    assert re.sub(r"\s+", " ", found) == re.sub(r"\s+", " ", OURS + rest)
    assert "\n" not in found
    assert "\r" not in found


@pytest.mark.parametrize("before", ["\ufeff\ufeff", "\ufeff \ufeff", " \ufeff", "\ufeff\ufeff\ufeff", "\u00a0", "\x0b"])
def test_of_what_comes_before_a_row_only_one_mark_and_spaces_of_json_are_removed(before: str) -> None:
    with pytest.raises(ValueError, match="the row is not JSON"):
        line(f'{before}{{"a":1}}')


@given(st.text(st.sampled_from("\ufeff \t\r\n\x0b\u00a0{}")), st.text(st.sampled_from("\ufeff \t\r\n\x0b\u00a0{}")))
def test_whatever_is_around_an_object_its_line_is_one_object_or_there_is_none(before: str, after: str) -> None:
    try:
        found = line(f'{before}{{"a":1}}{after}')
    except ValueError:
        return
    assert found == f'{OURS},"a":1}}'


@given(st.dictionaries(st.text(max_size=3), st.none() | st.booleans() | st.integers() | st.text(max_size=5)))
def test_every_object_says_as_a_line_what_it_said(members: dict[str, Any]) -> None:
    for body in (json.dumps(members), json.dumps(members, indent=1, ensure_ascii=False)):
        try:
            found = json.loads(line(body))
        except ValueError:
            assert any("\ud800" <= letter <= "\udfff" for name in members for letter in f"{name}{members[name]}")
        else:
            assert found == {"_message_id": "m1", "_sent_at": "2023-11-14T22:13:20.123Z", **members}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "the row is not JSON: "),
        ('{"a": 1', "the row is not JSON: "),
        ('{"a": 1} {"a": 2}', "the row is not JSON: "),
        ('{"a": NaN}', "the row is not JSON: NaN is not a JSON number"),
        ('{"a": "x\ny"}', "the row is not JSON: "),
        ("[1]", "the row is JSON but not an object"),
        ("7", "the row is JSON but not an object"),
        ('{"a":' * 100_000, "the row is nested too deeply"),
        ('{"_Message_ID": 1}', "its member _Message_ID has the name of a column"),
        ('{"_sent_at": 1}', "its member _sent_at has the name of a column"),
        ('{"a": "\ud800"}', "surrogates not allowed"),
    ],
)
def test_what_is_not_a_row_says_why(body: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        line(body)


def test_a_message_without_a_time_is_not_a_row() -> None:
    for sent_at in (0, -1, 10**18):
        with pytest.raises(ValueError, match="which is not a time"):
            row_of("{}", RowOrigin("m", sent_at))


TOPIC = "arn:aws:sns:eu-west-1:123456789012:t"
ENVELOPE = {"Type": "Notification", "TopicArn": TOPIC, "MessageId": "n1", "Timestamp": "2023-11-14T22:13:20.500Z",
            "Message": '{"price": 1.10}'}  # fmt: skip


def received(body: str, topic: str | None = TOPIC, first: RowOrigin | None = None, later: int = 0) -> Row:
    found = Message("m1", body, "r", ORIGIN.sent_at + later, first).with_identity(topic)
    return row_of(found.body, found.origin)


def test_a_publication_of_the_queue_s_topic_has_the_identity_that_sns_gave_it() -> None:
    # SNS may deliver it twice, as two messages of SQS at two times.
    for later in (0, 900):
        found = received(json.dumps(ENVELOPE), later=later)
        assert found.origin == RowOrigin("n1", 1_700_000_000_500)
        assert found.line == '{"_message_id":"n1","_sent_at":"2023-11-14T22:13:20.500Z","price": 1.10}'
    with pytest.raises(ValueError, match="confirm the subscription"):
        received(json.dumps({**ENVELOPE, "Type": "SubscriptionConfirmation"}))
    for time in ("yesterday", "0001-01-01T00:00:00"):
        with pytest.raises(ValueError, match="not a time"):
            received(json.dumps({**ENVELOPE, "Timestamp": time}))
    # A row with such a member is still a row.
    assert received('{"TopicArn": "x", "Type": "y"}').line.endswith('"TopicArn": "x", "Type": "y"}')


@pytest.mark.parametrize(
    ("topic", "reason"),
    [(None, "add `topic` to its `row_queue` and redrive the message"), (f"{TOPIC}2", "only that topic may publish")],
)
def test_an_envelope_of_a_topic_that_lake_yaml_does_not_name_is_not_a_row(topic: str | None, reason: str) -> None:
    with pytest.raises(ValueError, match=f"envelope of the SNS topic '{TOPIC}'.*{reason}"):
        received(json.dumps(ENVELOPE), topic)


_NAMES = st.sampled_from([*ENVELOPE, "Records", "tidegate-message-id", "id"])
_BODIES = st.builds(
    lambda forged, own: json.dumps({**forged, **own}),
    st.just(ENVELOPE) | st.just({}),
    st.dictionaries(_NAMES, st.sampled_from([*ENVELOPE.values(), "{}", 7, None, "9998-01-01T00:00:00Z"]), max_size=4),
)


@given(_BODIES, st.sampled_from([None, TOPIC, "x"]))
def test_whatever_its_body_says_a_message_keeps_the_identity_that_it_carries(body: str, topic: str | None) -> None:
    carried = RowOrigin("billing:order-17", ORIGIN.sent_at - 5, ORIGIN.sent_at - 7)
    found = received(body, topic, carried)
    assert found.origin == carried
    assert json.loads(found.line).items() >= json.loads(body).items()


@given(_BODIES)
def test_without_a_topic_no_body_gives_a_row_another_identity_than_sqs_s(body: str) -> None:
    try:
        found = received(body, None)
    except ValueError:
        return  # It is an envelope.
    assert found.origin == ORIGIN


def test_a_time_counts_up_to_a_day_after_the_message_came() -> None:
    day = 86_400_000
    for late in (2 * day, 10**14):
        with pytest.raises(ValueError, match="a day after it came to SQS or later"):
            received("{}", None, RowOrigin("shop:1", ORIGIN.sent_at + late))
    with pytest.raises(ValueError, match="a day after it came to SQS or later"):
        received(json.dumps({**ENVELOPE, "Timestamp": "9998-01-01T00:00:00Z"}))
    # A row that is sent again keeps its time; how far back an equal one may be is bounded by what webhooks have.
    old = RowOrigin("shop:1", ORIGIN.sent_at - 400 * day, 0)
    assert received("{}", None, old).origin == RowOrigin("shop:1", old.sent_at, old.sent_at - 31 * day)
    assert received("{}", None, RowOrigin("shop:1", ORIGIN.sent_at + day)).origin.sent_at == ORIGIN.sent_at + day


def test_an_object_s_name_says_what_it_holds() -> None:
    row_object = RowObject(3, ORIGIN.sent_at, ORIGIN.sent_at + 5)
    key = row_object.new_key("lake/rows/clicks/", row_object.first)
    assert key.startswith("lake/rows/clicks/2023-11-14/")
    assert (RowObject.from_key(key), parse_row_key(key)) == (row_object, row_object)
    assert RowObject.from_key("lake/rows/clicks/x.jsonl") is None
    assert parse_row_key("x.jsonl").first < row_object.first < row_object.last < parse_row_key("x.jsonl").last


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 100)), max_size=80))
def test_spans_hold_every_time_and_are_few(times: list[tuple[int, int]]) -> None:
    objects = [RowObject(1, first, first + more) for first, more in times]
    found = spans(objects)
    assert len(found) <= 32
    assert all(any(first <= rows.first and rows.last <= last for first, last in found) for rows in objects)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(found))
    assert {first for first, _ in found} <= {rows.first for rows in objects}


@given(st.text(max_size=20), st.integers(1, LATEST - 1))
def test_our_members_are_those_that_json_and_datetime_write(message_id: str, sent_at: int) -> None:
    time = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=sent_at)).isoformat(timespec="milliseconds")
    members = {"_message_id": message_id, "_sent_at": time.replace("+00:00", "Z")}
    ours = json.dumps(members, separators=(",", ":"))
    assert row_of("{}", RowOrigin(message_id, sent_at)).line == ours


def test_of_too_many_spans_the_nearest_are_joined() -> None:
    far = [RowObject(1, hour * 1000, hour * 1000 + 1) for hour in range(40)]
    found = spans([*far, RowObject(1, 3, 4)])
    assert len(found) == 32
    assert (0, 4) in found or found[0][0] == 0


class Objects:
    """An S3 that records each put."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}

    def put(self, bucket: str, key: str, body: bytes) -> None:
        assert bucket == "my-lake"
        self.bodies[key] = body


def config(tmp_path: Path, tables: str = CLICKS) -> LakeConfig:
    path = tmp_path / "lake.yaml"
    path.write_text(BEFORE + tables)
    return load_lake(path, {})


def messages(*sent: int, body: str = '{"a": 1}') -> list[Message]:
    return [Message(f"m{i}", body, f"r{i}", ORIGIN.sent_at + offset) for i, offset in enumerate(sent)]


def test_good_rows_do_not_wait_for_bad_ones(tmp_path: Path) -> None:
    (table,) = config(tmp_path).tables
    objects = Objects()
    bad = Message("bad", "{ no JSON", "r", 7, RowOrigin("first", 5))
    intake = write_row_objects([bad, *messages(20, 10)], table, objects)  # type: ignore[arg-type]
    assert (intake.received, intake.counters) == (3, {"malformed": 1})
    (reject,) = intake.rejects
    assert (reject.event_id, reject.raw, reject.origin) == ("bad#0", "{ no JSON", RowOrigin("first", 5))
    ((key, body),) = objects.bodies.items()
    assert [json.loads(row)["_message_id"] for row in body.decode().splitlines()] == ["m1", "m0"]
    ((hint,),) = intake.hints.values()
    assert (hint.key, hint.size, hint.event_time) == (key, len(body), "2023-11-14T22:13:20.133+00:00")
    assert RowObject.from_key(key) == RowObject(2, ORIGIN.sent_at + 10, ORIGIN.sent_at + 20)
    only_bad = write_row_objects([bad], table, objects)  # type: ignore[arg-type]
    assert (only_bad.hints, len(objects.bodies)) == ({}, 1)


def test_an_object_names_the_times_at_which_equal_messages_may_have_come(tmp_path: Path) -> None:
    """Without a webhook's message, these are the times of its messages. Its folder and its hint are of the first."""
    (table,) = config(tmp_path).tables
    day = 86_400_000
    webhook = RowOrigin("shop:1", ORIGIN.sent_at + 50, ORIGIN.sent_at + 50 - 4 * day)
    hook = Message("m9", "{}", "r", webhook.sent_at, webhook)
    ((hint,),) = write_row_objects([*messages(20, 10), hook], table, Objects()).hints.values()  # type: ignore[arg-type]
    assert RowObject.from_key(hint.key) == RowObject(3, webhook.sent_at - 4 * day, webhook.sent_at + 300_000)
    assert hint.key.startswith("lake/rows/clicks/2023-11-14/")
    assert hint.event_time == "2023-11-14T22:13:20.133+00:00"


def test_objects_are_bounded_in_rows_bytes_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = config(tmp_path).tables

    def counts(found: list[Message]) -> list[int]:
        intake = write_row_objects(found, table, Objects())  # type: ignore[arg-type]
        return [parse_row_key(hint.key).rows for hints in intake.hints.values() for hint in hints]

    day = 24 * 3_600_000
    assert counts(messages(0, 1, 5 * day, 5 * day + 3_600_000)) == [2, 2]
    monkeypatch.setattr(row_objects, "_MAX_ROWS", 2)
    assert counts(messages(0, 1, 2, 3, 4)) == [2, 2, 1]
    monkeypatch.setattr(row_objects, "_MAX_BYTES", len(line('{"a": 1}')) + 1)
    assert counts(messages(0, 1, 2)) == [1, 1, 1]
    assert counts(messages(0, 1, body='{"a": "longer than it may be"}')) == [1, 1]
    monkeypatch.setattr(row_objects, "_MAX_ROWS", 10)
    wide = '{"a": "\U0001f30a"}'
    monkeypatch.setattr(row_objects, "_MAX_BYTES", 2 * len(line(wide)) + 1)
    assert counts(messages(0, 1, body=wide)) == [1, 1], "bytes, not characters"


@pytest.mark.parametrize("dies", ["object", "hints", "copy", "log"])
def test_messages_are_deleted_after_their_rows_are_kept(tmp_path: Path, dies: str) -> None:
    """A tick that dies before object, manifest, quarantined message and log are all written deletes nothing."""
    done: list[str] = []

    def do(what: str) -> str:
        if what == dies:
            raise ConnectionError(what)
        done.append(what)
        return f"s3://{what}"

    store = SimpleNamespace(
        objects=SimpleNamespace(put=lambda *_: do("object")),
        table_births=dict,
        inbox=SimpleNamespace(put=lambda manifests: do("hints")),
        quarantine=SimpleNamespace(keep_message=lambda *_: do("copy")),
        intake_log=SimpleNamespace(put=lambda *_: do("log")),
    )
    received = [*messages(0), Message("bad", "", "r", 1)]
    queue = SimpleNamespace(
        name="clicks-rows", drain=lambda **_: (chunk for chunk in [received]), delete=lambda _: do("delete")
    )
    lake: Any = SimpleNamespace(config=config(tmp_path), queues=[queue], store=store)
    assert str(take_in(lake).failures["clicks-rows"]) == dies
    assert done == ["object", "hints", "copy", "log"][: len(done)]
    assert dies == ["object", "hints", "copy", "log"][len(done)]


def test_a_table_of_a_row_queue_is_below_the_lake_root(tmp_path: Path) -> None:
    lake = config(tmp_path, CLICKS + "  - {name: files, prefix: s3://landing/files/}\n")
    clicks, _ = lake.tables
    assert (clicks.prefix, clicks.registers) == ("s3://my-lake/lake/rows/clicks/", False)
    assert [queue.name for queue in lake.every_queue] == ["events", "clicks-rows"]
    assert (lake.table_of_rows("clicks-rows"), lake.table_of_rows("events")) == (clicks, None)
    key = RowObject(1, 5, 6).new_key(clicks.table_key.prefix, 5)
    # To an event, such an object is a file of Tidegate itself, like everything below the root.
    event = route("my-lake", key, lake, set())
    assert isinstance(event, NoRoute)
    assert event.outcome == "own_file"
    found = rows_route("my-lake", key, lake)
    assert found
    assert (found.table, found.spec.format, found.spec.mode) == (clicks.table_key, "json", "load")
    assert rows_route("my-lake", f"{clicks.table_key.prefix}put-here-by-hand.jsonl", lake) is None
    assert rows_route("landing", "files/x.json", lake) is None
    assert LakeConfig.model_validate(lake.model_dump(by_alias=True, exclude_defaults=True)) == lake


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ("  - {name: a, row_queue: {name: events}}\n", "tables[0].row_queue: the queue 'events' is also in `queues`"),
        (
            CLICKS + "  - {name: b, row_queue: {name: clicks-rows}}\n",
            "tables[1].row_queue: 'clicks-rows' is also of the row",
        ),
        ("  - {name: a, row_queue: {name: q}, prefix: s3://landing/a/}\n", "tables[0].prefix: the rows of a row queue"),
        ("  - {name: a, row_queue: {name: q}, format: json}\n", "tables[0].format: the rows of a row queue are JSON"),
        ("  - {name: a, row_queue: {name: q}, mode: load}\n", "tables[0].mode: the rows of a row queue are JSON"),
        ("  - {name: a, row_queue: {name: q}, csv: {}}\n", "tables[0].csv: the rows of a row queue are JSON"),
        (
            "  - {name: a, row_queue: {name: q}, partition_columns: {d: date}}\n",
            "tables[0].partition_columns: the rows",
        ),
        ("  - {name: a, row_queue: {name: q}, columns: {_Sent_At: date}}\n", "tables[0].columns: _Sent_At is a column"),
        ("  - {name: a, row_queue: {name: q.fifo}}\n", "tables[0].row_queue: a row queue is a standard queue"),
        ("  - {name: a, row_queue: {}}\n", "tables[0].row_queue: give exactly one of url and name"),
        ("  - {name: a}\n", "tables[0].prefix: is missing"),
        (CLICKS + "  - {name: clicks, prefix: s3://landing/a/}\n", "tables[1].name: 'clicks' is also the name of"),
    ],
)
@pytest.mark.limit(
    "Events and AWS",
    "A row queue is a standard queue for one table, no FIFO queue, and its messages are JSON.",
)
def test_what_lake_yaml_must_not_say_of_a_row_queue(tmp_path: Path, tables: str, problem: str) -> None:
    with pytest.raises(LakeConfigError) as raised:
        config(tmp_path, tables)
    (line,) = raised.value.problems
    assert problem in line


@pytest.mark.parametrize(
    ("n", "before", "sent", "until"),
    [(1, None, [(5, 7), (2, 9)], 9), (2, 100, [(5, 7)], 100), (3, 100, [(90, 120)], 120), (3, 100, [], 100)],
)
def test_a_batch_says_how_new_the_rows_up_to_it_may_be(
    n: int, before: int | None, sent: list[tuple[int, int]], until: int
) -> None:
    keys = [RowObject(1, first, last).new_key("rows/clicks/", first) for first, last in sent]
    prepared = PreparedBatch(rows=[LedgerRow(key, Status.COMMITTED, rows=0) for key in keys])
    batches = SimpleNamespace(read=lambda asked: {n - 1: SimpleNamespace(sent_until=before)}[asked])
    work: Any = SimpleNamespace(n=n, birth=SimpleNamespace(location="s3a://lake/clicks"))
    nothing: Any = None
    drop_repeated_messages(nothing, nothing, batches, work, prepared, nothing)  # type: ignore[arg-type]
    assert prepared.sent_until == until


@pytest.mark.parametrize("last", [None, SimpleNamespace(sent_until=None), SimpleNamespace(sent_until=LATEST)])
def test_a_time_to_come_is_never_in_a_batch_for_longer_than_a_few_days(last: Any) -> None:
    """Of a batch that says no time, every row counts as known. An object of another writer says none either."""
    now = datetime.now(UTC).timestamp() * 1000
    for until in (_until(last), _until(SimpleNamespace(sent_until=5), "rows/clicks/put-by-hand.jsonl")):
        assert until
        assert now < until < now + 3 * 86_400_000


@pytest.mark.parametrize(("row_queue", "until"), [(True, 77), (False, None)])
def test_a_batch_that_brings_no_rows_has_the_time_of_the_batch_before(row_queue: bool, until: int | None) -> None:
    """As one that forgets persons."""
    table: Any = SimpleNamespace(
        spec=SimpleNamespace(row_queue=row_queue),
        batches=SimpleNamespace(read=lambda n: SimpleNamespace(sent_until=77) if n == 4 else None),
    )
    assert decide._last_sent_time(table.spec, table.batches, SimpleNamespace(n=5), PreparedBatch()) == until  # type: ignore[arg-type]
    assert decide._last_sent_time(table.spec, table.batches, SimpleNamespace(n=5), PreparedBatch(sent_until=90)) == 90  # type: ignore[arg-type]


def _until(last: Any, *keys: str) -> int | None:
    prepared = PreparedBatch(rows=[LedgerRow(key, Status.COMMITTED, rows=0) for key in keys])
    batches: Any = SimpleNamespace(read=lambda _: last)
    nothing: Any = None
    work: Any = SimpleNamespace(n=2, birth=SimpleNamespace(location=""))
    drop_repeated_messages(nothing, nothing, batches, work, prepared, nothing)
    return prepared.sent_until
