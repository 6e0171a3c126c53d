"""The pure parts of the intake: routing of messages, choice of tables, backoff after failures."""

from __future__ import annotations

import itertools
import json
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote_plus

import pytest
from botocore.exceptions import ClientError
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.lakes.objects import Objects as InMemory
from tidegate.assets.keys import LakeNames
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.config.lake import DiscoverySpec, LakeConfig
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import NewTables, room_today
from tidegate.platform.core.routing.unrouted_events import Detail, Unrouted
from tidegate.platform.intake import message_routing
from tidegate.platform.intake import tick as intake_tick
from tidegate.platform.intake.due_tables import (
    COLD_BYTES,
    COLD_HINTS,
    COLD_SMALL_HINTS,
    MAX_RUNS,
    MAX_SERVER_RUNS,
    MAX_SHARED_TABLES,
    DueTables,
    assign_runs,
    find_due_tables,
    is_ready,
)
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.message_routing import parse_messages, route_events, route_messages
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.inbox import Backlog
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.sensors.intake.unrouted_report import evaluate_checks
from tidegate.sensors.run_history import backoff_seconds

LAKE = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events"}],
        "buckets": ["landing"],
        "window": 60,
        "max_files": 100,
        "tables": [{"name": "orders", "prefix": "s3://landing/orders/", "window": 5, "max_files": 3}],
    }
)
ORDERS = TableKey("landing", "orders/")


def record(key: str, bucket: str = "landing", name: str = "ObjectCreated:Put") -> dict[str, Any]:
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventTime": "2024-05-01T10:00:00.000Z",
        "eventName": name,
        "s3": {"bucket": {"name": bucket}, "object": {"key": quote_plus(key, safe="/"), "sequencer": "0A"}},
    }


def body(*records: dict[str, Any]) -> str:
    return json.dumps({"Records": list(records)})


def sort(*bodies: str, known: set[TableKey] | None = None) -> IntakeResult:
    received = [Message(f"m{i}", text, f"r{i}") for i, text in enumerate(bodies)]
    return route_events(parse_messages(received), LAKE, set() if known is None else known)


def test_records_of_one_body_go_to_their_tables() -> None:
    intake = sort(
        body(
            record("orders/a b+c.parquet"),
            record("items/x.json"),
            record("orders/d.parquet", name="ObjectRemoved:Delete"),
        )
    )
    assert [(hint.key, hint.event_id, hint.cause.name) for hint in intake.hints[ORDERS]] == [
        ("orders/a b+c.parquet", "m0#0", "ObjectCreated:Put"),
        ("orders/d.parquet", "m0#2", "ObjectRemoved:Delete"),
    ]
    assert [hint.event_time for hint in intake.hints[TableKey("landing", "items/")]] == ["2024-05-01T10:00:00+00:00"]
    assert (intake.received, intake.counters, intake.rejects) == (3, {}, [])


