from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.costs.replay import batches_of, merges_of

TICK = 30.0
ARRIVALS = st.dictionaries(st.integers(0, 60), st.integers(1, 12), max_size=25).map(lambda found: sorted(found.items()))


def ticked(arrivals: list[tuple[int, int]], window: float, max_files: int) -> list[int]:
    """Return the batches as the intake makes them, tick by tick: an independent calculation."""
    begun: list[int] = []
    waiting: list[float] = []
    events = dict(arrivals)
    for tick in range(1, 500):
        waiting += [(tick - 0.5) * TICK] * events.get(tick - 1, 0)
        if waiting and (len(waiting) >= max_files or tick * TICK - waiting[0] >= window - min(window, TICK) / 2):
            begun += [tick] * math.ceil(len(waiting) / max_files)
            waiting = []
    return begun


@given(ARRIVALS, st.sampled_from([0, 10, 15, 30, 45, 60, 61, 300, 900]), st.integers(1, 30))
def test_batches_are_those_of_the_ticks(arrivals: list[tuple[int, int]], window: float, max_files: int) -> None:
    assert batches_of(arrivals, window, TICK, max_files) == ticked(arrivals, window, max_files)


@given(st.lists(st.integers(0, 200)).map(sorted), st.sampled_from([30, 60, 100, 600]))
def test_merges_are_those_of_the_checks(batches: list[int], every: int) -> None:
    checks = {math.floor(batch * TICK / every) + 1 for batch in batches}
    assert merges_of(batches, every, TICK) == len(checks)


def test_the_example_of_the_guide() -> None:
    """An event every ten seconds for an hour: with ticks of 30 s."""
    arrivals = [(slot, 3) for slot in range(120)]
    assert [len(batches_of(arrivals, window, TICK, 10_000)) for window in (0, 30, 60, 300)] == [120, 120, 60, 12]
