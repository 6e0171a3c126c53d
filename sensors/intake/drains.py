"""The drains of a tick's queues: what each has received is kept, then deleted, then counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing

from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.events.s3_event import Reject
from tidegate.resources.aws.sqs import Message, Queue
from tidegate.resources.lake import Lake
from tidegate.resources.threads import parallel
from tidegate.sensors.intake.known_tables import KnownTables
from tidegate.sensors.intake.rows import rows_as_objects
from tidegate.sensors.intake.shares import Places, QueueTurn, Shares, TickOver
from tidegate.sensors.intake.sort import Intake

#: Queues that are worked off at a time, and those beside them that failed when they were asked last.
_PLACES, _ILL_PLACES = 4, 2


class Drains:
    """What the queues of one tick bring.

    Args:
        lake: handles.
        queues: how many there are.
        seconds: time budget of the receives.
        patience: seconds to wait for a first message, in whichever queue it comes.
        listeners: queues that are listened to at a time.
        hold: seconds for which what was received stays hidden, if it is not worked off before.
    """

    def __init__(self, lake: Lake, queues: int, *, seconds: float, patience: int, listeners: int, hold: float) -> None:
        self._lake, self._hold = lake, hold
        self._began = time.monotonic()
        self._shares = Shares(queues, lake.config.intake.events, self._began + seconds, time.monotonic)
        self._places, self._ill_places = Places(min(_PLACES, max(1, queues))), Places(_ILL_PLACES)
        # One queue alone is listened to by one long poll; of several, the first that brings something ends the wait.
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
        """Names of the queues that gave a message."""
        with self._lock:
            return set(self._answered)

    def drain(self, queue: Queue, *, probation: bool = False) -> bool:
        """Receive, keep and delete what is in a queue; whether it had a turn before the time was up.

        Args:
            queue: handle.
            probation: whether it failed when it was asked last: then one receive is enough.

        Raises:
            Exception: whatever fails in that; what is not deleted comes back.
        """
        turn = QueueTurn(
            self._shares,
            self._ill_places if probation else self._places,
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
        """What came in. A queue that is still at work finishes that by itself, and is not in it."""
        for places in (self._places, self._ill_places):
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
                intake = self._sorted(queue, messages)
                self._keep(queue.name, intake)
                queue.delete(messages)
                received += len(messages)
                self._count(intake)
        return received

    def _sorted(self, queue: Queue, messages: Sequence[Message]) -> Intake:
        if table := self._lake.config.table_of_rows(queue.name):
            return rows_as_objects(messages, table, self._lake.store.objects)
        return self._known.sorted(messages)

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
        # A dead letter goes back to the queue that it came from.
        home = rows.row_queue.name if rows and rows.row_queue else queue

        def keep(reject: Reject) -> str:
            return store.quarantine.keep_message(reject.event_id, reject.raw, reject.reason, home, reject.origin)

        for reject, address in zip(intake.rejects, parallel(keep, intake.rejects), strict=True):
            intake.rows.append(
                {"event_id": reject.event_id, "outcome": "malformed", "reason": reject.reason, "detail": address}
            )
        for row in intake.rows:
            row["queue"] = queue
        if intake.counters:
            store.intake_log.put(intake.counters, intake.rows)

    def _count(self, intake: Intake) -> None:
        # Kept by now: a body has up to a megabyte, and a tick up to twenty thousand of them.
        intake.rejects.clear()
        with self._lock:
            if not self._over:
                self._total.add(intake)