def test_what_is_not_a_table_s_is_counted_with_its_reason() -> None:
    intake = sort(
        json.dumps(
            {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2024-05-01T10:00:00.000Z", "Bucket": "landing"}
        ),
        body(record("orders/_delta_log/0.json"), record("x.parquet", bucket="elsewhere")),
        "no json",
    )
    assert intake.counters == {"test": 1, "own_file": 1, "no_table": 1, "malformed": 1}
    assert intake.received == 4
    assert [(event.event_id, event.outcome, event.subject) for event in intake.unrouted] == [
        ("m1#1", "no_table", S3Address("elsewhere", "x.parquet")),
    ]
    assert all(event.reason for event in intake.unrouted)
    assert [reject.event_id for reject in intake.rejects] == ["m2#0"]


def test_folders_of_one_tick_are_tables_though_one_is_inside_another() -> None:
    for keys in (["a/b/x.parquet", "a/y.parquet"], ["a/y.parquet", "a/b/x.parquet"]):
        known: set[TableKey] = set()
        intake = sort(body(*map(record, keys)), known=known)
        assert known == intake.hints.keys() == {TableKey("landing", "a/b/"), TableKey("landing", "a/")}
        assert intake.counters == {}


BODIES = st.lists(
    st.one_of(
        st.just("{"),
        st.just('{"Event":"s3:TestEvent","Service":"Amazon S3"}'),
        st.lists(
            st.builds(
                record,
                st.sampled_from(["orders/a.parquet", "items/b.csv", "_x", "top.json", "deep/er/k=1/ü+ %.json"]),
                st.sampled_from(["landing", "lake", "elsewhere"]),
            ),
            min_size=1,
            max_size=4,
        ).map(lambda records: body(*records)),
    ),
    max_size=5,
)


@given(BODIES)
def test_every_event_received_is_a_hint_or_counted(bodies: list[str]) -> None:
    intake = sort(*bodies)
    hints = [hint.event_id for hints in intake.hints.values() for hint in hints]
    assert len(hints) + sum(intake.counters.values()) == intake.received
    assert len(set(hints)) == len(hints)
    of = Counter(event.outcome for event in intake.unrouted)
    assert of["no_table"] == intake.counters.get("no_table", 0)
    assert of["own_file"] <= intake.counters.get("own_file", 0), "what commits write is only counted"


class Store:
    """Records what the intake writes."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.objects = Objects()
        self.inbox = self

    def table_births(self) -> dict[str, float | None]:
        return {}

    def put(self, manifests: list[Manifest]) -> None:
        self.keys += [hint.key for manifest in manifests for hint in manifest.hints]


class Sqs:
    """A queue that is never empty, or does not answer."""

    def __init__(self, name: str, fails: bool = False, received: Callable[[], Any] = lambda: None) -> None:
        self.name, self.fails, self._received = name, fails, received
        self.deleted = 0

    def receive_message(self, **_: Any) -> dict[str, Any]:
        self._received()
        if self.fails:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "ReceiveMessage")
        entry = {"MessageId": "m", "Body": body(record(f"orders/{self.name}.json")), "ReceiptHandle": "r"}
        return {"Messages": [entry] * 10}

    def delete_message_batch(self, **given: Any) -> dict[str, Any]:
        self.deleted += len(given["Entries"])
        return {}

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        return {"Attributes": {"VisibilityTimeout": "120"}}


def drain(*clients: Sqs, seconds: float = 60.0) -> tuple[IntakeResult, list[str]]:
    budget = LAKE.intake.model_copy(update={"threads": 1, "events": 300})
    store, config = Store(), LAKE.model_copy(update={"intake": budget})
    queues = [Queue(client, f"https://sqs/1/{client.name}") for client in clients]  # type: ignore[arg-type]
    found = take_in(SimpleNamespace(config=config, queues=queues, store=store), seconds=seconds)  # type: ignore[arg-type]
    return found, store.keys


def test_a_busy_queue_leaves_the_others_their_share() -> None:
    clients = [Sqs(name) for name in "abc"]
    found, keys = drain(*clients)
    assert found.received == 300
    assert Counter(keys) == {"orders/a.json": 100, "orders/b.json": 100, "orders/c.json": 100}
    assert [client.deleted for client in clients] == [100, 100, 100]


def test_a_busy_queue_leaves_the_others_time() -> None:
    _, keys = drain(Sqs("slow"), Sqs("next"), seconds=1e-9)
    assert keys == [], "without time nothing is received"
    clock, both_listen = itertools.count(), threading.Barrier(2)
    now = [0.0]

    def receive_slowly() -> None:
        if not now[0]:
            # A drain that served one queue after the other would wait here for ever.
            both_listen.wait(20)
        now[0] = next(clock) + 1.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.monotonic", lambda: now[0])
        _, keys = drain(Sqs("slow", received=receive_slowly), Sqs("next", received=receive_slowly), seconds=6.0)
    assert set(keys) == {"orders/slow.json", "orders/next.json"}
    assert len(keys) < 300, "the time ended before the events did"


@pytest.mark.parametrize(
    ("waiting", "brought", "asked"),
    [
        ([], [IntakeResult()], [4]),
        ([], [IntakeResult(received=3), IntakeResult()], [4, 4]),
        ([], [IntakeResult(received=3), IntakeResult(hints={ORDERS: []}, received=1)], [4, 4]),
        ([], [IntakeResult(received=1, failures={"q": OSError()})], [4]),
        ([ORDERS.encode()], [IntakeResult(received=3)], [1]),
        (["gathered"], [IntakeResult(received=3)], [1]),
    ],
    ids=["nothing", "own files alone", "own files, then others", "failure", "work waits", "work is gathered"],
)
def test_a_tick_listens_until_something_for_a_table_has_come(
    monkeypatch: pytest.MonkeyPatch, waiting: list[str], brought: list[IntakeResult], asked: list[int]
) -> None:
    waits: list[int] = []

    def take_in(_: Any, patience: int, order: Any) -> IntakeResult:
        waits.append(patience)
        return brought[len(waits) - 1]

    monkeypatch.setattr(intake_tick, "take_in", take_in)
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    received = sum(result.received for result in brought)
    store = SimpleNamespace(
        inbox=SimpleNamespace(tables=lambda: [table for table in waiting if table != "gathered"]),
        gathered=SimpleNamespace(is_empty=lambda: "gathered" not in waiting),
    )
    found = intake_tick.listen(SimpleNamespace(store=store))  # type: ignore[arg-type]
    assert waits == asked
    assert found.received == received


def test_a_queue_that_fails_does_not_keep_the_others_waiting() -> None:
    failing, other = Sqs("failing", fails=True), Sqs("other")
    found, keys = drain(failing, other)
    assert set(keys) == {"orders/other.json"}
    assert list(found.failures) == ["failing"]
    assert (failing.deleted, other.deleted) == (0, 300)


def test_messages_are_deleted_after_all_that_came_of_them_is_kept() -> None:
    """Hints, quarantined messages and the log are written in any order, but before the delete."""
    done: list[str] = []
    logged: list[Unrouted] = []
    store = SimpleNamespace(
        objects=Objects(),
        table_births=dict,
        inbox=SimpleNamespace(put=lambda manifests: done.append("hints")),
        quarantine=SimpleNamespace(keep_message=lambda *_: done.append("copy") or "s3://lake/copy"),
        intake_log=SimpleNamespace(put=lambda _, unrouted: (done.append("log"), logged.extend(unrouted))),
    )
    messages = [Message("1", body(record("orders/a.json")), "r1"), Message("2", "{ no JSON", "r2")]
    queue = SimpleNamespace(
        name="q",
        drain=lambda **_: (chunk for chunk in [messages]),
        delete=lambda gone: done.append(f"delete {len(gone)}"),
    )
    taken = take_in(SimpleNamespace(config=LAKE, queues=[queue], store=store))  # type: ignore[arg-type]
    assert [(event.queue, event.event_id) for event in taken.unrouted] == [("q", "2#0")]
    assert logged == taken.unrouted
    assert sorted(done[:-1]) == ["copy", "hints", "log"]
    assert done[-1] == "delete 2"


GONE = S3Gone()


class Objects:
    """An S3 that stores what can be written as UTF-8. Every object exists, except those in `gone`."""

    def __init__(self, gone: Collection[str] = (), probe: Probe = GONE, bucket_exists: bool = True) -> None:
        self.bodies: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._gone, self._probe, self._bucket_exists = gone, probe, bucket_exists

    def head(self, bucket: str, key: str) -> Probe:
        self.asked.append(key)
        return self._probe if key in self._gone else S3Found("e", 1, 0)

    def head_many(self, bucket: str, keys: Iterable[str]) -> dict[str, Probe]:
        return {key: self.head(bucket, key) for key in keys}

    def bucket_exists(self, bucket: str) -> bool:
        return self._bucket_exists

    def put(self, bucket: str, key: str, body: str) -> None:
        key.encode()
        self.bodies[key] = body.encode()

    def list_under(self, bucket: str, prefix: str) -> list[Any]:
        return []

    def folders(self, bucket: str, prefix: str) -> list[str]:
        return []


ODD_TEXT = st.text(st.characters(categories=None) | st.sampled_from("\ud800\udfff"), max_size=8)
ODD_JSON = st.recursive(
    st.none() | st.integers() | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def odd_records(draw: st.DrawFn) -> dict[str, Any]:
    entry = record("orders/a.json")
    entry["s3"]["object"]["key"] = draw(ODD_TEXT)
    for name in draw(st.sets(st.sampled_from(["eventSource", "eventTime", "eventName"]))):
        entry[name] = draw(ODD_JSON)
    return entry


@given(
    ODD_TEXT | ODD_JSON.map(json.dumps) | st.lists(odd_records(), min_size=1, max_size=3).map(lambda all: body(*all))
)
@example('{"\\ud800x":1}')
def test_no_message_whatsoever_makes_a_tick_fail(odd: str) -> None:
    """A record that is not an event is quarantined with its reason, and the other records are taken in."""
    objects, found = tick_of(odd)
    assert sum(map(len, found.hints.values())) + sum(found.counters.values()) == found.received
    kept = [key for key in objects.bodies if key.startswith("root/quarantine/messages/odd-")]
    assert len(kept) == found.counters.get("malformed", 0)


def hostile(**changes: Any) -> str:
    """Make a record in which parts are replaced: parts of the record, or of its object."""
    entry = record("orders/a.json")
    for name, value in changes.items():
        part = entry if name in entry else entry["s3"] if name in entry["s3"] else entry["s3"]["object"]
        part[name] = value
    return json.dumps({"Records": [entry]})


ODD_TIMES = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")
NESTED = "[" * 128_000 + "]" * 128_000


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(NESTED, id="256 KB of nested lists"),
        pytest.param('{"Records":' * 20_000 + "1" + "}" * 20_000, id="nested objects"),
        *(pytest.param('{"Records":[' + "[" * n + "]" * n + "]}", id=f"{n} deep") for n in (300, 900, 990, 1000, 5000)),
        pytest.param('{"Records":[{"size":' + "9" * 100_000 + "}]}", id="a number of 100,000 digits"),
        pytest.param('{"Records":[1e999999999]}', id="a number beyond all"),
        pytest.param("\x00" * 1000, id="NUL"),
        pytest.param("\ud800", id="half of a surrogate pair"),
        pytest.param('{"\\ud800":"\\udfff"}', id="halves of surrogate pairs"),
        pytest.param("H4sIAAAAAAAA/6tWSkksSVSyUjJUqgUAN5zH6A0AAAA=", id="gzip in base64"),
        pytest.param("\x1f\x8b\x08\x00\x00", id="gzip"),
        pytest.param(hostile(key="x" * 200_000), id="a huge key"),
        pytest.param(hostile(key="%00" * 500_000), id="a huge escaped key"),
        pytest.param(hostile(key="orders/%ff.json"), id="a key that is not UTF-8"),
        *(pytest.param(hostile(**{name: value}), id=f"{name} is {value!r}") for value in (None, 1, [], {}, True, "")
          for name in ("s3", "bucket", "object", "key")),
        *(pytest.param(hostile(eventSource=value), id=f"eventSource is {value!r}") for value in (1, [], {}, True, "x")),
        *(pytest.param(json.dumps({"Records": value}), id=f"Records is {value!r}")
          for value in (None, 1, [], {}, "x", [[]])),
    ],
)  # fmt: skip
def test_f18_poison_is_quarantined_with_a_reason_and_holds_nobody_back(odd: str) -> None:
    objects, taken = tick_of(odd)
    (event,) = taken.unrouted
    assert (event.outcome, taken.counters) == ("malformed", {"malformed": 1})
    assert 0 < len(event.reason) < 1000
    assert len([key for key in objects.bodies if key.startswith("root/quarantine/messages/odd-")]) == 1


@pytest.mark.parametrize(
    "value",
    [None, True, -1, 10**4000, 1e308, float("nan"), "", "\x00", "\ud800", [], {}, "x" * 10**5, *ODD_TIMES],
    ids=lambda value: repr(value)[:20],
)
@pytest.mark.parametrize("name", ["eventTime", "eventName", "size", "eTag", "versionId", "sequencer"])
def test_f18_what_is_odd_about_an_event_costs_nobody_a_thing(name: str, value: Any) -> None:
    objects, taken = tick_of(hostile(**{name: value}))
    assert taken.counters == {}
    (stem,) = (key for key in objects.bodies if "/inbox/" in key)
    assert len(stem) < 200
    assert all(hint.event_time is None or hint.event_time.startswith("2024") for hint in taken.hints[ORDERS])


def test_f18_a_body_of_fifty_thousand_bad_records_is_kept_once() -> None:
    """With a copy for each record, no tick would end in time, and the messages after this one would never come in."""
    odd = json.dumps({"Records": [None] * 50_000 + [record("orders/b.json")]})
    objects, taken = tick_of(odd)
    assert taken.counters == {"malformed": 50_000}
    assert taken.received == 50_002
    assert [hint.key for hint in taken.hints[ORDERS]] == ["orders/b.json", "orders/good.json"]
    (kept,) = (text for key, text in objects.bodies.items() if "/quarantine/messages/" in key)
    assert json.loads(kept)["body"] == odd
    assert json.loads(kept)["reason"].startswith("50000 of its 50001 records are not events, the first for: ")


def test_f18_a_message_that_the_code_stumbles_over_is_quarantined_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = message_routing.parse_body  # type: ignore[attr-defined]

    def stumbling(text: str, message_id: str) -> Any:
        if message_id == "odd":
            raise MemoryError("what nobody thought of")
        return whole(text, message_id)

    monkeypatch.setattr(message_routing, "parse_body", stumbling)
    _, taken = tick_of(body(record("orders/b.json")))
    assert taken.counters == {"malformed": 1}
    assert [event.reason for event in taken.unrouted] == [
        "reading it failed, please report it: MemoryError: what nobody thought of"
    ]


def tick_of(odd: str) -> tuple[Objects, IntakeResult]:
    """Run a tick that receives an odd message and a good one. Returns what it stored, and what it took in."""
    objects, deleted = Objects(), []
    messages = [Message("odd", odd, "r1"), Message("good", body(record("orders/good.json")), "r2")]
    queue = SimpleNamespace(name="q", drain=lambda **_: (chunk for chunk in [messages]), delete=deleted.extend)
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    taken = take_in(SimpleNamespace(config=LAKE, queues=[queue], store=store))  # type: ignore[arg-type]
    assert deleted == messages
    assert taken.hints[ORDERS][-1].key == "orders/good.json"
    assert any(b"orders/good.json" in text for key, text in objects.bodies.items() if "/inbox/" in key)
    return objects, taken


def count_parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each later parse of a body appends the message's id."""
    whole, parses = message_routing.parse_body, []  # type: ignore[attr-defined]

    def parse_body(text: str, message_id: str) -> Any:
        parses.append(message_id)
        return whole(text, message_id)

    monkeypatch.setattr(message_routing, "parse_body", parse_body)
    return parses


def arrive(objects: Objects, *keys: str, known: set[TableKey] | None = None) -> tuple[IntakeResult, set[str]]:
    """Route events of these keys. Returns the result and the prefixes of the tables that exist afterwards."""
    tables = set(known or ())
    messages = [Message(f"m{number}", body(record(key)), "r") for number, key in enumerate(keys)]
    intake = route_messages(parse_messages(messages), LAKE, tables, objects)  # type: ignore[arg-type]
    assert sum(map(len, intake.hints.values())) + sum(intake.counters.values()) == len(keys)
    return intake, {table.prefix for table in tables}


def test_what_is_gone_bears_no_table() -> None:
    intake, tables = arrive(Objects(gone=["tmp/a.csv", "tmp/b.csv"]), "tmp/a.csv", "tmp/b.csv", "tmp/a.csv")
    assert (tables, intake.hints, intake.counters) == (set(), {}, {"no_table": 3})
    assert {event.reason for event in intake.unrouted} == {
        "S3 has none of the objects of s3://landing/tmp/ that it was asked for, and a folder becomes no table for what "
        "is gone; if it has files, add a table with this prefix to lake.yaml and materialize it"
    }


@pytest.mark.parametrize("folders", [1, 3, 200])
def test_however_many_objects_forged_events_name_they_bear_no_table_and_cost_few_requests(folders: int) -> None:
    keys = [f"forged{folder}/{number}.csv" for folder in range(folders) for number in range(6_000 // folders)]
    objects, room = Objects(gone=keys), capped()
    messages = [Message(f"m{key}", body(record(key)), "r") for key in keys]
    known = set[TableKey]()
    intake = route_messages(parse_messages(messages), CAPPED, known, objects, room)  # type: ignore[arg-type]
    assert (known, intake.hints, intake.held, intake.counters) == (set(), {}, {}, {"no_table": len(keys)})
    assert len(objects.asked) <= max(1_000, 32 * folders)
    assert room.today.tables == set(), "the day's room is for those whose objects S3 has"


def test_of_many_objects_those_that_s3_is_asked_for_are_spread_over_the_events() -> None:
    keys = [f"new/{number}.csv" for number in range(5_000)]
    there = set(range(1_000, 1_010))
    _, tables = arrive(Objects(gone=[key for place, key in enumerate(keys) if place not in there]), *keys)
    assert tables == {"new/"}
    _, tables = arrive(Objects(gone=keys[:-1]), *keys)
    assert tables == {"new/"}, "the last one is asked for in any case"


def test_one_object_that_is_there_is_enough() -> None:
    objects = Objects(gone=["new/a.csv", "new/c.csv"])
    intake, tables = arrive(objects, "new/a.csv", "new/b.csv", "new/c.csv")
    assert tables == {"new/"}
    assert [hint.key for hint in intake.hints[TableKey("landing", "new/")]] == ["new/a.csv", "new/b.csv", "new/c.csv"]
    objects = Objects()
    arrive(objects, *(f"new/{number}.csv" for number in range(9)))
    assert objects.asked == ["new/8.csv"], "and one question"


def test_what_is_gone_does_not_keep_its_neighbours_from_a_table() -> None:
    objects = Objects(gone=["sales/emea/eu/x.csv", "sales/emea/x.csv"])
    intake, tables = arrive(objects, "sales/emea/eu/x.csv", "sales/emea/x.csv", "sales/b.csv", "other/c.csv")
    assert tables == {"sales/", "other/"}
    assert intake.counters == {"no_table": 2}


def test_each_body_is_parsed_once_however_often_its_events_are_routed(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []
    monkeypatch.setattr(
        message_routing,
        "route_events",
        lambda parsed, *given: rounds.append(len(parsed)) or route_events(parsed, *given),
    )
    parses = count_parses(monkeypatch)
    objects = Objects(gone=["a/b/c/x.csv", "a/b/x.csv", "a/x.csv"])
    keys = ["a/b/c/x.csv", "a/b/x.csv", "a/x.csv", "y.csv", "other/c.csv"]
    _, tables = arrive(objects, *keys)
    assert tables == {"other/"}
    assert rounds == [5, 5], "once to find the folders, and once without those that are gone"
    assert parses == [f"m{number}" for number in range(5)]


def test_malformed_events_and_those_without_a_table_fail_the_check_of_their_queue() -> None:
    bodies = {
        "no_table": [body(record("top.csv"))],
        "not listed": [body(record("a/x.csv", bucket="elsewhere"))],
        "malformed": ["no JSON"],
        "well": [body(record("orders/a.json"))],
    }
    for kind, texts in bodies.items():
        messages = [Message("m", text, "r") for text in texts]
        queue = SimpleNamespace(name=kind, drain=lambda found=messages, **_: (chunk for chunk in [found]), delete=len)
        store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
        taken = take_in(SimpleNamespace(config=LAKE, queues=[queue], store=store))  # type: ignore[arg-type]
        (said,) = evaluate_checks(None, "2024-05-01", {kind: LakeNames().queue(kind)}, taken.unrouted).evaluations
        assert said.passed == (kind == "well"), kind


@pytest.mark.parametrize(
    "objects",
    [Objects(gone=["new/a.csv"], probe=S3Unavailable("503")), Objects(gone=["new/a.csv"], bucket_exists=False)],
    ids=["no answer", "no bucket"],
)
def test_only_what_s3_says_is_believed(objects: Objects) -> None:
    assert arrive(objects, "new/a.csv")[1] == {"new/"}


CAPPED = LAKE.model_copy(update={"discovery": DiscoverySpec(per_day=3)})
NOON = 1_000_000 * 86400 + 43200.0


def capped(*births: str, waiting: Collection[str] = ()) -> NewTables:
    """Return room for new tables, after tables that were born today."""
    today = room_today({TableKey("landing", prefix): None for prefix in births}, CAPPED, NOON)
    return NewTables(today, lambda: [TableKey("landing", prefix) for prefix in waiting])


@pytest.mark.parametrize("new", [0, 1, 3, 9])
def test_beyond_a_day_s_new_tables_an_event_waits_and_fails_the_check_of_its_queue(new: int) -> None:
    objects, known = Objects(gone=["team/gone/a.csv"]), {TableKey("landing", "old/")}
    keys = [
        "team/gone/a.csv",
        "old/a.csv",
        "orders/a.csv",
        *(f"team/{n}/{part}.csv" for n in range(8) for part in "ab"),
    ]
    messages = [Message(f"m{number}", body(record(key)), "r") for number, key in enumerate(keys)]
    room = capped(*(f"team/born{n}/" for n in range(3 - min(new, 3))))
    intake = route_messages(parse_messages(messages), CAPPED, known, objects, room)  # type: ignore[arg-type]
    news = min(new, 3)
    admitted = {f"team/{n}/" for n in range(news)}
    assert {table.prefix for table in intake.hints} == {"old/", "orders/", *admitted}
    assert {table.prefix for table in known} == {"old/", "orders/", *admitted}
    assert {table.prefix: len(hints) for table, hints in intake.held.items()} == {
        f"team/{n}/": 2 for n in range(news, news + 3)
    }
    reasons = {event.key: event.reason for event in intake.unrouted}
    assert list(reasons) == [keys[0], *keys[3 + 2 * news :]]
    assert all(event.outcome == "no_table" for event in intake.unrouted)
    assert sum(map(len, intake.hints.values())) + sum(intake.counters.values()) == len(keys)
    assert "lets 3 new tables a day" in reasons[keys[-1]]
    assert "Its events wait, and the first tick of a later day that has room reads them" in reasons[keys[3 + 2 * news]]
    assert "add a table with this prefix to lake.yaml, or raise `per_day`" in reasons[keys[-1]]
    assert "materialize its partition, which takes in what is there already" in reasons[keys[-1]]
    missed = [replace(event, queue="q") for event in intake.unrouted]
    (said,) = evaluate_checks("{}", "2026-01-02", {"q": LakeNames().queue("q")}, missed).evaluations
    assert not said.passed


def test_without_any_room_s3_is_not_asked() -> None:
    objects = Objects()
    room = capped("t/1/", "t/2/", "t/3/", waiting=["t/4/", "t/5/", "t/6/"])
    message = Message("m", body(record("t/9/a.csv")), "r")
    intake = route_messages(parse_messages([message]), CAPPED, set(), objects, room)  # type: ignore[arg-type]
    assert (intake.counters, intake.held, objects.asked) == ({"no_table": 1}, {}, [])


def test_a_tick_brings_no_more_new_tables_than_its_day_may_have_however_many_chunks_it_has() -> None:
    chunks = [[Message(f"{c}-{n}", body(record(f"team/t{c}{n}/a.csv")), "r") for n in range(2)] for c in range(4)]
    store = LakeStore(InMemory(), "s3://lake/root")  # type: ignore[arg-type]
    store.objects.head = lambda bucket, key: S3Found("e", 1, 0)  # type: ignore[method-assign]
    store.births.ensure_birth("landing.team.old", "old", registered=True)  # of 1970, by the dictionary's clock

    def tick() -> IntakeResult:
        queue = SimpleNamespace(name="q", drain=lambda **_: (chunk for chunk in chunks), delete=lambda _: None)
        return take_in(SimpleNamespace(config=CAPPED, queues=[queue], store=store))  # type: ignore[arg-type]

    first = tick()
    assert (len(first.hints), first.counters, len(store.held.tables())) == (3, {"no_table": 5}, 3)
    again = tick()
    assert (again.hints.keys(), again.counters) == (first.hints.keys(), {"no_table": 5}), "the inbox remembers"
    assert len(store.held.tables()) == 3, "as many wait as a day may bring"
    assert len(store.held.waiting_manifests()) == 6


def test_tables_that_exist_or_are_configured_hear_of_what_is_gone() -> None:
    objects = Objects(gone=["orders/a.csv", "items/a.csv"])
    intake, _ = arrive(objects, "orders/a.csv", "items/a.csv", known={TableKey("landing", "items/")})
    assert {table.prefix for table in intake.hints} == {"orders/", "items/"}
    assert objects.asked == []


def test_an_event_without_a_table_fails_the_check_of_its_queue_until_a_day_has_passed() -> None:
    """One tick a line: the day, the events without a table, and the check results of queue a."""
    no_table = Unrouted("n#0", "no_table", "a", S3Address("landing", "x.json"), "no table's folder")
    malformed = Unrouted("m#0", "malformed", "a", Detail("s3://lake/copy"), "no JSON")
    cursor: str | None = None
    results = []
    for day, missed in [
        ("01", []), ("01", []), ("01", [no_table]), ("01", []), ("01", [no_table, malformed]), ("02", []), ("02", []),
        ("03", [malformed]), ("04", [malformed]),
    ]:  # fmt: skip
        verdicts = evaluate_checks(cursor, day, {name: LakeNames().queue(name) for name in "ab"}, missed)
        said, cursor = verdicts.evaluations, verdicts.cursor
        results.append([(check.passed, check.metadata["no_table"].value, check.metadata["malformed"].value)
                     for check in said if check.asset_key.path[-1] == "a"])  # fmt: skip
    assert results == [
        [(True, 0, 0)], [], [(False, 1, 0)], [], [(False, 2, 1)], [(True, 0, 0)], [], [(False, 0, 1)], [(False, 0, 1)],
    ]  # fmt: skip
    assert [evaluation.asset_key.path[-1] for evaluation in said] == ["a"], (
        "nothing is said of a queue where nothing has changed"
    )
    events = said[0].metadata["events"]
    assert [record.data for record in events.records] == [{"key": "m#0", "reason": "no JSON"}]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("table", "hints", "size", "age", "expected"),
    [
        ("orders", 1, 0, 2.4, False),
        ("orders", 1, 0, 2.5, True),
        ("orders", 2, 0, 0, False),
        ("orders", 3, 0, 0, True),
        ("orders", 2, BATCH_BYTES - 1, 0, False),
        ("orders", 2, BATCH_BYTES, 0, True),
        ("items", 1, 0, 44, False),  # a discovered table has the lake's window
        ("items", 1, 0, 45, True),
        ("items", 99, 0, 0, False),
        ("items", 100, 0, 0, True),
        ("items", 1, BATCH_BYTES, 0, True),
    ],
)
def test_a_table_is_ready_after_its_window_or_with_a_full_batch(
    table: str, hints: int, size: int, age: float, expected: bool
) -> None:
    assert is_ready(Backlog(f"landing.{table}", hints, 100, size=size), LAKE, 100 + age) is expected


def due(turns: DueTables) -> list[str]:
    return [backlog.folder for backlog in turns.due]


def ticks(tables: Collection[str], most: Iterator[int], held: Collection[str] = ()) -> Iterator[DueTables]:
    """Yield tours of an inbox in which every table has more hints than its runs can ever process."""
    store, last = LakeStore(InMemory(), "s3://lake/root"), ""  # type: ignore[arg-type]
    store.inbox.put([Manifest.create(table, "intake", [Hint("a")]) for table in tables for _ in range(3)])
    while True:
        turns = find_due_tables(store.inbox.walk_backlogs(last), LAKE, 1e9, held=held, max_runs=next(most), after=last)
        last = turns.last
        yield turns


@given(
    st.sets(st.integers(0, 99), min_size=1, max_size=12),
    st.sets(st.integers(0, 99), max_size=4),
    st.lists(st.integers(-3, 5), min_size=1, max_size=9),
)
def test_every_table_has_its_turn_before_any_has_a_second_one(
    numbers: set[int], held: set[int], most: list[int]
) -> None:
    """A tick may request any number of runs, also none while the runs of earlier ticks are still active."""
    tables, resting = {f"landing.t{n}" for n in numbers}, {f"landing.t{n}" for n in held}
    asking = itertools.islice(ticks(tables, itertools.cycle(most), resting), 20)
    turns = [table for tick in asking for table in due(tick)]
    going = tables - resting
    rounds = [set(turns[start : start + len(going)]) for start in range(0, len(turns), max(1, len(going)))]
    assert all(number == going for number in rounds[:-1])
    assert rounds or not going or max(most) <= 0


@pytest.mark.parametrize("number", [150, 300, 600])
def test_with_many_tables_that_are_always_ready_none_is_starved(number: int) -> None:
    """Twenty hours of ticks, and of runs that take a minute, four at a time. Most ticks find a hundred active runs."""
    tables = [f"landing.t{n:03}" for n in range(number)]
    served = Counter[str]()
    last, active = "", list[str]()
    for _ in range(20 * 60):
        for _ in range(2):  # a tick each half minute
            start = next((place for place, table in enumerate(tables) if table > last), 0)
            tour = (Backlog(table, 999, 0.0) for table in [*tables[start:], *tables[:start]])
            turns = find_due_tables(tour, LAKE, 1e9, held=active, max_runs=MAX_RUNS - len(active), after=last)
            last, active = turns.last, [*active, *due(turns)]
        served.update(active[:4])
        del active[:4]
    assert served.keys() == set(tables)
    assert max(served.values()) - min(served.values()) <= 1


def test_no_turn_is_lost_while_no_more_runs_may_be_asked_for() -> None:
    store = LakeStore(InMemory(), "s3://lake/root")  # type: ignore[arg-type]
    store.inbox.put([Manifest.create(table, "intake", [Hint("a")]) for table in ("landing.a", "landing.b")])
    for most in (0, -3):
        full = find_due_tables(
            store.inbox.walk_backlogs("landing.a"), LAKE, 1e9, held=(), max_runs=most, after="landing.a"
        )
        assert (due(full), full.last) == ([], "landing.a"), "the next tour begins where this one would have"
    late = find_due_tables(
        store.inbox.walk_backlogs("landing.a"),
        LAKE,
        1e9,
        held=(),
        max_runs=9,
        after="landing.a",
        has_time=lambda: False,
    )
    assert (due(late), late.whole) == (["landing.b"], False), "time is up: one table is looked at all the same"


def test_a_tour_ends_where_another_run_would_be_needed() -> None:
    """Runs are counted as they will be requested: fifty cold tables are one run, and a table that failed is another."""
    cold = [Backlog(f"landing.t{n:03}", 1, 0.0) for n in range(3 * MAX_SHARED_TABLES)]
    hot = [Backlog(f"landing.u{n}", COLD_SMALL_HINTS + 1, 0.0) for n in range(3)]
    held, alone = {cold[1].folder}, {cold[0].folder}
    for max_runs, tables in ((1, 2), (2, 2 + MAX_SHARED_TABLES), (3, 2 + 2 * MAX_SHARED_TABLES), (5, 151), (7, 153)):
        found = find_due_tables([*cold, *hot], LAKE, 1e9, held=held, max_runs=max_runs, after="", alone=alone)
        assignment = assign_runs(found.due, alone)
        assert len(assignment.own) + len(assignment.shared) == min(max_runs, 7)
        assert found.last == [*cold, *hot][tables - 1].folder


def asked(hints: Mapping[str, int], alone: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Return which tables get a run of their own, and which share a run."""
    sharing = assign_runs([Backlog(table, number, 0.0) for table, number in hints.items()], alone)
    return sharing.own, sharing.shared


def test_tables_with_little_to_do_share_a_run() -> None:
    assert asked({"a": 1, "b": COLD_SMALL_HINTS, "c": COLD_SMALL_HINTS + 1, "d": 2}) == (["c"], [["a", "b", "d"]])
    assert asked({"a": 1, "b": 500}) == (["a", "b"], []), "alone in it, it may as well have its own"
    assert asked({"a": 1, "b": 1, "c": 1}, alone=["b"]) == (["b"], [["a", "c"]]), (
        "it failed: its next failure is its own"
    )
    assert asked({}) == ([], [])


def test_a_table_with_more_than_a_few_hints_shares_a_run_only_if_its_files_are_small() -> None:
    sizes = {
        "few": (COLD_HINTS, 1 << 40),
        "small": (COLD_HINTS + 1, COLD_BYTES),
        "large": (COLD_HINTS + 1, COLD_BYTES + 1),
    }
    assignment = assign_runs([Backlog(table, hints, 0.0, size=size) for table, (hints, size) in sizes.items()])
    assert (assignment.own, assignment.shared) == (["large"], [["few", "small"]])


def test_files_of_unknown_size_do_not_count_as_small() -> None:
    """A redrive names no sizes. One event with a size does not make its files small."""
    store = LakeStore(InMemory(), "s3://lake/root")  # type: ignore[arg-type]
    unsized, small = ([Hint(f"{size}-{n}", size=size) for n in range(COLD_HINTS + 1)] for size in (None, 1))
    store.inbox.put([Manifest.create(f"landing.{table}", "redrive", unsized) for table in ("alone", "redriven")])
    store.inbox.put([Manifest.create(f"landing.{table}", "intake", small) for table in ("redriven", "small", "usual")])
    store.inbox.put([Manifest.create("landing.usual", "redrive", unsized[:COLD_HINTS])])
    assignment = assign_runs(list(store.inbox.walk_backlogs()))
    assert (assignment.own, assignment.shared) == (
        ["landing.alone", "landing.redriven"],
        [["landing.small", "landing.usual"]],
    )


@given(st.lists(st.integers(1, 2 * COLD_SMALL_HINTS), max_size=3 * MAX_SHARED_TABLES), st.sets(st.integers(0, 20)))
def test_each_table_has_one_run_and_shared_ones_are_bounded(hints: list[int], failed: set[int]) -> None:
    own, shared = asked({str(n): number for n, number in enumerate(hints)}, {str(n) for n in failed})
    assert sorted([*own, *itertools.chain.from_iterable(shared)]) == sorted(map(str, range(len(hints))))
    sizes = [len(tables) for tables in shared]
    assert all(2 <= size <= MAX_SHARED_TABLES for size in sizes)
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    assert all(
        int(table) not in failed and hints[int(table)] <= COLD_SMALL_HINTS for tables in shared for table in tables
    )


@given(
    st.lists(st.integers(1, 2 * COLD_SMALL_HINTS), max_size=3 * MAX_SHARED_TABLES),
    st.sets(st.integers(0, 20)),
    st.integers(1, 4),
    st.integers(1, 8),
)
def test_only_tables_of_one_server_share_a_run_and_runs_are_counted_so(
    hints: list[int], failed: set[int], servers: int, max_runs: int
) -> None:
    due = [Backlog(f"landing.{n:03}", number, 0.0) for n, number in enumerate(hints)]
    alone = {f"landing.{n:03}" for n in failed}

    def server_of(table: str) -> str:
        return f"sc://spark-{zlib.crc32(table.encode()) % servers}"

    found = find_due_tables(due, LAKE, 1e9, held=(), max_runs=max_runs, after="", alone=alone, server_of=server_of)
    wanted = assign_runs(found.due, alone, server_of)
    assert all(len({server_of(table) for table in tables}) == 1 for tables in wanted.shared)
    assert all(2 <= len(tables) <= MAX_SHARED_TABLES for tables in wanted.shared)
    assert sorted([*wanted.own, *itertools.chain.from_iterable(wanted.shared)]) == [each.folder for each in found.due]
    assert len(wanted.own) + len(wanted.shared) <= max_runs
    if len(found.due) < len(due):
        more = assign_runs(due[: len(found.due) + 1], alone, server_of)
        assert len(more.own) + len(more.shared) > max_runs, "a tour ends no sooner than it must"


def test_tables_of_a_server_that_hangs_leave_room_for_those_of_another() -> None:
    def server_of(table: str) -> str:
        return f"sc://spark-{int(table.rpartition('.')[2]) % 2}"

    due = [Backlog(f"landing.{n}", COLD_SMALL_HINTS + 1, 0.0) for n in range(200)]
    runs: Counter[str] = Counter()
    for tour in range(3):  # no run ends
        left = [each for each in due if runs.total() == 0 or tour]
        found = find_due_tables(
            left, LAKE, 1e9, held=(), max_runs=MAX_RUNS - runs.total(), after="", server_of=server_of, server_runs=runs
        )
        runs += Counter(server_of(each.folder) for each in found.due)
        assert runs == {"sc://spark-0": MAX_SERVER_RUNS, "sc://spark-1": MAX_SERVER_RUNS}
        assert found.whole
    del runs["sc://spark-1"]
    more = find_due_tables(due, LAKE, 1e9, held=(), max_runs=9, after="", server_of=server_of, server_runs=runs)
    assert {server_of(each.folder) for each in more.due} == {"sc://spark-1"}


def test_failures_are_repeated_ever_more_slowly_up_to_an_hour() -> None:
    rests = [backoff_seconds(failures, 60) for failures in range(12)]
    assert rests[:4] == [0, 60, 120, 240]
    assert rests == sorted(rests)
    assert rests[-1] == 3600
    assert backoff_seconds(1, 0) == 5  # a table without a window does not fail in a loop
