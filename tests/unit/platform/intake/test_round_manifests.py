"""Gathered hints: which are gathered, when they are dealt, and that none is lost or late, whatever dies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.lakes.objects import Objects
from tidegate.platform.core import seams
from tidegate.platform.core.bronze.hint import Event, Hint, RowsSent
from tidegate.platform.core.bronze.manifest import Gathering, Manifest, gathering_time, tally_of
from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.bronze.window import shortest_wait
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table_defaults import TableDefaults
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.intake import dealer as dealing
from tidegate.platform.intake import round_manifests, store_and_delete
from tidegate.platform.intake.dealer import Dealer
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.round_manifests import (
    BATCH_PARTS,
    MAX_SECONDS,
    MIN_TABLES,
    MIN_WINDOW,
    deal_time,
    divide_round,
    may_wait,
)
from tidegate.platform.intake.store_and_delete import store
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root import gathered_hints
from tidegate.platform.lake.lake_root.store import LakeStore

#: A time at which phases are as odd as at any other.
NOW = 1_764_533_017.0
EVERY = 5
#: Tables by their windows: enough of each that some share a phase.
WINDOWS = {0: 2, 5: 2, 150: 24, 450: 24, 1800: 24}

HINT = Hint("a")
NAMED = "0000000001-01JD0000000000000000000000.jsonl"


def lake_config(windows: dict[str, int], every: int = EVERY, **more: Any) -> LakeConfig:
    return LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["landing"],
            "intake": {"every": every},
            "tables": [
                {"name": name, "prefix": f"s3://landing/{name}/", "window": window} for name, window in windows.items()
            ],
            **more,
        }
    )


NAMES = {f"t{window}_{n}": window for window, number in WINDOWS.items() for n in range(number)}
LAKE = lake_config(NAMES)


def table_key(name: str) -> TableKey:
    return TableKey("landing", f"{name}/")


@dataclass
class Clocked(Objects):
    """S3 in memory, with a clock and what was written."""

    now: float = NOW
    bodies: dict[str, str] = field(default_factory=dict)
    modified: dict[str, float] = field(default_factory=dict)
    puts: list[str] = field(default_factory=list)

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        super().put(bucket, key, body)
        self.modified[key] = self.now
        self.puts.append(key)

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        for item in super().list_under(bucket, prefix, after):
            yield Listed(item.key, item.etag, item.size, self.modified.get(item.key, 0.0))


@pytest.fixture
def objects() -> Clocked:
    return Clocked()


def paper_lake(objects: Clocked, config: LakeConfig = LAKE) -> Lake:
    return cast(Lake, SimpleNamespace(config=config, store=LakeStore(objects, "s3://lake/root")))  # type: ignore[arg-type]


def bring(lake: Lake, objects: Clocked, names: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Store a round with so many hints of each table."""
    monkeypatch.setattr(store_and_delete, "time", SimpleNamespace(time=lambda: objects.now))
    hints = {table_key(name): [Hint(f"{name}/{objects.now}-{n}") for n in range(many)] for name, many in names.items()}
    store(lake, "events", IntakeResult(hints=hints))


@contextmanager
def dying_at(name: str) -> Iterator[None]:
    def die(reached: str) -> None:
        if reached == name:
            raise KeyboardInterrupt

    seams.actions.append(die)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        seams.actions.remove(die)


@given(
    window=st.integers(0, 4000),
    every=st.integers(1, 600),
    hints=st.integers(1, 300),
    max_files=st.integers(1, 10_000),
    size=st.integers(0, BATCH_BYTES),
)
def test_hints_wait_only_if_the_next_tick_cannot_need_them(
    window: int, every: int, hints: int, max_files: int, size: int
) -> None:
    spec = TableDefaults(window=window, max_files=max_files)
    found = [Hint(str(n), size=size if n == 0 else 0) for n in range(hints)]
    if may_wait(spec, found, every):
        assert shortest_wait(window, every) > every
        assert window >= MIN_WINDOW
        assert hints * BATCH_PARTS <= max_files
        assert size * BATCH_PARTS <= BATCH_BYTES
    else:
        assert (
            window < MIN_WINDOW
            or window <= 1.5 * every
            or hints * BATCH_PARTS > max_files
            or size * BATCH_PARTS > BATCH_BYTES
        )


