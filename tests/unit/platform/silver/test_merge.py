"""A rebuild from a batch reads bronze up to the mark, however fast bronze records batches."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.silver import merge
from tidegate.platform.silver.merge import MAX_CATCH_UPS, rebuild_table
from tidegate.platform.silver.pending_merge import Aim, PendingMerge, RecordedLedger

SPEC: Any = SimpleNamespace(name="items")
LAKE: Any = SimpleNamespace(config=None, delta=None, store=SimpleNamespace(losses=None))


BRONZE: Any = SimpleNamespace(has_columns=True)
SILVER: Any = SimpleNamespace(version=7)
TABLE: Any = SimpleNamespace()


def start(
    mark: int | None, n: int, app_id: str = "app", aim: Aim = Aim.WAITING, since: int | None = None
) -> PendingMerge:
    """Return what a merge starts from, without tables."""
    ledger = RecordedLedger(TABLE, 1, n)
    return PendingMerge(
        TABLE, TABLE, "s3a://lake/silver/items", BRONZE, SILVER, mark, ledger, app_id, aim=aim, since=since
    )


def rebuilt(
    monkeypatch: pytest.MonkeyPatch, recorded: int, *, since: int | None = 3, replacing: int = 0
) -> tuple[PendingMerge, int, list[str]]:
    """Rebuild a table with the mark 4 of 5 batches.

    Returns the work of the last merge, the number of merges before it, and the log.

    Args:
        monkeypatch: replaces the tables.
        recorded: bronze records a batch during each of so many merges.
        since: first batch of the rebuild.
        replacing: batches up to this one replace rows.
    """
    work, merges, log = start(4, 5), 0, list[str]()

    def merge_table(*_: Any) -> None:
        nonlocal work, merges
        merges += 1
        work = replace(work, mark=work.n, ledger=RecordedLedger(TABLE, 1, work.n + (merges <= recorded)))

    monkeypatch.setattr(merge, "merge_table", merge_table)
    monkeypatch.setattr(merge, "merge_state", lambda *_: work)
    monkeypatch.setattr(merge, "_merge", lambda _, last, __: last)
    monkeypatch.setattr(merge, "waiting_batch_replaces_rows", lambda waiting: waiting.n <= replacing)
    last: Any = rebuild_table(LAKE, SPEC, log.append, since=since)  # type: ignore[arg-type]
    return last, merges, log


@pytest.mark.parametrize(("recorded", "n", "merges"), [(0, 5, 1), (1, 6, 2), (4, 9, 5)])
def test_batches_that_bronze_records_while_others_are_merged_are_merged_too(
    monkeypatch: pytest.MonkeyPatch, recorded: int, n: int, merges: int
) -> None:
    assert rebuilt(monkeypatch, recorded) == (start(n, n, "app:rebuild:7", Aim.REBUILD_SINCE, 3), merges, [])


def test_a_rebuild_from_a_batch_never_moves_the_mark_over_a_batch_that_was_not_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work, merges, log = rebuilt(monkeypatch, 99)
    assert (work.mark, work.n, work.app_id, merges) == (9, 9, "app:rebuild:7", MAX_CATCH_UPS)
    assert log == ["bronze.items records batches faster than they are merged: 10..10 are left"]


def test_a_rebuild_from_a_batch_never_leaves_a_batch_that_replaced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys whose rows came with that batch would leave silver until the next merge."""
    work, merges, _ = rebuilt(monkeypatch, 99, replacing=11)
    assert (work.mark, merges) == (11, 7)
    with pytest.raises(
        UnavailableError, match=r"rows of bronze\.items were replaced during each of 10 merges: rebuild sil"
    ):
        rebuilt(monkeypatch, 99, replacing=99)


def test_a_rebuild_of_everything_has_the_batches_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rebuilt(monkeypatch, 0, since=None) == (start(4, 5, aim=Aim.REBUILD), 0, [])


def test_a_table_that_is_reset_meanwhile_is_not_rebuilt_from_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "merge_table", lambda *_: None)
    monkeypatch.setattr(merge, "merge_state", lambda *_: start(None, 1))
    with pytest.raises(
        UnavailableError, match=r"bronze\.items was reset while silver\.items was rebuilt: rebuild it again"
    ):
        rebuild_table(LAKE, SPEC, since=3)  # type: ignore[arg-type]
