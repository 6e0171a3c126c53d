"""What follows the last batch of a run does not end the run without a report of its batches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze import run
from tidegate.platform.bronze.decide import UnreadableFiles
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.prepare.read_timeouts import MAX_SECONDS
from tidegate.platform.bronze.run import MAX_BATCHES, BatchResult, run_table
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.spark.results import CommitResult
from tidegate.platform.maintenance import compaction
from tidegate.platform.maintenance.compaction import EVERY


class Table:
    """A table whose birth cannot be read after its batch is recorded."""

    table_key = "landing.t"
    delta: Any = SimpleNamespace(other_log_store=lambda _: None)
    lake = SimpleNamespace(store=None, config=SimpleNamespace(lake=SimpleNamespace(commits="s3")))
    source = key = None
    spec: Any = SimpleNamespace(name="t", cluster_by=None, window=60)

    def __init__(self) -> None:
        self.recorded = False
        self.birth = SimpleNamespace(registered=False, name="t")
        self.inbox = SimpleNamespace(waiting_manifests=list)

    def reopen(self) -> Table:
        if self.recorded:
            raise OSError("S3 does not answer")
        return self


def test_a_run_reports_its_batches_although_s3_fails_before_their_files_are_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compacted: list[str] = []
    table: Any = Table()
    batch = SimpleNamespace(
        n=EVERY, commits=True, location="s3a://b/t", deferred=(), rows=(1,), create=None, evolve=None, adopt=None
    )
    done: Any = SimpleNamespace(batch=batch, landed=None, found=False, has_all=False)

    def next_batch(present: Table, *_: Any, **__: Any) -> Any:
        present.recorded = True
        return done

    monkeypatch.setattr(run, "_next_batch", next_batch)
    monkeypatch.setattr(compaction, "follow_cluster_by", lambda *_: ())
    monkeypatch.setattr(compaction, "compact", lambda _, location, name, *more: compacted.append(f"{name} {location}"))
    assert run_table(table, RunOptions("test", listing=False)) == [done]
    assert compacted == ["bronze.t s3a://b/t"]


@pytest.mark.parametrize(
    ("cluster_by", "born", "create", "clustered"),
    [(["id"], False, True, 1), (["id"], True, False, 0), (None, False, True, 0), ([], False, True, 0)],
)
def test_a_table_that_is_born_is_clustered_without_a_request_for_its_birth(
    monkeypatch: pytest.MonkeyPatch, cluster_by: Any, born: bool, create: bool, clustered: int
) -> None:
    asked: list[str] = []
    table: Any = Table()
    table.birth, table.recorded = table.birth if born else None, True
    table.spec = SimpleNamespace(name="t", cluster_by=cluster_by)
    batch: Any = SimpleNamespace(n=1, commits=True, location="s3a://b/t", create=create or None)
    monkeypatch.setattr(compaction, "follow_cluster_by", lambda _, location, wanted, name, log: asked.append(name))
    run._compact(table, [batch], lambda _: None)
    assert asked == ["bronze.t"] * clustered


def test_a_server_with_another_log_store_is_named_at_the_start_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    table: Any = Table()
    table.delta = SimpleNamespace(other_log_store=lambda commits: f"the server's is not that of {commits}")
    monkeypatch.setattr(run, "_next_batch", lambda *_, **__: None)
    lines: list[str] = []
    listener = RunListener()
    monkeypatch.setattr(listener, "log", lines.append)
    assert run_table(table, RunOptions("test", listing=False), listener) == []
    assert lines == ["WARNING: the server's is not that of s3"]


def test_each_batch_is_reported_as_soon_as_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run of the table fails with its second batch."""
    first: Any = SimpleNamespace(
        batch=SimpleNamespace(deferred=(), rows=(1,)), landed="version 3", found=True, has_all=False
    )
    steps = iter([first])
    recorded: list[Any] = []
    listener = RunListener()
    monkeypatch.setattr(listener, "batch_recorded", lambda *given: recorded.append(given))
    monkeypatch.setattr(run, "_next_batch", lambda *_, **__: next(steps))
    with pytest.raises(StopIteration):
        run_table(Table(), RunOptions("test", listing=False), listener)  # type: ignore[arg-type]
    assert recorded == [(first.batch, first.landed)]


