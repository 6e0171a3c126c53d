"""A merge takes a bounded part of any backlog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.bronze.batch import Add, Batch, Remove
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.silver import changes as silver_changes
from tidegate.platform.silver.changes import count_within, gather_changes
from tidegate.platform.silver.merge import MergeResult, _join_results
from tidegate.platform.silver.pending_merge import Aim

FILES = 40


def backlog(*, registered: bool, mark: int | None, n: int, void: int = 0, size: int = 1 << 20) -> Any:
    """Return a pending merge of batches of `FILES` files each, whose objects have `size` bytes."""

    def read(number: int) -> Batch:
        rows = tuple(LedgerRow(f"t/{number}-{i}", Status.COMMITTED, rows=10, size=1 << 20) for i in range(FILES))
        adds = tuple(Add(f"{number}-{i}.parquet", {}, 1, 0, '{"numRecords": 10}') for i in range(FILES))
        return Batch("lake", "t", "g", number, "s3a://b/t", 1, (), rows, adds if registered else ())

    batches = SimpleNamespace(
        sizes=lambda after: {k: None if k == void else size for k in range(after + 1, n + 2)}, read=read
    )
    birth = SimpleNamespace(registered=registered, location="s3a://b/t")
    return SimpleNamespace(
        table=SimpleNamespace(birth=birth, batches=batches, table_key="b.t", ledger=None),
        spec=SimpleNamespace(on_removed="ignore"),
        bronze=SimpleNamespace(files=10**6),
        silver=SimpleNamespace(files=0),
        settled=0,
        since=None,
        mark=mark,
        n=n,
        aim=Aim.WAITING,
        ledger=None,
    )


class Bronze:
    """Records the batches that each merge reads."""

    def __init__(self) -> None:
        self.read: list[list[int]] = []
        self.session = SimpleNamespace(catalog=SimpleNamespace(dropTempView=lambda view: None))

    def batch_view(self, location: str, paths: dict[int, list[str]], view: str) -> list[str]:
        self.read.append(sorted(paths))
        return []

    def loaded(self, delta: Any, birth: Any, after: int, upto: int, version: None = None) -> Any:
        self.read.append(list(range(after + 1, upto + 1)))
        return SimpleNamespace(createOrReplaceTempView=lambda view: None)


def merged(bronze: Bronze, work: Any) -> list[int]:
    """Return the marks of the merges of a run, in their order."""
    marks: list[int] = []
    while (work.mark or 0) < work.n:
        with gather_changes(bronze, work) as changes:  # type: ignore[arg-type]
            work.mark = changes.n
            marks.append(changes.n)
            assert changes.volume["rows"] == FILES * 10 * changes.batches
    return marks


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
@pytest.mark.parametrize(
    ("bound", "marks"),
    [({}, [22, 38, 52]), ({"_MAX_BATCHES": 20}, [22, 38, 52]), ({"_MAX_BATCHES": 10}, [16, 26, 36, 46, 52]),
     ({"_MAX_ROWS": 5000}, [18, 30, 42, 52]), ({"_MAX_SOURCE_BYTES": 500 << 20}, [18, 30, 42, 52]),
     ({"_MAX_ROWS": 1}, [*range(6, 11), *range(12, 53)])],
    ids=["bytes", "bytes first", "batches", "rows", "bytes of files", "one batch at least"],
)  # fmt: skip
def test_a_backlog_is_merged_in_steps_each_with_its_mark(
    registered: bool, bound: dict[str, int], marks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    bronze = Bronze()
    monkeypatch.setattr(silver_changes, "_loaded_rows", bronze.loaded)
    for name, most in bound.items():
        monkeypatch.setattr(silver_changes, name, most)
    assert merged(bronze, backlog(registered=registered, mark=5, n=52, void=11)) == marks
    read = [n for step in bronze.read for n in step if n != 11]
    assert read == [n for n in range(6, 53) if n != 11], "each batch once"


def _volume(delta: Any, ledger: Any, after: int, upto: int) -> tuple[int, dict[str, int]]:
    return upto - after, {"rows": FILES * 10 * (upto - after)}


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
@pytest.mark.parametrize(
    ("bound", "marks"),
    [({}, [120]), ({"_MAX_LEDGER_BATCHES": 90}, [90, 106, 120]), ({"_MAX_LEDGER_FILES": FILES * 100}, [100, 116, 120]),
     ({"_MAX_LEDGER_BYTES": FILES << 20}, [1, *range(17, 114, 16), 120])],
    ids=["fits", "batches", "files", "bytes, and one batch at least"],
)  # fmt: skip
def test_a_first_merge_of_much_is_in_steps(
    registered: bool, bound: dict[str, int], marks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first step queries the ledger, and is the only one as long as it is within its own, larger limits."""
    bronze, work = Bronze(), backlog(registered=registered, mark=None, n=120)
    monkeypatch.setattr(silver_changes, "_loaded_rows", bronze.loaded)
    monkeypatch.setattr(
        silver_changes, "_registered_rows", lambda *given: (bronze.loaded(None, None, *given[-2:]), None)
    )
    monkeypatch.setattr(silver_changes, "_volume", _volume)
    batches = [(n, FILES, FILES << 20) for n in range(1, 121)]
    monkeypatch.setattr(silver_changes, "_batch_sizes", lambda *given: batches[: silver_changes._MAX_LEDGER_BATCHES])
    for name, most in bound.items():
        monkeypatch.setattr(silver_changes, name, most)
    assert merged(bronze, work) == marks
    assert [n for step in bronze.read for n in step] == list(range(1, 121)), "each batch once, in their order"


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
@pytest.mark.parametrize(
    ("way", "of_batches", "read"),
    [({}, 10, 10), ({"mark": None}, 40, 40), ({"aim": Aim.REREAD}, 10, 40), ({"aim": Aim.REBUILD}, 40, 40),
     ({"aim": Aim.REBUILD_SINCE, "since": 31}, 10, 40)],
    ids=["after the mark", "first", "dumps", "rebuild", "rebuild from a batch"],
)  # fmt: skip
def test_a_merge_knows_how_many_rows_it_reads(
    registered: bool, way: dict[str, Any], of_batches: int, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may read all of bronze for a few batches, and what grows with the rows is bounded by those that it reads."""
    bronze, work = Bronze(), backlog(registered=registered, mark=30, n=40, size=1)
    vars(work).update(way, bronze=SimpleNamespace(files=1, version=1))
    with whole_bronze(bronze, monkeypatch), gather_changes(bronze, work) as changes:  # type: ignore[arg-type]
        assert (changes.volume["rows"], changes.rows) == (FILES * 10 * of_batches, FILES * 10 * read)


@pytest.mark.parametrize("why", ["replaced", "gone", "gone before the end"])
def test_a_merge_that_turns_out_to_need_all_of_bronze_knows_its_rows(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bronze, work = Bronze(), backlog(registered=why != "replaced", mark=30, n=40, size=1)
    if why == "replaced":
        read = work.table.batches.read
        work.table.batches.read = lambda n: replace(read(n), removes=(Remove("1.parquet", None),) if n == 35 else ())
    if why == "gone before the end":
        monkeypatch.setattr(silver_changes, "_MAX_BATCHES", 5)
    monkeypatch.setattr(bronze, "batch_view", lambda *given: ["gone.parquet"])
    with whole_bronze(bronze, monkeypatch, "gone"), gather_changes(bronze, work) as changes:  # type: ignore[arg-type]
        assert changes.why_full is not None
        assert (changes.n, changes.volume["rows"], changes.rows) == (40, FILES * 10 * 10, FILES * 10 * 40)


@contextmanager
def whole_bronze(bronze: Bronze, monkeypatch: pytest.MonkeyPatch, missing: str | None = None) -> Iterator[None]:
    """Give bronze's rows to every merge, with what is missing of a registered table."""
    plain = bronze.loaded(None, None, 0, 0)
    with monkeypatch.context() as patched:
        for name, answer in (("_loaded_rows", plain), ("_registered_rows", (plain, missing)), ("_all_rows", plain)):
            patched.setattr(silver_changes, name, lambda *given, answer=answer: answer)
        patched.setattr(silver_changes, "_volume", _volume)
        yield


@pytest.mark.parametrize(("settled", "marks"), [(0, [40]), (29, [40]), (30, [26, 40])])
def test_what_left_bronze_before_silver_was_read_makes_no_merge_read_all_of_it(
    settled: int, marks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch 30 replaced rows. The steps of a first merge that began after it stay small."""
    bronze, work = Bronze(), backlog(registered=False, mark=10, n=40)
    read, work.settled = work.table.batches.read, settled
    work.table.batches.read = lambda n: replace(read(n), removes=(Remove("1.parquet", None),) if n == 30 else ())
    monkeypatch.setattr(silver_changes, "_loaded_rows", bronze.loaded)
    monkeypatch.setattr(silver_changes, "_volume", _volume)
    assert merged(bronze, work)[-len(marks) :] == marks
    assert any(step[0] == 1 for step in bronze.read) == (settled < 30), "all of bronze"


def test_a_merge_that_takes_rows_out_of_silver_has_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a reset with `on_removed: full`: after a first step, readers would miss the rows of all other batches."""
    bronze, work = Bronze(), backlog(registered=False, mark=None, n=120)
    work.spec.on_removed, work.silver.files = "full", 3
    for name in ("_MAX_LEDGER_BATCHES", "_MAX_LEDGER_FILES", "_MAX_LEDGER_BYTES"):
        monkeypatch.setattr(silver_changes, name, 1)
    monkeypatch.setattr(silver_changes, "_loaded_rows", bronze.loaded)
    monkeypatch.setattr(silver_changes, "_volume", _volume)
    assert merged(bronze, work) == [120]


@pytest.mark.limit("Silver", "`--from-batch` is refused where it is not known which batch a row came with.")
def test_a_rebuild_from_a_batch_is_refused_where_the_batches_of_rows_are_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After OPTIMIZE of a registered table, for example. All of silver can be computed without these numbers."""
    work = backlog(registered=True, mark=5, n=5)
    work.aim, work.since, work.table.spec = Aim.REBUILD_SINCE, 4, SimpleNamespace(name="items")
    missing = "2 files are no longer in bronze"
    monkeypatch.setattr(silver_changes, "_registered_rows", lambda *given: (None, missing))
    monkeypatch.setattr(silver_changes, "_volume", _volume)
    refused = r"silver\.items: 2 files are no longer .* in batch 4 or later: rebuild the whole"
    with pytest.raises(ValueError, match=refused), gather_changes(Bronze(), work):  # type: ignore[arg-type]
        pass
    work.aim, work.since = Aim.REBUILD, None
    with gather_changes(Bronze(), work) as changes:  # type: ignore[arg-type]
        assert changes.why_full == "a rebuild was requested"


def test_what_one_merge_names_passes_to_spark_connect() -> None:
    """A batch object contains the path of each file. In a statement, a character of a path takes at most six bytes."""
    assert silver_changes._MAX_BYTES * 6 < 128 << 20


def test_as_much_as_fits_and_one_at_least() -> None:
    assert [count_within([3, 4, 5], most) for most in (2, 3, 6, 7, 11, 12, 99)] == [1, 1, 1, 2, 2, 3, 3]
    assert count_within([], 5) == 0


def test_a_run_reports_all_its_merges_together() -> None:
    first = MergeResult(3, 10, 10, {"files": 1, "rows": 2, "bytes": 3, "oldest_event_age_seconds": 9}, "why", 1, 2, 3)
    second = MergeResult(4, 12, 2, {"files": 1, "rows": 1, "bytes": 1}, None, 1, 1, 0)
    volume = {"files": 2, "rows": 3, "bytes": 4, "oldest_event_age_seconds": 9}
    assert _join_results([first, second]) == MergeResult(4, 12, 12, volume, "why", 2, 3, 3)
    assert _join_results([second]) == second
