"""Drains the queues of a tick fairly: no queue delays the others.

Queues that failed in earlier ticks are served separately. Time and messages are divided among the queues, and a queue
may use what the others leave.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager

from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.message_taking import MessageTaking
from tidegate.platform.intake.store_and_delete import store_and_delete
from tidegate.platform.lake.aws.drain import DrainLimits
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake

#: Queues whose messages are processed at a time, and in addition to these, queues that failed at their last receive.
_SLOTS, _TROUBLED_SLOTS = 4, 2


class FairDrain:
    """The fair drain of one tick's queues, and what they have received together.

    Args:
        queues: how many queues there are.
        seconds: time budget of the receives.
        patience: seconds to wait for a first message in any queue.
        listeners: queues that are polled at a time.
        hold: seconds for which received messages stay hidden, unless they are deleted before.
        ended: nothing more is received once it is set.
    """

    def __init__(
        self,
        lake: Lake,
        queues: int,
        *,
        seconds: float,
        patience: int,
        listeners: int,
        hold: float,
        ended: threading.Event | None = None,
    ) -> None:
        self._lake, self._hold = lake, hold
        self._began = time.monotonic()
        self._budget = DrainBudget(queues, lake.config.intake.events, self._began + seconds, time.monotonic, ended)
        self._slots, self._troubled_slots = DrainSlots(min(_SLOTS, max(1, queues))), DrainSlots(_TROUBLED_SLOTS)
        # A single queue gets one long poll. With several queues, the first message in any of them ends the wait.
        rounds = patience * listeners // max(1, queues)
        self._polls, self._poll = (1, patience) if queues == 1 else (max(1, min(patience, rounds)), 1)
        self._taking = MessageTaking(lake)
        self._total, self._over, self._answered = IntakeResult(), False, set[str]()
        self._lock = threading.Lock()

    @property
    def elapsed(self) -> float:
        """Seconds since the tick began."""
        return time.monotonic() - self._began

    def queues_with_messages(self) -> set[str]:
        """Return the names of the queues that had a message."""
        with self._lock:
            return set(self._answered)

    def drain(self, queue: Queue, *, probation: bool = False) -> bool:
        """Receive, store and delete the messages of a queue. Returns whether it was polled before the time was up.

        Args:
            probation: whether its last receive failed. Then it gets one receive.

        Raises:
            Exception: any error of these steps. Messages that are not deleted come back.
        """
        limits = QueueLimits(
            self._budget,
            self._troubled_slots if probation else self._slots,
            lambda: self._note(queue.name),
            probation=probation,
        )
        received = polls = 0
        try:
            while self._may_listen(polls):
                polls += 1
                if received := self._drain_once(queue, limits):
                    break
        except TickOver:
            return False
        finally:
            self._budget.record_end(received)
        return polls > 0

    def end(self) -> IntakeResult:
        """Return what was received. A queue that is still being drained finishes by itself and is not counted."""
        for slots in (self._slots, self._troubled_slots):
            slots.close()
        with self._lock:
            self._over = True
            return self._total

    def _may_listen(self, polls: int) -> bool:
        with self._lock:
            more = not self._over and polls < (1 if self._answered else self._polls)
        return more and self._budget.left > 0

    def _note(self, name: str) -> None:
        with self._lock:
            self._answered.add(name)

    def _drain_once(self, queue: Queue, limits: QueueLimits) -> int:
        received = 0
        chunks = queue.drain(
            seconds=self._budget.left,
            messages=self._lake.config.intake.events,
            threads=self._lake.config.intake.threads,
            patience=self._poll,
            hold=self._hold - self.elapsed,
            limits=limits,
            attributes=self._taking.attributes,
        )
        with closing(chunks):
            for messages in chunks:
                taken, intake = self._taking.route_messages(queue.name, messages)
                store_and_delete(self._lake, queue, taken, intake)
                received += len(messages)
                self._count(intake)
        return received

    def _count(self, intake: IntakeResult) -> None:
        # They are stored by now. A body has up to a megabyte, and a tick up to twenty thousand of them.
        intake.rejects.clear()
        intake.outgoing.clear()
        intake.held.clear()
        with self._lock:
            if not self._over:
                self._total.add(intake)


class QueueOrder:
    """What a process knows of the queues from earlier ticks.

    It is not in the cursor: a tick that fails stores none, and a new process should treat every queue as healthy.
    """

    def __init__(self) -> None:
        self._first = ""
        self._troubled: list[str] = []

    def healthy_queues(self, names: Sequence[str]) -> list[str]:
        """Return the queues without a failure, beginning with those that the last tick did not reach."""
        start = names.index(self._first) if self._first in names else 0
        return [name for name in (*names[start:], *names[:start]) if name not in self._troubled]

    def failing_queues(self, names: Sequence[str]) -> list[str]:
        """Return the queues that failed at their last receive, least recently tried first."""
        return [name for name in self._troubled if name in names]

    def note(self, unreached: Sequence[str], failed: Collection[str], drained: Collection[str]) -> None:
        """Record the outcome of a tick.

        Args:
            unreached: healthy queues for which no time was left, in order.
            failed: queues that failed or did not answer in time.
            drained: queues that were drained.
        """
        self._first = unreached[0] if unreached else ""
        before = [name for name in self._troubled if name not in failed and name not in drained]
        self._troubled = [*before, *failed]


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
        ended: the receives end once it is set.
    """

    def __init__(
        self,
        queues: int,
        messages: int,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
        ended: threading.Event | None = None,
    ) -> None:
        self.deadline, self.clock, self._ended = deadline, clock, ended or threading.Event()
        self._queues, self._messages = queues, messages
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """Seconds until the receives end."""
        return 0.0 if self._ended.is_set() else self.deadline - self.clock()

    @property
    def messages(self) -> int:
        """How many messages each queue may receive now, at least one."""
        with self._lock:
            return max(1, self._messages // max(1, self._queues))

    def record_end(self, received: int) -> None:
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
        if self._probation or received >= self._budget.messages or self._budget.left <= 0:
            return False
        deadline = self._budget.deadline
        return self._budget.clock() < self._since + (deadline - self._since) / self._slots.rounds
