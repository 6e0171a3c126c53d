from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.fleet.arrivals import Burst, Load
from benchmarks.fleet.figures import figures
from benchmarks.fleet.outcome import Outcome
from benchmarks.fleet.rules import Costs, Rules
from benchmarks.fleet.simulation import Simulation

LOAD = Load(tables=120, a_day=2e6, seconds=600, bursts=(Burst(200, 300, tables=26, files=300),))
COSTS = Costs.of(figures())


def simulated(load: Load = LOAD, rules: Rules | None = None, costs: Costs = COSTS, cores: float = 4) -> Outcome:
    return Simulation(load, rules or Rules(), costs, cores).run()


OUTCOMES = {
    "by default": simulated(),
    "too few cores": simulated(cores=0.5),
    "small batches": simulated(rules=Rules(window=0, max_files=20, batches=2)),
    "small ticks": simulated(rules=Rules(events=400)),
    "no cold tables": simulated(rules=Rules(cold=0)),
    "short shared runs": simulated(rules=Rules(shared_seconds=5)),
    "processes": simulated(rules=Rules(processes=3)),
}


@pytest.fixture(params=list(OUTCOMES))
def outcome(request: pytest.FixtureRequest) -> Outcome:
    return OUTCOMES[request.param]


def test_every_object_is_committed_exactly_once(outcome: Outcome) -> None:
    assert outcome.arrived == sum(int(counts.sum()) for _, counts in LOAD.slices())
    assert outcome.committed == outcome.arrived


def test_no_table_has_two_batches_at_a_time(outcome: Outcome) -> None:
    by_table: dict[int, list[tuple[float, float]]] = {}
    for table, begun, ended in zip(*[iter(outcome.spans)] * 3, strict=True):
        by_table.setdefault(int(table), []).append((begun, ended))
    assert len(by_table) > 100
    for spans in by_table.values():
        assert all(first[1] <= second[0] for first, second in pairwise(sorted(spans)))


def test_no_object_is_visible_before_it_arrived_and_was_read(outcome: Outcome) -> None:
    assert min(lag for _, lag, _ in outcome.cohorts) > COSTS.run_seconds + COSTS.batch_seconds


def test_no_more_messages_are_in_flight_than_two_chunks(outcome: Outcome) -> None:
    assert 0 < outcome.flight <= 2 * Rules().chunk


def test_processes_take_in_what_one_tick_after_another_cannot() -> None:
    load = Load(tables=50, a_day=2 * COSTS.receive_rate * 86_400, seconds=120)
    late = simulated(load, Rules(every=5), cores=64)
    timely = simulated(load, Rules(every=5, processes=4), cores=64)
    assert late.committed == timely.committed == late.arrived
    assert late.depth_at_end > 4 * timely.depth_at_end
    assert late.manifests < timely.manifests <= 50 * 4 * (timely.arrived // (4 * Rules().chunk) + 60)


def test_the_same_seed_gives_the_same_outcome() -> None:
    assert simulated() == OUTCOMES["by default"]


def test_a_quiet_fleet_is_visible_after_its_window_and_a_tick() -> None:
    """A hint waits for the window, then for a tick, and nothing else takes as long as these."""
    rules = Rules(window=60, every=5)
    lags = simulated(Load(tables=30, a_day=30_000, seconds=1_200), rules).freshness()
    assert rules.window < lags[0] < rules.window + rules.receives + 3 * rules.every + 5


@pytest.mark.parametrize("every", [5.0, 40.0])
def test_hints_that_wait_are_as_many_as_littles_law_says(every: float) -> None:
    """The mean number in a system is the rate of arrivals times the mean time in it."""
    load = Load(tables=20, a_day=864_000, seconds=3_000)
    outcome = simulated(load, Rules(window=30, every=every), cores=8)
    steady = [(arrived, lag, count) for arrived, lag, count in outcome.cohorts if 500 < arrived < 2_500]
    mean_lag = sum(lag * count for _, lag, count in steady) / sum(count for _, _, count in steady)
    inside = [
        sum(count for arrived, lag, count in outcome.cohorts if arrived <= at < arrived + lag)
        for at in np.arange(600, 2_400, 7.0)
    ]
    assert np.mean(inside) == pytest.approx(10.0 * mean_lag, rel=0.1)


_TIMES = (
    "every", "receives", "poll", "loop", "shared_seconds", "dequeue", "min_window", "gathered_seconds",
)  # fmt: skip


def test_a_fleet_that_does_everything_in_twice_the_time_has_twice_the_lag() -> None:
    slow_rules = {name: 2 * getattr(Rules(), name) for name in _TIMES}
    rules = replace(Rules(), window=120.0, **slow_rules)
    costs = Costs(
        **{name: getattr(COSTS, name) * (0.5 if name == "receive_rate" else 2) for name in Costs.__dataclass_fields__}
    )
    load = replace(LOAD, a_day=1e6, seconds=1_200.0, slice=10.0, bursts=(Burst(400, 600, tables=26, files=300),))
    slow = simulated(load, rules, costs)
    assert np.allclose(slow.freshness(), np.array(OUTCOMES["by default"].freshness()) * 2)


def test_more_cores_than_needed_change_nothing() -> None:
    assert simulated(cores=1_000).freshness() == simulated(cores=500).freshness()


def test_the_cores_that_are_used_are_the_cost_of_what_was_done() -> None:
    load = Load(tables=50, a_day=1e6, seconds=1_800)
    outcome = simulated(load, Rules(window=60), cores=20)
    cost = outcome.runs * COSTS.run_cpu + outcome.batches * COSTS.batch_cpu
    cost += outcome.committed * (COSTS.file_cpu + COSTS.message_cpu) + outcome.ticks * COSTS.tick_cpu
    # The last window's objects are committed after the end.
    assert outcome.cores * load.seconds == pytest.approx(cost, rel=0.08)


def test_a_fleet_with_less_cores_than_its_work_needs_falls_behind() -> None:
    enough, few = simulated(cores=4), simulated(cores=0.3)
    assert few.freshness()[1] > 2 * enough.freshness()[1]
