from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.platform.core.costs.test_replay import ARRIVALS, TICK, ticked
from tidegate.platform.core.costs import table_cost
from tidegate.platform.core.costs.figures import FIGURES
from tidegate.platform.core.costs.replay import Timing, merges_of
from tidegate.platform.core.costs.table_cost import Recorded, Stored, TableCost, TableFacts

#: A file each ten seconds for a day.
DAY = [(slot, 3) for slot in range(2_880)]
FACTS = TableFacts(Timing(45), registers=False, max_files=10_000, tick=TICK, fresh=330)


def recorded(arrivals: list[tuple[int, int]], window: int, max_files: int = 10_000) -> Recorded:
    """Return what a ledger has if everything went by the rules."""
    begun = ticked(arrivals, window, max_files) if arrivals != DAY else list(range(2, 2_881, 2))
    files = sum(events for _, events in arrivals)
    return Recorded(
        "2026-11",
        batches=len(begun),
        timed=len(begun),
        seconds=0.5 * len(begun),
        runs=len(begun) / 4,
        messages=files,
        manifests=len(arrivals),
        files=files,
        bytes=900 * files,
        begun=begun,
        arrivals=arrivals,
    )


def test_a_month_is_computed_from_what_the_ledger_has() -> None:
    """Each service by hand. A day with 1,440 batches of six files."""
    cost = TableCost(recorded(DAY, 45), FACTS, FIGURES, Stored(10 << 30, 0.5)).month()
    core = (0.04048 + 4 * 0.004445) / 3_600 / 0.6
    expected = {
        "storage": 10 * 0.5 * 0.023,
        "compute": (720 + 360 * 0.76 + 8_640 * 0.00025) * core,
        "S3 requests": (1_440 * 10 + 2_880) * 5e-6 + (1_440 * 8 + 2_880 + 8_640) * 4e-7,
        "SQS": 8_640 * 1.2 * 4e-7,
        "DynamoDB": 1_440 * (4 * 6.25e-7 + 4 * 1.25e-7),
    }
    assert cost.dollars == pytest.approx(expected)
    assert cost.total == pytest.approx(sum(expected.values()))
    assert (cost.merges, cost.measured) == (0, 1.0)
    assert cost.events == cost.dollars["SQS"]


@pytest.mark.parametrize(
    ("window", "lists"), [(0, 1_440), (300, 288)], ids=["never twice in a minute", "once in a window"]
)
def test_listings_cost_a_request_for_each_thousand_files_whenever_they_look(window: int, lists: int) -> None:
    """A day, in whose mean half of 8,640 files are there."""
    found = replace(recorded(DAY, 45), messages=0)
    cost = TableCost(found, replace(FACTS, timing=Timing(window)), FIGURES).month()
    assert cost.listings == pytest.approx(lists * (1 + 8.64 / 2) * 5e-6, rel=0.01)
    assert cost.events == pytest.approx(8_640 * 1.2 * 4e-7)
    idle = TableCost(Recorded("2026-11", batches=3), FACTS, FIGURES).month()
    assert (idle.listings, idle.events) == (0.0, 0.0)


def test_a_registered_table_makes_the_requests_of_its_kind() -> None:
    loaded, registered = (
        TableCost(recorded(DAY, 45), replace(FACTS, registers=registers), FIGURES).month().usage
        for registers in (False, True)
    )
    assert loaded.s3_writes - registered.s3_writes == 1_440
    assert loaded.s3_reads - registered.s3_reads == 1_440 * 2


def test_seconds_that_an_older_version_did_not_record_are_computed() -> None:
    found = recorded(DAY, 45)
    older = replace(found, timed=0, seconds=0.0)
    month, half = (
        TableCost(each, FACTS, FIGURES).month() for each in (older, replace(found, timed=720, seconds=360.0))
    )
    fixed = 360 * 0.76 + 8_640 * 0.00025
    assert month.usage.core_seconds == pytest.approx(1_440 * 0.5 + 8_640 * 0.00126 + fixed)
    assert half.usage.core_seconds == pytest.approx(720 + 4_320 * 0.00126 + fixed)
    assert month.measured == 0.0
    assert half.measured == pytest.approx(360 / (720 + 4_320 * 0.00126))