def test_a_batch_that_is_recorded_and_not_finished_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that recorded it died before its report."""
    batch: Any = SimpleNamespace(
        n=4, digest="d", deferred=(), rows=(1,), create=None, evolve=None, adopt=None, commits=False
    )
    table: Any = Table()
    header = SimpleNamespace(outcome="committed", bronze_version=9)
    table.ledger = SimpleNamespace(clock=lambda: Clock(7, 4), header=lambda version, n: header)
    table.batches = SimpleNamespace(read=lambda n: None)
    left, finished = [batch], list[Any]()
    monkeypatch.setattr(run, "find_unfinished", lambda *_: left.pop() if left else None)
    monkeypatch.setattr(run, "finish", lambda table, batch, log, *, void: finished.append((batch, void)))
    monkeypatch.setattr(run, "look", lambda *_, **__: None)
    monkeypatch.setattr(run, "retry_noted", lambda *_, **__: None)
    (result,) = run_table(table, RunOptions("test", listing=False))
    assert (result.batch, result.landed, result.found) == (batch, CommitResult(9, "committed", "d", None, True), True)
    assert finished == [(batch, False)]


def test_files_that_the_server_cannot_record_are_left_out_and_the_batch_is_prepared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table: Any = Table()
    table.ledger = SimpleNamespace(clock=lambda: Clock(7, 4))
    table.batches = SimpleNamespace(read=lambda n: None)
    plan, prepared, logged = ["bad", "good"], list[Any](), list[str]()
    draft: Any = SimpleNamespace(
        n=5,
        plan=SimpleNamespace(keys=plan, candidates=[], drop={}, leaving={}, rows=[], deferred=[]),
        birth=SimpleNamespace(output=None),
    )
    refused = UnreadableFiles(SimpleNamespace(n=5, table="landing.t", rows=()), {"bad": "no."})  # type: ignore[arg-type]
    monkeypatch.setattr(refused, "withdraw", lambda plan: plan.keys.remove("bad"))

    def decided(table: Any, draft: Any, found: Any, run_id: str) -> Any:
        if "bad" in found:
            raise refused
        return SimpleNamespace(n=5, rows=["decided"], deferred=(), manifests=())

    monkeypatch.setattr(run, "find_unfinished", lambda *_: None)
    monkeypatch.setattr(run, "retry_noted", lambda *_, **__: None)
    monkeypatch.setattr(run, "look", lambda *_, **__: draft)

    class Prepared(list[str]):
        def version_seen(self, batch: Any) -> int:
            return 7

    monkeypatch.setattr(run, "prepare", lambda table, draft: prepared.append(Prepared(draft.plan.keys)) or prepared[-1])
    monkeypatch.setattr(run, "decide", decided)
    reads: list[Any] = []

    @contextmanager
    def reading(_: Any, __: Any, ___: Any, plan: Any, seconds: float) -> Iterator[None]:
        reads.append((seconds, len(prepared)))
        yield
        reads.append(len(prepared))

    monkeypatch.setattr(run, "limit_reading", reading)
    kept: list[Any] = []
    monkeypatch.setattr(run, "keep_named_folders", lambda table, found, rows: kept.append((list(found), list(rows))))
    landed: Any = SimpleNamespace(outcome="committed")
    monkeypatch.setattr(run, "land", lambda table, batch, *_, **__: BatchResult(batch, landed))
    monkeypatch.setattr(run, "_warn_about_doubts", lambda *_: None)
    listener = RunListener()
    monkeypatch.setattr(listener, "log", logged.append)
    run._next_batch(table, RunOptions("test", listing=False), listener, time.monotonic() + 400, first=True)
    assert prepared == [["bad", "good"], ["good"]]
    ((seconds, before), after) = reads
    assert (0 < seconds <= 400, before, after) == (True, 0, 2), "both share the time of one read"
    assert kept == [(["bad", "good"], []), (["good"], ["decided"])], "no folder stays that the batch does not name"
    assert any("bad: no." in line and "without them" in line for line in logged)


def test_a_run_without_time_for_a_read_leaves_it_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """No further batch begins without the full time of a read. The first batch may have less, after a long listing."""
    table: Any = Table()
    table.ledger = SimpleNamespace(clock=lambda: Clock(7, 4))
    table.batches = SimpleNamespace(read=lambda n: None)
    plan = SimpleNamespace(candidates=["a"], drop={}, leaving={}, rows=[], deferred=[])
    draft: Any = SimpleNamespace(n=5, plan=plan, birth=SimpleNamespace(output=None))
    monkeypatch.setattr(run, "find_unfinished", lambda *_: None)
    monkeypatch.setattr(run, "retry_noted", lambda *_, **__: None)
    monkeypatch.setattr(run, "look", lambda *_, **__: draft)
    logged = list[str]()
    listener = RunListener()
    monkeypatch.setattr(listener, "log", logged.append)
    until = time.monotonic() + 200
    assert run._next_batch(table, RunOptions("test", listing=False), listener, until, first=True) is None
    assert any("the next run reads them" in line for line in logged)

    begun: list[bool] = []
    batch: Any = SimpleNamespace(
        batch=SimpleNamespace(deferred=(), rows=(1,), commits=False, create=None, evolve=None, adopt=None)
    )
    batch.landed, batch.found, batch.has_all = None, False, False

    def next_batch(*_: Any, first: bool) -> Any:
        begun.append(first)
        return batch

    table.inbox = SimpleNamespace(waiting_manifests=lambda: [SimpleNamespace(id="m")])
    monkeypatch.setattr(run, "_next_batch", next_batch)
    for seconds, batches in [(MAX_SECONDS - 1, 1), (MAX_SECONDS + 100, MAX_BATCHES)]:
        begun.clear()
        monkeypatch.setattr(run, "READS_SECONDS", seconds)
        run_table(table, RunOptions("test", listing=False))
        assert begun == [True, *[False] * (batches - 1)]


def test_a_table_that_rests_is_read_only_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    table: Any = Table()
    table.ledger = SimpleNamespace(clock=lambda: Clock(7, 4))
    table.batches = SimpleNamespace(read=lambda n: None)
    rest = Manifest.create_rest("landing.t", time.time() + 60)
    table.inbox = SimpleNamespace(waiting_manifests=lambda: [SimpleNamespace(id=rest.id)])
    monkeypatch.setattr(run, "find_unfinished", lambda *_: None)
    monkeypatch.setattr(run, "retry_noted", lambda *_, **__: None)
    monkeypatch.setattr(run, "list_prefix", lambda *_, **__: None)
    monkeypatch.setattr(run, "look", lambda *_, **__: None)
    table.spec = SimpleNamespace(inventory=None, window=60)
    table.key = SimpleNamespace(uri="s3://landing/t")
    table.birth = None
    with pytest.raises(UnavailableError, match=r"landing\.t rests until"):
        run._next_batch(table, RunOptions("test", listing=False), RunListener(), 0.0, first=False)
    assert run._next_batch(table, RunOptions("test", listing=True), RunListener(), 0.0, first=False) is None


class Inbox:
    """An inbox whose listings are counted."""

    def __init__(self, *ids: str) -> None:
        self.ids, self.listings = ids, 0

    def waiting_manifests(self) -> list[Any]:
        self.listings += 1
        return [SimpleNamespace(id=id) for id in self.ids]


@pytest.mark.parametrize(
    ("change", "listings"),
    [
        ({}, 1),
        ({"waiting": ("a", "taken-b")}, 1),
        ({"waiting": ("a", "b")}, 2),
        ({"deferred": ("hint",)}, 2),
        ({"outcome": "void"}, 2),
        ({"lists": True}, 2),
        ({"window": 0}, 2),
    ],
)
def test_a_run_ends_without_a_second_listing_if_its_batch_has_all_that_the_first_showed(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], listings: int
) -> None:
    """What comes later waits for the window, as it would without a run."""
    table: Any = Table()
    table.inbox = inbox = Inbox(*change.get("waiting", ("a",)))
    table.spec = SimpleNamespace(window=change.get("window", 60), cluster_by=None)
    table.ledger = SimpleNamespace(clock=lambda: Clock(7, 4))
    table.batches = SimpleNamespace(read=lambda n: None)
    plan = SimpleNamespace(candidates=[], drop={}, leaving={}, rows=[], deferred=[])
    drafts = iter([SimpleNamespace(n=5, plan=plan, birth=SimpleNamespace(output=None)), None])
    batch: Any = SimpleNamespace(
        n=5,
        manifests=("a",),
        deferred=change.get("deferred", ()),
        rows=(1,),
        commits=False,
        create=None,
        evolve=None,
        adopt=None,
    )
    landed: Any = SimpleNamespace(outcome=change.get("outcome", "committed"))
    monkeypatch.setattr(run, "find_unfinished", lambda *_: None)
    monkeypatch.setattr(run, "require_awake", lambda *_: None)
    monkeypatch.setattr(run, "_list", lambda *_, **__: change.get("lists", False))
    monkeypatch.setattr(run, "retry_noted", lambda *_, **__: None)
    monkeypatch.setattr(run, "look", lambda *_, **__: next(drafts))
    monkeypatch.setattr(run, "prepare", lambda *_: None)
    monkeypatch.setattr(run, "limit_reading", contextmanager(lambda *_: iter([None])))
    monkeypatch.setattr(run, "_prepare_and_decide", lambda *_: (SimpleNamespace(version_seen=lambda _: 7), batch))
    monkeypatch.setattr(run, "land", lambda *_, **__: BatchResult(batch, landed))
    monkeypatch.setattr(run, "_warn_about_doubts", lambda *_: None)
    monkeypatch.setattr(run, "_is_empty", lambda inbox: not inbox.waiting_manifests() or True)
    assert len(run_table(table, RunOptions("test", listing=False))) == 1
    assert inbox.listings == listings


def test_the_table_that_a_run_got_is_opened_again_after_its_first_batch_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table: Any = Table()
    opened: list[str] = []
    monkeypatch.setattr(table, "reopen", lambda: opened.append("again") or table)
    batch: Any = SimpleNamespace(n=1, deferred=(), rows=(1,), commits=False, create=None, evolve=None, adopt=None)
    steps: Any = iter([BatchResult(batch, None), None])  # type: ignore[arg-type]
    openings: list[int] = []
    monkeypatch.setattr(run, "_next_batch", lambda *_, **__: openings.append(len(opened)) or next(steps))
    table.inbox = Inbox("a")
    run_table(table, RunOptions("test", listing=False))
    assert openings == [0, 1]
