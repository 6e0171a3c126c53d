"""The fleet in question, in the settings that the page compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.fleet.arrivals import Burst, Load
from benchmarks.fleet.dollars import dollars_a_day
from benchmarks.fleet.outcome import Outcome
from benchmarks.fleet.rules import Costs, Rules
from benchmarks.fleet.simulation import Simulation
from tidegate.platform.core.costs.figures import Figures

#: 4,200 event types, 60 million objects a day.
FLEET = Load()
#: Tables that people wait for: those that get most.
HOT = 100
#: Seconds in which objects of hot tables should be visible.
GOAL = 300.0
#: Bytes of an object: ten rows, as in the measurements of small files.
OBJECT_BYTES = 900.0
#: Cores that no scenario needs, so that each shows what it would use.
_PLENTY = 256.0

#: What a lake of thousands of tables should be set to: `dagster.yaml` has 4 runs at work, and `intake.every` is 30.
TUNED = replace(Rules(), at_work=32, every=5.0)

USUAL = Burst(0, 0)
#: An export of 26 tables in one minute, ten thousand files each.
EXPORT = Burst(1_200, 1_260, tables=26, files=10_000)
#: An hour with ten times the load.
BLACK_FRIDAY = Burst(3_600, 7_200, times=10)


@dataclass(frozen=True)
class Scenario:
    """A fleet in one setting, and what became of it.

    Attributes:
        name: the setting.
        load: what arrived.
        rules: the rules.
        outcome: what happened.
    """

    name: str
    load: Load
    rules: Rules
    outcome: Outcome

    @property
    def hot(self) -> tuple[float, float, float]:
        """The freshness of the hot tables."""
        return self.outcome.freshness(self.load.hottest(HOT).tolist())

    def dollars(self, figures: Figures) -> dict[str, float]:
        """Return dollars a day by service."""
        return dollars_a_day(self.outcome, figures)


def simulate(
    name: str,
    figures: Figures,
    rules: Rules = TUNED,
    *,
    load: Load = FLEET,
    cores: float = _PLENTY,
    hot_window: float | None = None,
) -> Scenario:
    """Run a scenario.

    Args:
        name: what it is called.
        figures: what work costs.
        rules: when tables get runs.
        load: what arrives.
        cores: cores of the machines.
        hot_window: the window of hot tables, if it is not that of the others.
    """
    windows = np.full(load.tables, rules.window)
    if hot_window is not None:
        windows[load.hottest(HOT)] = hot_window
    idle = figures["platform_cpu"] + figures["idle_table_cpu"] * load.tables
    outcome = Simulation(load, rules, Costs.of(figures), cores, windows, background=idle).run()
    return Scenario(name, load, rules, outcome)


def windows(figures: Figures, seconds: float = 3_600.0) -> Iterator[tuple[float, float, Scenario]]:
    """Yield the windows of hot and of other tables, and what becomes of the fleet with them."""
    load = replace(FLEET, seconds=seconds)
    for others in (60.0, 300.0, 900.0, 1_800.0):
        for hot in (0.0, 60.0, 120.0, 180.0, 240.0, 300.0):
            if hot <= others:
                rules = replace(TUNED, window=others)
                yield hot, others, simulate(f"{hot:g} and {others:g}", figures, rules, load=load, hot_window=hot)


def limits(scenario: Scenario, figures: Figures) -> dict[str, float]:
    """Return how much of each limit a steady load uses, by limit. The load at which it breaks is the reciprocal."""
    load, rules, outcome, costs = scenario.load, scenario.rules, scenario.outcome, Costs.of(figures)
    a_tick = load.a_day / 86_400 * outcome.seconds / outcome.ticks
    hottest = load.a_day / 86_400 * load.shares().max()
    return {
        f"`intake.events`: {rules.events:,} messages a tick": a_tick / rules.events,
        f"receives of a tick: {rules.receives:g} s of one process": a_tick / (costs.receive_rate * rules.receives),
        f"`max_concurrent_runs`: {rules.at_work}": outcome.at_work / outcome.seconds / rules.at_work,
        f"runs that wait or work: {rules.max_runs}": float(np.mean(outcome.queued)) / rules.max_runs,
        "one run of a table: its files one after another": hottest * costs.file_seconds,
        f"messages in flight: {figures['sqs_in_flight']:,.0f}": outcome.flight / figures["sqs_in_flight"],
    }