def test_files_of_unknown_size_may_be_large() -> None:
    spec = TableDefaults(window=300)
    assert may_wait(spec, [Hint(str(n)) for n in range(10)], 5)
    assert not may_wait(spec, [Hint(str(n)) for n in range(11)], 5)


@given(name=st.text("abc", min_size=1, max_size=5), window=st.integers(2, 100_000), after=st.floats(0, 1e6))
def test_a_table_is_dealt_before_its_window_ends_and_always_at_the_same_times(
    name: str, window: int, after: float
) -> None:
    now = NOW + after
    at = deal_time(name, window, now)
    assert now - 1 <= at <= now + min(window, MAX_SECONDS)
    # The end of the window of what comes right after a time is a time too: all hints of the window become one batch.
    assert abs(deal_time(name, window, at + 1.5) - at - window / -(-window // int(MAX_SECONDS))) <= 2
    assert any(abs(deal_time(name, window, at + window - 1.5 - early) - at - window) <= 2 for early in (0, 1))


def test_the_tables_are_not_all_dealt_at_one_time() -> None:
    times = [deal_time(f"t{n}", 300, NOW) for n in range(4200)]
    assert len(set(times)) == round_manifests.PHASES
    assert max(times.count(at) for at in set(times)) < 4200 / round_manifests.PHASES * 1.3


def test_a_round_of_few_tables_or_of_much_is_written_to_the_inbox() -> None:
    hints = {table_key(name): [Hint(f"{name}/a")] for name in ("t150_0", "t1800_0")}
    assert not divide_round(hints, LAKE, (), NOW).gathered
    many = {table_key(name): [Hint(f"{name}/a")] * (101 if name == "t150_0" else 1) for name in NAMES}
    divided = divide_round(many, LAKE, {table_key("t150_1")}, NOW)
    direct = {manifest.table for manifest in divided.direct}
    by_themselves = {table_key(name).encode() for name in NAMES if NAMES[name] < 120 or name in ("t150_0", "t150_1")}
    assert by_themselves <= direct
    assert all(len(made) >= MIN_TABLES for made in divided.gathered.values())
    assert sum(map(len, divided.gathered.values())) + len(direct) == len(many)
    large = {table: [Hint("a", size=BATCH_BYTES // 50)] for table in many}
    assert not divide_round(large, LAKE, (), NOW).gathered


def test_what_is_dealt_has_waited_since_it_was_gathered(objects: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, dealer = paper_lake(objects), Dealer()
    assert dealer.deal(lake, NOW) == []
    names = [name for name, window in NAMES.items() if window == 450]
    for n in range(3):
        objects.now = NOW + n * 5
        bring(lake, objects, dict.fromkeys(names, 2), monkeypatch)
    before = {backlog.folder: (backlog.hints, backlog.since) for backlog in lake.store.walk_backlogs()}
    assert before.keys() == {table_key(name).encode() for name in names}
    assert set(before.values()) == {(6, NOW)}
    objects.now = NOW + 451
    assert dealer.deal(lake, objects.now) == []
    found = {backlog.folder: (backlog.hints, round(backlog.since, 1)) for backlog in lake.store.inbox.walk_backlogs()}
    assert found == before
    assert not list(objects.list_under("lake", "root/gathered/"))
    assert before == {
        backlog.folder: (backlog.hints, round(backlog.since, 1)) for backlog in lake.store.walk_backlogs()
    }


def test_a_dealt_manifest_says_since_when_its_hints_wait() -> None:
    dealt = Manifest.create("landing.orders", "dealt", [Hint("a", size=3)], Gathering(NOW, "seed"))
    assert gathering_time(dealt.id) == pytest.approx(NOW, abs=0.001)
    assert tally_of(dealt.id).hints == 1
    assert gathering_time(Manifest.create("landing.orders", "intake", [Hint("a")]).id) == float("inf")
    assert Manifest.from_json(dealt.to_json(), "here") == dealt


def test_a_round_writes_few_objects(objects: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {f"t{n}": 300 for n in range(500)}
    lake = paper_lake(objects, lake_config(names))
    bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
    assert len(objects.puts) == round_manifests.PHASES
    assert lake.store.waiting_manifests()[0].hints == 1
    assert sum(backlog.hints for backlog in lake.store.walk_backlogs()) == 500


@pytest.mark.parametrize("change", ["window", "table"])
def test_a_window_that_becomes_short_and_a_table_that_goes_away_keep_no_hint_waiting(
    objects: Clocked, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    lake, dealer = paper_lake(objects), Dealer()
    dealer.deal(lake, NOW)
    names = [name for name, window in NAMES.items() if window == 1800]
    bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
    assert len(lake.store.gathered.waiting_manifests()) > len(names) / 2
    others = {**NAMES, names[0]: 0} if change == "window" else {name: NAMES[name] for name in NAMES if name != names[0]}
    dealer.deal(paper_lake(objects, lake_config(others)), NOW + 1)
    assert lake.store.gathered.is_empty()
    assert len(lake.store.inbox.waiting_manifests()) == len(names)


_TIME = "2025-11-30T20:03:37+00:00"


def _with_bad_time() -> str:
    """Return a line whose hint cannot be written again."""
    sent = Manifest.create("landing.x", "intake", [Hint("a", RowsSent(_TIME))])
    return sent.to_json().replace(_TIME, "yesterday") + "\n"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("notes.txt", "?"),
        (".DS_Store", "?"),
        (NAMED, "{\n"),
        (NAMED, '{"format":1}\n'),
        (
            NAMED,
            Manifest.create("No Table", "intake", [Hint("a")]).to_json() + "\n",
        ),
        (NAMED, Manifest.create("landing.x", "intake", [Hint("a")]).to_json()),
        (NAMED, Manifest("landing.x", "odd", "intake", ()).to_json() + "\n"),
        (NAMED, json.dumps("?" * (17 << 20)) + "\n"),
        (NAMED, ""),
        (NAMED, _with_bad_time()),
    ],
)
def test_a_damaged_object_delays_nobody_and_is_named(
    objects: Clocked, monkeypatch: pytest.MonkeyPatch, name: str, body: str
) -> None:
    lake, dealer = paper_lake(objects), Dealer()
    dealer.deal(lake, NOW)
    names = [name for name, window in NAMES.items() if window == 150]
    bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
    objects.bodies[f"root/gathered/{name}"] = body
    for _ in range(2):
        said = dealer.deal(lake, NOW + 151)
        assert len(said) == 1
        assert all(f"s3://lake/root/gathered/{name}" in line and "ove it away" in line for line in said)
        assert len(lake.store.inbox.waiting_manifests()) == len(names)
        (stray,) = lake.store.gathered.strays()
        assert f"s3://lake/root/gathered/{name}" in stray
    assert f"root/gathered/{name}" in objects.bodies
    assert sum(backlog.hints for backlog in lake.store.walk_backlogs()) == len(names)


def test_an_s3_that_does_not_answer_ends_the_deal_and_not_the_tick(objects: Clocked) -> None:
    lake = paper_lake(objects)

    def refuse(*given: object, **more: object) -> Iterator[Listed]:
        raise ConnectTimeoutError(endpoint_url="https://s3")
        yield

    objects.list_under = refuse  # type: ignore[method-assign]
    (said,) = Dealer().deal(lake, NOW)
    assert said.startswith("gathered hints stay where they are until the next tick: Connect timeout")


def test_what_cannot_be_deleted_is_dealt_once(objects: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the inbox would grow with each tick, for as long as a policy refuses or S3 throttles."""
    lake, dealer, names = paper_lake(objects), Dealer(), [name for name, window in NAMES.items() if window == 150]
    delete, asked = objects.delete, list[int]()

    def refuse(bucket: str, keys: Iterable[str]) -> None:
        if asked.append(len(list(keys))) or asked[-1]:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DeleteObject")

    monkeypatch.setattr(objects, "delete", refuse)
    for n in range(4):
        objects.now = NOW + n
        bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
        assert "cannot be deleted: An error occurred (AccessDenied)" in dealer.deal(lake, NOW + 1000)[-1]
    hints = [hint.key for name in names for hint in waiting_hints(lake, name)]
    assert len(hints) == len(set(hints)) == 4 * len(names), "all of them, and each once"
    # A process that starts again knows nothing of it, and writes the same manifests, not further ones.
    again = []
    for _ in range(2):
        Dealer().deal(lake, NOW + 1000)
        again.append(len(lake.store.inbox.waiting_manifests()))
    assert again[0] == again[1]
    monkeypatch.setattr(objects, "delete", delete)
    assert dealer.deal(lake, NOW + 1000) == []
    assert lake.store.gathered.is_empty()


@pytest.mark.parametrize("ahead", [3600, 86_400 * 365])
def test_hints_of_a_process_whose_clock_is_wrong_wait_no_longer(
    objects: Clocked, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    lake, dealer, names = paper_lake(objects), Dealer(), [name for name, window in NAMES.items() if window == 150]
    dealer.deal(lake, NOW)
    monkeypatch.setattr(store_and_delete, "time", SimpleNamespace(time=lambda: NOW + ahead))
    store(lake, "events", IntakeResult(hints={table_key(name): [Hint(f"{name}/1")] for name in names}))
    assert not lake.store.gathered.is_empty()
    dealer.deal(lake, NOW + 1)
    assert lake.store.gathered.is_empty()
    assert len(lake.store.inbox.waiting_manifests()) == len(names)


def test_what_comes_after_a_change_of_windows_waits_although_the_deal_takes_several_ticks(
    objects: Clocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, dealer, names = paper_lake(objects), Dealer(), [name for name, window in NAMES.items() if window == 1800]
    for _ in range(5):
        bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
    monkeypatch.setattr(dealing, "_MAX_OBJECTS", 1)
    monkeypatch.setattr(dealing, "DEAL_SECONDS", -1.0)
    before = len(list(lake.store.gathered.listed_objects()))
    dealer.deal(lake, objects.now)
    objects.now += 60
    bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
    new = len(list(lake.store.gathered.listed_objects())) - before + 1
    for _ in range(2 * before):
        dealer.deal(lake, NOW)
    assert len(list(lake.store.gathered.listed_objects())) == new


def test_a_deal_is_bounded_in_bytes_objects_and_time(objects: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = paper_lake(objects)
    names = dict.fromkeys([name for name, window in NAMES.items() if window == 150], 1)
    for n in range(7):
        objects.now = NOW + n
        bring(lake, objects, names, monkeypatch)
    reads: list[int] = []
    deal = Dealer._deal
    monkeypatch.setattr(
        Dealer, "_deal", lambda self, lake, portion: reads.append(len(portion)) or deal(self, lake, portion)
    )
    monkeypatch.setattr(dealing, "_MAX_OBJECTS", 4)
    monkeypatch.setattr(dealing, "DEAL_SECONDS", -1.0)
    dealer, ticks = Dealer(), 0
    while not lake.store.gathered.is_empty():
        assert dealer.deal(lake, objects.now) == []
        ticks += 1
    assert len(reads) == ticks > 1
    assert max(reads) == 4
    assert sum(manifest.hints for manifest in lake.store.inbox.waiting_manifests()) == 7 * len(names)
    monkeypatch.setattr(gathered_hints, "_MAX_BYTES", 1_000)
    objects.puts.clear()
    bring(lake, objects, names, monkeypatch)
    assert all(len(objects.bodies[key]) <= 1_000 for key in objects.puts if "/gathered/" in key)


def test_much_that_is_gathered_is_shown_as_a_lower_bound(objects: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = paper_lake(objects)
    names = dict.fromkeys([name for name, window in NAMES.items() if window == 150], 1)
    bring(lake, objects, names, monkeypatch)
    assert all(backlog.whole for backlog in lake.store.walk_backlogs())
    monkeypatch.setattr(gathered_hints, "_MAX_SHOWN", 1)
    some = list(lake.store.walk_backlogs())
    assert some
    assert not any(backlog.whole for backlog in some if backlog.folder in lake.store.gathered.backlogs())


@pytest.mark.parametrize("seam", ["intake-gathered", "intake-stored"])
def test_a_round_that_dies_before_its_messages_are_deleted_is_repeated(
    objects: Clocked, monkeypatch: pytest.MonkeyPatch, seam: str
) -> None:
    lake, names = paper_lake(objects), dict.fromkeys(NAMES, 1)
    with dying_at(seam):
        bring(lake, objects, names, monkeypatch)
    bring(lake, objects, names, monkeypatch)
    Dealer().deal(lake, NOW)
    keys = {hint.key for table in NAMES for hint in waiting_hints(lake, table)}
    assert keys == {f"{name}/{NOW}-0" for name in NAMES}


def test_a_deal_that_dies_before_the_gathered_objects_are_deleted_gives_hints_twice(
    objects: Clocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, names = paper_lake(objects), [name for name, window in NAMES.items() if window == 150]
    bring(lake, objects, dict.fromkeys(names, 1), monkeypatch)
    with dying_at("deal"):
        Dealer().deal(lake, NOW)
    assert not lake.store.gathered.is_empty()
    Dealer().deal(lake, NOW)
    assert lake.store.gathered.is_empty()
    for name in names:
        assert {hint.key for hint in waiting_hints(lake, name)} == {f"{name}/{NOW}-0"}


def waiting_hints(lake: Lake, name: str) -> list[Hint]:
    inbox = lake.store.inbox.table_inbox(table_key(name).encode())
    ids = [manifest.id for manifest in inbox.waiting_manifests()]
    return [hint for manifest in inbox.read(ids) for hint in manifest.hints]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["round", "round dies", "tick", "tick dies", "other tick", "new process"]),
        st.integers(0, 40),
        st.sets(st.sampled_from(sorted(WINDOWS)), min_size=1).map(
            lambda windows: {name for name in NAMES if NAMES[name] in windows}
        ),
    ),
    max_size=10,
)


@settings(max_examples=100, deadline=None)
@given(steps=STEPS)
def test_each_hint_is_in_its_inbox_in_time_whatever_dies(steps: list[tuple[str, int, set[str]]]) -> None:
    """Ticks come every five seconds in between. A hint that comes twice is a duplicate in the ledger."""
    objects = Clocked()
    lake, dealers = paper_lake(objects), [Dealer(), Dealer()]
    came: dict[str, float] = {}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(store_and_delete, "time", SimpleNamespace(time=lambda: objects.now))

        def receive(names: set[str], number: int) -> None:
            hints = {table_key(name): [Hint(f"{name}/{number}", Event(f"{number}"))] for name in sorted(names)}
            came.update({f"{name}/{number}": objects.now for name in names})
            store(lake, "events", IntakeResult(hints=hints))

        def tick(dealer: Dealer) -> None:
            assert dealer.deal(lake, objects.now) == []
            arrived = {hint.key: name for name in NAMES for hint in waiting_hints(lake, name)}
            for key, since in came.items():
                name = key.partition("/")[0]
                if objects.now - since >= max(EVERY, NAMES[name] - EVERY / 2):
                    assert arrived.get(key) == name, f"{key} of {since} is late at {objects.now}"
            for waiting in lake.store.inbox.waiting_manifests():
                name = waiting.table.removeprefix("landing.").rstrip("/")
                assert waiting.since >= min(came.values())

        for number, (kind, seconds, names) in enumerate(steps):
            until = objects.now + seconds
            while objects.now < until:
                objects.now = min(until, objects.now + EVERY)
                assert dealers[0].deal(lake, objects.now) == []
            match kind:
                case "round":
                    receive(names, number)
                case "round dies":
                    _let_die(partial(receive, names, number))
                    receive(names, number)
                case "tick" | "other tick":
                    tick(dealers[kind == "other tick"])
                case "tick dies":
                    _let_die(partial(dealers[0].deal, lake, objects.now))
                case "new process":
                    dealers[0] = Dealer()
        until = objects.now + max(WINDOWS) + EVERY
        while objects.now < until:
            objects.now += EVERY if objects.now + 60 > until else 45
            dealers[0].deal(lake, objects.now)
        tick(dealers[0])
        assert {hint.key for name in NAMES for hint in waiting_hints(lake, name)} == set(came)


def _let_die(step: Callable[[], object]) -> None:
    """Do a step that dies at its first seam, if it reaches one."""
    seams.actions.append(_die)
    try:
        step()
    except KeyboardInterrupt:
        pass
    finally:
        seams.actions.remove(_die)


def _die(reached: str) -> None:
    raise KeyboardInterrupt
