"""Files with which the Spark server was lost: noted, read in smaller sets, quarantined after two losses alone."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.memory import memory_lake
from tidegate.platform.bronze.look import _select_manifests, _sort_manifests, look
from tidegate.platform.bronze.prepare.file_access import file_access
from tidegate.platform.bronze.prepare.load import load
from tidegate.platform.bronze.prepare.load.server_losses import (
    quarantine_reason,
    require_awake,
    server_lost,
    sets_to_read,
)
from tidegate.platform.core.bronze.hint import Event, Hint, Rebuild, Replacement
from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.bronze.loss_quota import MAX_LOSSES
from tidegate.platform.core.bronze.manifest import Manifest, rest_of
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint, make_plan
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.intake.due_tables import find_due_tables
from tidegate.platform.lake.lake_root.inbox import WaitingManifest
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

ORDERS = "landing.orders"


@pytest.fixture
def lake() -> Any:
    return memory_lake("orders", "other")


def _file(key: str, etag: str = "e1") -> Any:
    return SimpleNamespace(candidate=Candidate(key, S3Found(etag, 1, 1), PlannedHint(Hint(key), "m")))


def _plan(lake: Any, keys: list[str], etag: str = "e1") -> Plan:
    """Plan all waiting hints, as the step look does."""
    ids = [manifest.id for manifest in _sort_manifests(lake.store.inbox.waiting_manifests(ORDERS))]
    manifests = lake.store.inbox.table_inbox(ORDERS).read(ids)
    noted = [PlannedHint(hint, manifest.id) for manifest in manifests for hint in manifest.hints]
    taken = [*noted, *(PlannedHint(Hint(key, Event(f"{key}#0")), "m") for key in keys)]
    return make_plan(taken, dict.fromkeys(keys, S3Found(etag, 1, 1)), {}, registered=False)


def test_ten_thousand_files_lose_the_server_four_times_until_the_file_at_fault_is_quarantined(lake: Any) -> None:
    table = lake.table(ORDERS)
    read = [f"orders/{i}.json" for i in range(10_000)]
    lost = 0
    while True:
        plan = _plan(lake, read)
        if quarantine_reason(
            plan, next(candidate for candidate in plan.candidates if candidate.key == "orders/777.json")
        ):
            break
        sets = sets_to_read(plan, [_file(key) for key in read])
        assert sorted(file.candidate.key for some in sets for file in some) == sorted(read)
        assert len(sets) <= 100 * lost + 1
        (fatal,) = [some for some in sets if any(file.candidate.key == "orders/777.json" for file in some)]
        server_lost(file_access(table).server, fatal)
        lost += 1
    assert lost == 4
    notes = lake.store.inbox.waiting_manifests(ORDERS)
    assert sorted(note.hints for note in notes) == [1, 1, 100, 10_000]
    # Only that file was read alone, and only its notes record it.
    assert [candidate.key for candidate in plan.candidates if quarantine_reason(plan, candidate)] == ["orders/777.json"]
    # The ledger accounts for the events.
    assert {candidate.taken.hint.event_id for candidate in plan.candidates} == {f"{key}#0" for key in read}


def test_the_notes_of_other_bytes_say_nothing(lake: Any) -> None:
    table = lake.table(ORDERS)
    for _ in range(2):
        server_lost(file_access(table).server, [_file("a")])
    (at_fault,) = (plan := _plan(lake, ["a"])).candidates
    reason = quarantine_reason(plan, at_fault)
    assert reason is not None
    assert "tidegate redrive" in reason
    (fixed,) = (plan := _plan(lake, ["a"], etag="e2")).candidates
    assert quarantine_reason(plan, fixed) is None
    assert [len(some) for some in sets_to_read(plan, [_file("a", "e2"), _file("b", "e2")])] == [2]


def test_the_newest_note_is_taken_first_then_the_oldest_hints() -> None:
    ids = ["01HXYZ0000000000000000000A-1", "lost-01HXYZ0001000000000000000A-9", "lost-01HXYZ0002000000000000000A-1"]
    waiting = [WaitingManifest(ORDERS, id, 1, float(since)) for since, id in enumerate(ids)]
    assert [manifest.id for manifest in _sort_manifests(waiting)] == [ids[2], ids[1], ids[0]]


def test_a_file_of_a_rebuild_that_loses_the_server_ends_with_its_notes_though_events_come(lake: Any) -> None:
    """Otherwise its hint would stay and lose the server again. A refused file keeps its state in the ledger."""
    table = lake.table(ORDERS)
    keys = [f"orders/{i}.csv" for i in range(10)]
    hints = [Hint(key, Rebuild(Replacement(1, 1))) for key in keys]
    lake.store.inbox.put([page := Manifest.create(ORDERS, "rebuild", hints)])
    for losses in range(9):
        ids = _select_manifests(_sort_manifests(lake.store.inbox.waiting_manifests(ORDERS)), len(keys))
        manifests = lake.store.inbox.table_inbox(ORDERS).read(ids)
        taken = [PlannedHint(hint, manifest.id) for manifest in manifests for hint in manifest.hints]
        found, known = S3Found("e1", 1, 1), LastState(Status.COMMITTED, "e1", 1)
        plan = make_plan(taken, dict.fromkeys(keys, found), dict.fromkeys(keys, known), registered=False)
        assert page.id in ids
        assert [candidate.replaces for candidate in plan.candidates] == [1] * len(keys)
        if quarantine_reason(plan, next(candidate for candidate in plan.candidates if candidate.key == keys[7])):
            break
        sets = sets_to_read(plan, [_file(key) for key in keys])
        server_lost(
            file_access(table).server,
            next(some for some in sets if any(file.candidate.key == keys[7] for file in some)),
        )
        lake.store.inbox.put([Manifest.create(ORDERS, "intake", [Hint(f"new{losses}", Event(f"{losses}#0"))])])
    assert losses == 3


@pytest.mark.parametrize("gone", [SparkUnreachable("nobody answers"), PySparkException("[SESSION_CHANGED]")])
def test_only_the_loss_of_the_server_is_noted(lake: Any, gone: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise PySparkException("the connection broke")

    def lose() -> None:
        raise gone

    work: Any = SimpleNamespace(plan=Plan())
    lake.delta = SimpleNamespace(check_session_alive=lambda: None)
    loading = load.Load(lake.table(ORDERS), work)
    monkeypatch.setattr(load.Load, "_stage", fail)
    with pytest.raises(PySparkException, match="the connection broke"):
        loading._stage_all([_file("a"), _file("b")])
    assert lake.store.inbox.waiting_manifests() == []
    lake.delta.check_session_alive = lose
    with pytest.raises(SparkUnreachable, match=r"while it read 2 files of landing\.orders"):
        loading._stage_all([_file("a"), _file("b")])
    with pytest.raises(SparkUnreachable, match=r"while it read a alone of landing\.orders"):
        loading._stage_all([_file("a")])
    notes = lake.store.inbox.table_inbox(ORDERS).read(
        [manifest.id for manifest in lake.store.inbox.waiting_manifests(ORDERS)]
    )
    assert sorted((hint.key, hint.cause.alone, hint.cause.etag) for note in notes for hint in note.hints) == [
        ("a", False, "e1"), ("a", True, "e1"), ("b", False, "e1"),
    ]  # fmt: skip


def test_a_producer_whose_files_lose_the_server_one_after_the_other_stops_its_own_table_only(lake: Any) -> None:
    """Each file is quarantined after two losses. Without a quota, N files would cost 2 N restarts of the one server."""
    table, other = lake.table(ORDERS), lake.table("landing.other")
    lost = 0
    for number in range(20):
        require_awake(table.table_key, table.inbox.waiting_manifests())
        error = server_lost(file_access(table).server, [_file(f"{number // 2}")])
        lost += 1
        if any(rest_of(manifest.id) for manifest in table.inbox.waiting_manifests()):
            break
        if number % 2:  # The file is quarantined, and its notes go with its batch.
            table.inbox.delete(manifest.id for manifest in table.inbox.waiting_manifests())
    assert lost == MAX_LOSSES
    assert "landing.orders rests until" in str(error)
    assert "materialize its partition by hand" in str(error)
    with pytest.raises(UnavailableError, match=r"no files of landing\.orders are read now.*rests until 20\d\d-.* UTC"):
        require_awake(table.table_key, table.inbox.waiting_manifests())
    server_lost(file_access(other).server, [_file("a")])
    require_awake(other.table_key, other.inbox.waiting_manifests())
    # The listing of the inbox shows it, so that no run is requested; other tables are not affected.
    now = time.time()
    rests = {backlog.folder: backlog.rests for backlog in lake.store.inbox.walk_backlogs()}
    assert 0 < rests[ORDERS] - now <= 24 * 3600
    assert rests["landing.other"] == 0
    for at, due in ((now, ["landing.other"]), (rests[ORDERS] + 1, [ORDERS, "landing.other"])):
        tour = lake.store.inbox.walk_backlogs()
        config: Any = SimpleNamespace(
            settings=lambda _: SimpleNamespace(window=0, max_files=9), intake=SimpleNamespace(every=1)
        )
        found = find_due_tables(tour, config, at, held=(), max_runs=9, after="")
        assert [backlog.folder for backlog in found.due] == due


def test_a_producer_that_makes_a_table_for_each_loss_has_one_quota(lake: Any) -> None:
    """Discovered tables below one first folder are one producer's. Other folders and configured tables are not."""
    resting = []
    for number in range(MAX_LOSSES + 2):
        key = f"landing.found.t{number}"
        table = lake.table(key)
        server_lost(file_access(table).server, [_file("a")])
        resting.append(any(rest_of(manifest.id) for manifest in table.inbox.waiting_manifests()))
    assert resting == [False] * (MAX_LOSSES - 1) + [True] * 3
    for key in ("landing.foundry.t", ORDERS):
        other = lake.table(key)
        server_lost(file_access(other).server, [_file("a")])
        require_awake(other.table_key, other.inbox.waiting_manifests())


