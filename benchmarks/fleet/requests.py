"""Which tables are due, and the runs that they get, for thousands of tables at once.

`find_due_tables` and `assign_runs` of the sensor decide the same for one table after another. A test compares both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.fleet.rules import Rules

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RunRequests:
    """The runs that a tick requests.

    Attributes:
        own: tables that get a run each.
        shared: the tables of each shared run.
        last: the table at which the tour of the inbox ended.
    """

    own: list[int]
    shared: list[list[int]]
    last: int


def request_runs(
    hints: npt.NDArray[np.int64],
    age: npt.NDArray[np.float64],
    held: _Mask,
    windows: npt.NDArray[np.float64],
    rules: Rules,
    *,
    room: int,
    after: int,
) -> RunRequests:
    """Decide which runs a tick requests.

    Args:
        hints: hints that wait for each table.
        age: for how many seconds the oldest of them has waited.
        held: tables that have a run.
        windows: the window of each table.
        rules: the rules.
        room: how many runs may be requested.
        after: the table after which the tour begins.
    """
    waiting = np.flatnonzero(hints > 0)
    tour = np.concatenate([waiting[waiting > after], waiting[waiting <= after]])
    waits = windows - np.minimum(windows, rules.every) / 2  # shortest_wait
    ready = ~held[tour] & ((hints[tour] >= rules.max_files) | (age[tour] >= waits[tour]))
    places = np.flatnonzero(ready)
    if room <= 0:
        return RunRequests([], [], after)
    # A tour ends before the first due table that needs a run more than there is room for.
    cold = hints[tour[places]] <= rules.cold
    needed = np.cumsum(~cold) + -(-np.cumsum(cold) // rules.max_shared)
    fit = int(np.searchsorted(needed, room, side="right"))
    due, cold = tour[places[:fit]], cold[:fit]
    visited = tour[: places[fit]] if fit < len(places) else tour
    last = int(visited[-1]) if len(visited) else after
    if cold.sum() < 2:
        return RunRequests(due.tolist(), [], last)
    shared = due[cold]
    runs = -(-len(shared) // rules.max_shared)
    return RunRequests(due[~cold].tolist(), [shared[start::runs].tolist() for start in range(runs)], last)
