"""The tick nearest to the end of a window requests the run."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.bronze.window import shortest_wait


@given(st.integers(0, 4000), st.integers(1, 300), st.floats(0, 1, exclude_max=True))
def test_the_tick_nearest_to_the_end_of_the_window_requests_the_run(window: int, every: int, arrives: float) -> None:
    """The hint arrives at some time between two ticks."""
    waits = [(tick - arrives) * every for tick in range(1, 3 + math.ceil(window / every))]
    wait = next(wait for wait in waits if wait >= shortest_wait(window, every))
    assert wait >= window / 2
    if window >= every:
        assert abs(wait - window) <= every / 2 + 1e-6
    else:
        assert wait <= waits[0] + every + 1e-6


def test_a_window_of_two_ticks_lasts_two_ticks() -> None:
    assert [shortest_wait(window, 30) for window in (0, 10, 30, 60, 300)] == [0, 5, 15, 45, 285]
