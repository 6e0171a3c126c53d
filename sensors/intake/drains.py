"""Drains the queues of a tick. The result of each message is stored before the message is deleted."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.events.s3_event import Reject
from tidegate.platform.core.routing.unrouted import Detail, Unrouted
from tidegate.resources.aws.sqs import Message, Queue
from tidegate.resources.lake import Lake
from tidegate.resources.threads import parallel
from tidegate.sensors.intake.known_tables import KnownTables
from tidegate.sensors.intake.rows import rows_as_objects
from tidegate.sensors.intake.shares import Places, QueueTurn, Shares, TickOver
from tidegate.sensors.intake.sort import Intake

#: Queues whose messages are processed at a time, and in addition to these, queues that failed at their last receive.
_PLACES, _TROUBLED_PLACES = 4, 2


class Drains:
    """The drains of one tick, and what they have received together.

    Args:
        lake: the lake.
        queues: how many queues there are.
        seconds: time budget of the receives.
        patience: seconds to wait for a first message in any queue.
        listeners: queues that are polled at a time.
        hold: seconds for which received messages stay hidden, unless they are deleted before.
    """

    def __init__(self, lake: Lake, queues: int, *, seconds: float, patience: int, listeners: int, hold: float) -> None:
        self._lake, self._hold = lake, hold
        self._began = time.monotonic()
        self._shares = Shares(queues, lake.config.intake.events, self._began + seconds, time.monotonic)
        self._places, self._troubled_places = Places(min(_PLACES, max(1, queues))), Places(_TROUBLED_PLACES)
        # A single queue gets one long poll. With several queues, the first message in any of them ends the wait.
        rounds = patience * listeners // max(1, queues)
        self._polls, self._poll = (1, patience) if queues == 1 else (max(1, min(patience, rounds)), 1)
        self._known = KnownTables(lake)
        self._total, self._over, self._answered = Intake(), False, set[str]()
        self._lock = threading.Lock()

    @property
    def elapsed(self) -> float:
        """Seconds since the tick began."""
        return time.monotonic() - self._began

    def answered(self) -> set[str]:
        """Return the names of the queues that had a message."""
        with self._lock:
            return set(self._answered)

    def drain(self, queue: Queue, *, probation: bool = False) -> bool:
        """Receive, store and delete the messages of a queue. Returns whether it had a turn before the time was up.

        Args:
            queue: the queue.
            probation: whether its last receive failed. Then it gets one receive.

        Raises:
            Exception: any error of these steps. Messages that are not deleted come back.
        """
        turn = QueueTurn(
            self._shares,
            self._troubled_places if probation else self._places,
            lambda: self._note(queue.name),
            probation=probation,
        )
        received = polls = 0
        try:
            while self._may_listen(polls):
                polls += 1
                if received := self._drain_once(queue, turn):
                    break
        except TickOver:
            return False
        finally:
            self._shares.ended(received)
        return polls > 0

    def end(self) -> Intake:
        """Return what was received. A queue that is still being drained finishes by itself and is not counted."""
        for places in (self._places, self._troubled_places):
            places.close()
        with self._lock:
            self._over = True
            return self._total

    def _may_listen(self, polls: int) -> bool:
        with self._lock:
            more = not self._over and polls < (1 if self._answered else self._polls)
        return more and self._shares.left > 0

    def _note(self, name: str) -> None:
        with self._lock:
            self._answered.add(name)

    def _drain_once(self, queue: Queue, turn: QueueTurn) -> int:
        received = 0
        chunks = queue.drain(
            seconds=self._shares.left,
            messages=self._lake.config.intake.events,
            threads=self._lake.config.intake.threads,
            patience=self._poll,
            hold=self._hold - self.elapsed,
            turn=turn,
        )
        with closing(chunks):
            for messages in chunks:
                intake = self._routed(queue, messages)
                self._keep(queue.name, intake)
                queue.delete(messages)
                received += len(messages)
                self._count(intake)
        return received

    def _routed(self, queue: Queue, messages: Sequence[Message]) -> Intake:
        if table := self._lake.config.table_of_rows(queue.name):
            return rows_as_objects(messages, table, self._lake.store.objects)
        return self._known.routed(messages)

    def _keep(self, queue: str, intake: Intake) -> None:
        config, store = self._lake.config, self._lake.store
        store.inbox.put(
            [
                manifest
                for table, hints in intake.hints.items()
                for manifest in chunked(table.encode(), "intake", hints, config.settings(table).max_files)
            ]
        )

        rows = config.table_of_rows(queue)
        # A dead letter belongs to the queue that it came from.
        home = rows.row_queue.name if rows and rows.row_queue else queue

        def keep(reject: Reject) -> str:
            return store.quarantine.keep_message(reject.event_id, reject.raw, reject.reason, home, reject.origin)

        intake.unrouted = [replace(event, queue=queue) for event in intake.unrouted]
        for reject, address in zip(intake.rejects, parallel(keep, intake.rejects), strict=True):
            intake.unrouted.append(Unrouted(reject.event_id, "malformed", queue, Detail(address), reject.reason))
        if intake.counters:
            store.intake_log.put(intake.counters, intake.unrouted)

    def _count(self, intake: Intake) -> None:
        # They are stored by now. A body has up to a megabyte, and a tick up to twenty thousand of them.
        intake.rejects.clear()
        with self._lock:
            if not self._over:
                self._total.add(intake)
