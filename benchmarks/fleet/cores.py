"""Cores that the runs at work share evenly."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count


@dataclass(order=True)
class _Work:
    ends: float
    number: int
    demand: float = field(compare=False)
    then: Callable[[], None] = field(compare=False)


class Cores:
    """Processor sharing. Work that needs more cores than there are takes longer, and all work by the same factor.

    A clock of its own, `_virtual`, counts the seconds of work that would have passed with cores enough. It is slower
    than time while there are too few. So what ends next is known without a change of the other work.

    Args:
        number: how many cores there are.
        others: how many of them other work on the machine would use. It gets its even part of too few.
    """

    def __init__(self, number: float, others: float = 0.0) -> None:
        self._number, self._others, self._virtual, self._now, self._demand = number, others, 0.0, 0.0, 0.0
        self._work: list[_Work] = []
        self._numbers = count()
        self.used = 0.0
        """Core seconds so far."""

    @property
    def pace(self) -> float:
        """By how much work is slowed down: seconds of work for each second."""
        wanted = self._demand + self._others
        return self._number / wanted if wanted > self._number else 1.0

    def begin(self, now: float, seconds: float, cpu: float, then: Callable[[], None]) -> None:
        """Begin work.

        Args:
            now: the time.
            seconds: how long it takes if there are cores enough.
            cpu: its core seconds.
            then: called when it is done.
        """
        self._to(now)
        demand = cpu / seconds
        self._demand += demand
        heapq.heappush(self._work, _Work(self._virtual + seconds, next(self._numbers), demand, then))

    def next_end(self) -> float:
        """Return when the next work ends, infinity if there is none."""
        return self._now + (self._work[0].ends - self._virtual) / self.pace if self._work else math.inf

    def end_next(self) -> float:
        """End the work that ends next. Returns the time."""
        ends = self.next_end()
        self._to(ends)
        work = heapq.heappop(self._work)
        self._demand = self._demand - work.demand if self._work else 0.0
        work.then()
        return ends

    def _to(self, now: float) -> None:
        passed, self._now = now - self._now, max(now, self._now)
        if passed > 0:
            self._virtual += passed * self.pace
            self.used += passed * self._demand * self.pace
