"""The window of a table, at the ticks of the intake."""

from __future__ import annotations


def shortest_wait(window: float, every: float) -> float:
    """Return for how many seconds the oldest hint of a table has waited, at least, when a tick requests a run.

    The tick that is nearest to the end of the window requests it. If only later ticks did, a window of two ticks would
    mostly last three: the first tick comes less than a tick after the hint. At least half the window passes.

    Args:
        window: seconds.
        every: seconds from one tick of the intake to the next.
    """
    return window - min(window, every) / 2
