"""A batch is decided only if the server can read it. What it refuses of one file leaves the others alone."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze import decide as module
from tidegate.platform.bronze.decide import UnreadableFiles, decide
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add, Batch, SignalDecision
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Dataset, Plan, PlannedHint
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.results import BatchRefusal

ROWS = (
    LedgerRow("a", Status.DUPLICATE, event_id="m#0", manifest="m", version_id="v" * 9),
    LedgerRow("a", Status.COMMITTED, event_id="m#1", manifest="m", etag="e", size=2**63),
    LedgerRow("b", Status.COMMITTED, event_id="m#2", manifest="m", etag="e", size=1),
)
ADDS = (
    Add("a", {}, 1, 1, '{"numRecords":1}', "e", "a"),
    Add("b", {}, 1, 1, '{"numRecords":1}', "e", "b"),
    Add("staged", {}, 1, 1, '{"numRecords":1}'),
)
BATCH = Batch("lake", "landing.t", "g", 3, "s3a://landing/t", 2, ("m",), rows=ROWS, adds=ADDS)


class Table:
    """A table whose server refuses some parts of batches."""

    def __init__(self, *refusals: BatchRefusal) -> None:
        self.decided: list[Batch] = []
        self.calls: list[tuple[Any, Any]] = []
        self.kept: list[str] = []
        self.batches = SimpleNamespace(decide=lambda batch: self.decided.append(batch) or batch)
        self._refusals = list(refusals)
        self.delta = SimpleNamespace(check_batch=self._check)

    def _check(self, batch: str, rows: str, columns: str, digest: str) -> list[BatchRefusal]:
        self.kept.append(digest)
        self.calls.append((json.loads(batch), json.loads(rows)))
        assert "size BIGINT" in columns
        return self._refusals


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> Batch:
    monkeypatch.setattr(module, "_draft_batch", lambda *_: BATCH)
    return BATCH


def _decide(table: Table) -> Batch:
    return decide(table, None, PreparedBatch(), "run")  # type: ignore[arg-type]


@pytest.mark.usefixtures("batch")
def test_the_server_reads_the_bytes_that_are_written_before_they_are() -> None:
    table = Table()
    assert _decide(table) == BATCH.seal()
    ((sent, rows),) = table.calls
    assert sent == json.loads(BATCH.seal().to_json())
    assert [row["key"] for row in rows] == ["a", "a", "b"]
    assert table.kept == [BATCH.seal().digest]


@pytest.mark.usefixtures("batch")
def test_a_batch_is_committed_on_the_version_that_its_own_run_saw() -> None:
    table, prepared = Table(), PreparedBatch(base=TableSchema((Field("id", simple_type("long")),), version=7))
    own = decide(table, None, prepared, "run")  # type: ignore[arg-type]
    assert prepared.version_seen(own) == 7
    assert PreparedBatch(digest=prepared.digest).version_seen(own) == -1, "before the first file of a table"
    winner = replace(BATCH, run_id="another").seal()
    table.batches.decide = lambda _: winner
    assert prepared.version_seen(decide(table, None, prepared, "run")) == -1  # type: ignore[arg-type]


@pytest.mark.parametrize("refusal", [BatchRefusal("rows", 1, "column size is BIGINT."), BatchRefusal("adds", 0, "no.")])
@pytest.mark.usefixtures("batch")
def test_a_file_that_cannot_be_recorded_is_named_and_the_others_are_decided_without_it(refusal: BatchRefusal) -> None:
    table = Table(refusal)
    with pytest.raises(
        UnreadableFiles, match=rf"batch 3 of landing.t was not decided.* a: .*{refusal.problem}"
    ) as found:
        _decide(table)
    assert table.decided == []
    candidates = [Candidate(key, S3Found("e", 1, 1), PlannedHint(Hint(key, Event("m#0")), "m")) for key in "ab"]
    plan = Plan(candidates, [ROWS[0], LedgerRow("c", Status.REMOVED)], {"a": (ROWS[0], ROWS[0])})
    found.value.withdraw(plan)
    assert [candidate.key for candidate in plan.candidates] == ["b"]
    assert plan.drop == {}
    # Each event of the file ends as one row, which has nothing that the server could refuse.
    other, *rows = plan.rows
    assert other.key == "c"
    assert [(row.status, row.event_id) for row in rows] == [(Status.DUPLICATE, "m#0"), (Status.QUARANTINED, "m#1")]
    assert all(row.version_id is row.etag is row.size is None for row in rows)
    assert refusal.problem in (rows[1].reason or "")


@pytest.mark.parametrize("bad", ["a", "s", "as"])
@pytest.mark.usefixtures("batch")
def test_a_dataset_with_a_part_or_signal_that_cannot_be_recorded_waits_and_says_why(bad: str) -> None:
    def hint(key: str) -> PlannedHint:
        return PlannedHint(Hint(key, Event(f"{key}#1")), "m")

    found = S3Found("e", 1, 1)
    rows = tuple(LedgerRow(key, Status.COMMITTED, event_id=f"{key}#1", manifest="m", etag="e") for key in "abs")
    refused = UnreadableFiles(replace(BATCH, rows=rows), {key: "has a size of 2^63." for key in bad})
    others = Dataset(hint("t"), (), found, frozenset("c"), 1)
    dataset = Dataset(hint("s"), (PlannedHint(Hint("s", Event("s#0")), "m"),), found, frozenset("ab"), 2)
    plan = Plan([Candidate(key, found, hint(key)) for key in "abc"], datasets=[dataset, others])
    refused.withdraw(plan)
    # Otherwise a second attempt would defer the dataset, or record its signal again, for ever.
    assert (plan.datasets, [candidate.key for candidate in plan.candidates], plan.deferred) == ([others], ["c"], [])
    last = {row.key: row for row in plan.rows if row.status is not Status.DUPLICATE}
    assert len(plan.rows) == len(last) + (bad == "a")
    statuses = {key: row.status for key, row in last.items()}
    of_a = Status.QUARANTINED if "a" in bad else Status.WAITING
    assert statuses == {"a": of_a, "b": Status.WAITING, "s": Status.QUARANTINED}
    assert all(last[key].etag is None and last[key].reason == "has a size of 2^63." for key in bad)
    why = "its part a cannot be ingested, so nothing of the dataset enters: " if "a" in bad else ""
    assert last["b"].reason == f"its signal s is in quarantine: {why}has a size of 2^63."
    if "s" not in bad:
        assert last["s"].reason == f"{why}has a size of 2^63."
    assert plan.signals == [SignalDecision("s", "a" if "a" in bad else None)]


@pytest.mark.parametrize(
    "refusal", [BatchRefusal("", None, "n is bad."), BatchRefusal("adds", 2, "no."), BatchRefusal("removes", 0, "no.")]
)
@pytest.mark.usefixtures("batch")
def test_what_is_not_a_file_s_fault_decides_nothing_and_blames_no_file(refusal: BatchRefusal) -> None:
    table = Table(refusal)
    with pytest.raises(AssertionError, match=rf"not decided.*{refusal.problem}.*no file is at fault") as found:
        _decide(table)
    assert not isinstance(found.value, UnreadableFiles)
    assert table.decided == []


def test_a_large_batch_is_read_in_parts_that_have_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(LedgerRow(f"k{i:05}", Status.REMOVED) for i in range(1000))
    large = replace(BATCH, rows=rows, adds=ADDS * 3, manifests=tuple(f"m{i}" for i in range(50)))
    monkeypatch.setattr(module, "_draft_batch", lambda *_: large)
    monkeypatch.setattr(module, "_MAX_SENT", 10_000)
    table = Table()
    _decide(table)
    assert len(table.calls) > 3
    assert all(len(json.dumps(sent)) < 20_000 for sent, _ in table.calls)
    for name, whole in (("rows", 1000), ("adds", 9), ("manifests", 50)):
        assert sum(len(sent[name]) for sent, _ in table.calls) == whole
    assert sorted(row["key"] for _, rows in table.calls for row in rows) == [row.key for row in rows]
    # A refusal of a part names the file at its place in that part.
    key = table.calls[1][1][2]["key"]
    assert set(table.kept) == {""}, "a part is not the batch that its digest names"
    table.delta.check_batch = lambda batch, rows, columns, digest: (
        [BatchRefusal("rows", 2, "no.")] if json.loads(rows)[2]["key"] == key else []
    )
    with pytest.raises(UnreadableFiles) as found:
        _decide(table)
    assert list(found.value.reasons) == [key]
    assert len(table.decided) == 1
