"""How many batches and merges the arrivals of a table lead to, for settings that it does not have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.platform.core.bronze.window import shortest_wait


@dataclass(frozen=True)
class Timing:
    """When a table has its batches and its merges.

    Attributes:
        window: seconds that its oldest hint waits.
        every: seconds between two checks for a merge. None if there is no silver table, or if a schedule merges it.
    """

    window: int
    every: int | None = None

    @property
    def delay(self) -> int:
        """Seconds by which these settings delay a row."""
        return self.window + (self.every or 0)


def batches_of(arrivals: Iterable[tuple[int, int]], window: float, tick: float, max_files: int) -> list[int]:
    """Return the ticks at which batches begin.

    A tick of the intake requests a run for a table whose oldest hint has waited for `shortest_wait`, or for which
    `max_files` hints wait. The run takes all that waits. Within its slot the oldest hint arrives in the middle.

    Args:
        arrivals: slots of time, as long as the time between two ticks, with the number of events in each; in order.
            The tick of a number ends the slot before it.
        window: seconds.
        tick: seconds from one tick of the intake to the next.
        max_files: maximum number of hints of a batch.
    """
    span = max(1, math.ceil(0.5 + shortest_wait(window, tick) / tick))
    begun: list[int] = []
    oldest, waiting = 0, 0
    for slot, events in arrivals:
        if waiting and slot >= oldest + span:
            begun.append(oldest + span)
            waiting = 0
        if not waiting:
            oldest = slot
        waiting += events
        if waiting >= max_files:
            begun += [slot + 1] * math.ceil(waiting / max_files)
            waiting = 0
    return [*begun, oldest + span] if waiting else begun


def merges_of(batches: Sequence[int], every: float, tick: float) -> int:
    """Return the number of merges. A merge takes all batches since the merge before it.

    Args:
        batches: ticks at which batches began, in order.
        every: seconds between two checks for batches that are not merged.
        tick: seconds from one tick to the next.
    """
    merges, merged = 0, -math.inf
    for batch in batches:
        if batch * tick >= merged:
            # The check that follows the batch. The checks begin at a multiple of their interval.
            merged = (math.floor(batch * tick / every) + 1) * every
            merges += 1
    return merges
