"""What each queue of a tick may take of the tick's time, messages and places: as much as the others leave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tidegate.resources.aws.drain import Turn


class TickOver(Exception):
    """The tick has ended while a queue waited for its place; its messages come back."""


class Places:
    """Queues that are worked off at a time; the others wait for one of them to end.

    Args:
        number: how many.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._free, self._waiting, self._closed = number, 0, False
        self._changed = threading.Condition()

    @property
    def rounds(self) -> int:
        """How many queues a place has to serve, as many as wait now."""
        return -(-(self._waiting + self.number) // self.number)

    @contextmanager
    def one(self) -> Iterator[None]:
        """A place, as soon as one is free.

        Raises:
            TickOver: none was before the tick ended.
        """
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._free or self._closed)
            self._waiting -= 1
            if self._closed:
                raise TickOver("the tick ended before it had a turn; its messages come back")
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()

    def close(self) -> None:
        """Give no more places out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Shares:
    """Divides a tick among its queues: evenly, and anew whenever one of them ends.

    Args:
        queues: how many there are.
        messages: that all of them may take.
        deadline: when the receives end, by the clock.
        clock: seconds.
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
        """Messages that each queue may take now: one at least."""
        with self._lock:
            return max(1, self._messages // max(1, self._queues))

    def ended(self, received: int) -> None:
        """A queue takes nothing any more, and has taken this."""
        with self._lock:
            self._queues -= 1
            self._messages -= received


class QueueTurn(Turn):
    """One queue's turn.

    Args:
        shares: the tick's.
        places: of which it needs one.
        answered: told once it has received something.
        probation: whether nothing is to be received after that: it failed when it was asked last.
    """

    def __init__(self, shares: Shares, places: Places, answered: Callable[[], None], *, probation: bool) -> None:
        self._shares, self._places, self._answered, self._probation = shares, places, answered, probation
        self.part, self._since = places.number, 0.0

    @contextmanager
    def place(self) -> Iterator[None]:
        """The queue's place, as soon as one is free."""
        self._answered()
        with self._places.one():
            self._since = self._shares.clock()
            yield

    def goes_on(self, received: int) -> bool:
        """Whether the queue may receive more: less, the more others wait for its place."""
        if self._probation or received >= self._shares.messages:
            return False
        deadline = self._shares.deadline
        return self._shares.clock() < self._since + (deadline - self._since) / self._places.rounds