def test_a_table_with_more_manifests_than_a_page_rests_too(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note comes after them in S3's order. Without it each tick would request a run that fails."""
    monkeypatch.setattr("tidegate.platform.lake.lake_root.inbox._MAX_TABLE_OBJECTS", 3)
    inboxes = {key: lake.store.inbox.table_inbox(key) for key in (ORDERS, "landing.other")}
    for key, inbox in inboxes.items():
        inbox.put(Manifest.create(key, "intake", [Hint(str(number))]) for number in range(4))
    inboxes[ORDERS].put([Manifest.create_rest(ORDERS, 2_000_000_000.0)])
    tour = {
        backlog.folder: (backlog.hints, backlog.whole, backlog.rests) for backlog in lake.store.inbox.walk_backlogs()
    }
    assert tour == {ORDERS: (3, False, 2_000_000_000.0), "landing.other": (3, False, 0.0)}


def test_the_end_of_a_rest_goes_with_the_next_batch_and_holds_no_hint(lake: Any) -> None:
    inbox = lake.store.inbox.table_inbox(ORDERS)
    inbox.put([rest := Manifest.create_rest(ORDERS, 2_000_000_000.0)])
    assert Manifest.from_json(rest.to_json(), "x") == rest
    assert rest_of(rest.id) == 2_000_000_000.0
    assert rest_of(f"rests-{'Z' * 26}-0-0-0") == rest_of("01HXYZ0000000000000000000A-1") == 0.0
    table: Any = SimpleNamespace(inbox=inbox, spec=SimpleNamespace(max_files=9))
    (backlog,) = lake.store.inbox.walk_backlogs()
    assert (backlog.hints, backlog.since, backlog.rests) == (0, 0.0, 2_000_000_000.0)
    hints = Manifest.create(ORDERS, "intake", [Hint("a")])
    waiting = _sort_manifests([WaitingManifest(ORDERS, hints.id, 1, 0.0), *inbox.waiting_manifests()])
    assert _select_manifests(waiting, 9) == [rest.id, hints.id]
    assert look(table, Clock(-1, 0)) is None
    assert inbox.waiting_manifests() == []


def test_notes_of_losses_end_after_a_day(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    losses, objects = lake.store.losses, lake.store.objects
    for _ in range(MAX_LOSSES - 1):
        assert losses.note(ORDERS, lake.config, files=3) is None
    assert len(objects.bodies) == MAX_LOSSES - 1
    real = time.time
    monkeypatch.setattr("tidegate.platform.lake.lake_root.losses.time.time", lambda: real() + 25 * 3600)
    assert losses.note(ORDERS, lake.config, files=1) is None
    assert len(objects.bodies) == 0  # The ids are of the real time.
