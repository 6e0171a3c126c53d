"""Divides the time and the messages of a tick among its queues. A queue may use what the others leave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidegate.platform.lake.aws.drain import DrainLimits


class TickOver(Exception):
    """The tick ended while a queue waited for a slot. Its messages come back."""


class DrainSlots:
    """Slots for queues whose messages are processed at a time. The other queues wait.

    Args:
        number: how many slots there are.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._free, self._waiting, self._closed = number, 0, False
        self._changed = threading.Condition()

    @property
    def rounds(self) -> int:
        """How many queues each slot must serve, with those that wait now."""
        return -(-(self._waiting + self.number) // self.number)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a free slot and hold it.

        Raises:
            TickOver: the tick ended before a slot was free.
        """
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._free or self._closed)
            self._waiting -= 1
            if self._closed:
                raise TickOver("the tick ended before the queue had a slot; its messages come back")
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()

    def close(self) -> None:
        """Stop giving out slots."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class DrainBudget:
    """Divides a tick evenly among its queues, and again whenever a queue ends.

    Args:
        queues: how many queues there are.
        messages: how many messages all queues together may receive.
        deadline: when the receives end, by the clock.
        clock: returns seconds.
    """

    def __init__(
        self, queues: int, messages: int, deadline: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.deadline, self.clock = deadline, clock
        self._queues, self._messages = queues, messages
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """Seconds until the receives end."""
        return self.deadline - self.clock()

    @property
    def messages(self) -> int:
        """How many messages each queue may receive now, at least one."""
        with self._lock:
            return max(1, self._messages // max(1, self._queues))

    def ended(self, received: int) -> None:
        """Record that a queue has ended, and how many messages it received."""
        with self._lock:
            self._queues -= 1
            self._messages -= received


class QueueLimits(DrainLimits):
    """The limits of one queue in a tick, after its first messages.

    Args:
        budget: the budget of the tick.
        slots: where the queue needs a slot.
        answered: called when the queue has received its first messages.
        probation: whether its last receive failed. Then it receives nothing after its first messages.
    """

    def __init__(
        self, budget: DrainBudget, slots: DrainSlots, answered: Callable[[], None], *, probation: bool
    ) -> None:
        self._budget, self._slots, self._answered, self._probation = budget, slots, answered, probation
        self.part, self._since = slots.number, 0.0

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a free slot and hold it."""
        self._answered()
        with self._slots.slot():
            self._since = self._budget.clock()
            yield

    def may_receive(self, received: int) -> bool:
        """Return whether the queue may receive more. Its time is shorter the more queues wait for its slot."""
        if self._probation or received >= self._budget.messages:
            return False
        deadline = self._budget.deadline
        return self._budget.clock() < self._since + (deadline - self._since) / self._slots.rounds