def test_merges_of_silver_cost_requests_and_compute() -> None:
    silver = replace(FACTS, timing=Timing(45, 60))
    bare, merged = (TableCost(recorded(DAY, 45), facts, FIGURES).month() for facts in (FACTS, silver))
    assert merged.merges == 1_440
    assert merged.usage.s3_writes - bare.usage.s3_writes == 1_440 * 10
    assert merged.usage.core_seconds - bare.usage.core_seconds == pytest.approx(1_440 * 1.4)


def test_the_remedy_is_the_longest_window_that_is_fresh_enough() -> None:
    cost = TableCost(recorded(DAY, 45), FACTS, FIGURES)
    remedy = cost.remedy()
    assert remedy is not None
    assert remedy.timing == Timing(300)
    assert remedy.batches == 288  # 2,880 slots, and each batch takes ten
    assert remedy.saving == pytest.approx(cost.month().total * (1 - remedy.share))
    assert remedy.text(FACTS.timing).startswith("window 300 instead of 45: ")
    by_hand = TableCost(recorded(DAY, 45), replace(FACTS, timing=Timing(300)), FIGURES)
    assert by_hand.remedy() is None


@pytest.mark.parametrize("now", [Timing(45), Timing(45, 60), Timing(0, 600)])
def test_the_cost_with_the_remedy_is_what_such_a_month_costs(now: Timing) -> None:
    """The month that a table with these settings would have had is computed independently.

    In the last case fewer batches are worth more merges.
    """
    arrivals = [(slot, 1) for slot in range(0, 480, 3)]
    found, facts = recorded(arrivals, now.window), replace(FACTS, timing=now)
    remedy = TableCost(found, facts, FIGURES).remedy()
    assert remedy is not None
    then = recorded(arrivals, remedy.timing.window)
    then = replace(then, runs=found.runs / found.batches * then.batches)
    before, after = (
        TableCost(month, replace(facts, timing=timing), FIGURES).month()
        for month, timing in ((found, now), (then, remedy.timing))
    )
    assert remedy.saving == pytest.approx(before.total - after.total)
    assert (after.merges > before.merges) == (now.every == 600)


@given(ARRIVALS, st.sampled_from([0, 30, 60, 300, 900]), st.sampled_from([None, 60, 600]), st.integers(1, 30))
def test_no_remedy_costs_more_or_is_less_fresh_than_it_may_be(
    arrivals: list[tuple[int, int]], window: int, every: int | None, max_files: int
) -> None:
    now = Timing(window, every)
    facts = replace(FACTS, timing=now, max_files=max_files, fresh=300)
    cost = TableCost(recorded(arrivals, window, max_files), facts, FIGURES)
    remedy = cost.remedy()
    if remedy is not None:
        assert remedy.timing.delay <= max(300, now.delay)
        assert remedy.saving > 0.05 * cost.month().total
        assert remedy.batches + remedy.merges < cost.month().batches + cost.month().merges


def test_batches_that_no_event_brought_stay() -> None:
    """A listing makes batches for which no window waits."""
    found = recorded(DAY, 45)
    listed = replace(found, batches=found.batches + 500, timed=found.batches + 500)
    remedy = TableCost(listed, FACTS, FIGURES).remedy()
    assert remedy is not None
    assert remedy.batches == 788


def test_runs_that_were_late_save_no_batches_twice() -> None:
    """If runs are late, the table has fewer batches than its window allows, and a longer window changes nothing."""
    found = recorded(DAY, 45)
    late = replace(found, batches=200, timed=200, seconds=100.0, runs=50.0, begun=found.begun[:200])
    assert TableCost(late, FACTS, FIGURES).remedy() is None


def test_a_month_without_batches_costs_its_storage() -> None:
    cost = TableCost(Recorded("2026-11"), FACTS, FIGURES, Stored(1 << 30, 1.0))
    assert cost.month().total == pytest.approx(0.023)
    assert cost.remedy() is None


def test_the_merges_of_now_are_computed_once_for_all_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, float]] = []

    def counted(batches: list[int], every: float, tick: float) -> int:
        calls.append((len(batches), every))
        return merges_of(batches, every, tick)

    monkeypatch.setattr(table_cost, "merges_of", counted)
    cost = TableCost(recorded(DAY, 45), replace(FACTS, timing=Timing(30, 10)), FIGURES)
    assert cost.remedy() is not None
    # The month, the settings of now as they would have been, and each of the settings.
    assert len(calls) == 2 + len([timing for timing in cost._choices() if timing.delay <= FACTS.fresh])
