"""One tick of the intake: drains the queues of a lake once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from tidegate.platform.intake.fair_drain import FairDrain, QueueOrder
from tidegate.platform.intake.held_events import HeldEvents
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.threads import ConcurrentCalls

#: Seconds after which Dagster gives up a tick. Its messages become visible to other receivers then.
TICK_SECONDS = 60.0
#: Seconds into a tick after which it continues without the queues that have not ended.
DRAIN_SECONDS = 40.0
#: Share of a tick's configured time that its receives may take. The rest is for writing and for reading the inbox.
RECEIVE_SHARE = 0.75
#: Seconds that a tick waits for a first message. Dagster's daemon starts a tick at least five seconds after the last
#: one, so a message that arrives between two ticks waits for the next.
_PATIENCE = 4.0
#: Queues that are polled in parallel. With this many, each of 800 idle queues gets a long poll of one second within a
#: tick's receives.
_LISTENERS = 64
#: Seconds after which an entry of the intake log is there, unless its writer has trouble with S3.
_SETTLED = 10.0
#: Seconds after which each round of another process that began in the last day has ended.
_DAY_SETTLED = 120.0
#: Queues that failed at their last receive have their own threads, and a tick waits this long for them.
_TROUBLED_LISTENERS, _TROUBLED_WAIT = 16, 2.0


def take_in(
    lake: Lake,
    *,
    seconds: float | None = None,
    queues: Sequence[Queue] | None = None,
    patience: int = 1,
    order: QueueOrder | None = None,
    ended: threading.Event | None = None,
) -> IntakeResult:
    """Drain queues once. Manifests and logs are written first, messages are deleted last.

    The next messages are received while earlier ones are written and deleted. Queues are drained in parallel, and a
    queue may use what the others leave of the budget. So neither a busy queue nor one that does not answer delays the
    others. Received messages stay hidden from other receivers until they are deleted, even if writing takes longer than
    the queue's visibility timeout. The errors of single queues are in `failures` of the result.

    Args:
        seconds: time budget of the receives. The default is a share of `intake.seconds`.
        queues: the queues to drain. The default is all queues of the lake.
        patience: seconds to wait for a first message in any queue.
        order: what earlier ticks recorded of the queues. This tick's outcome is added to it.
        ended: nothing more is received once it is set. What was received is stored, and its messages are deleted.
    """
    by_name = {queue.name: queue for queue in (lake.queues if queues is None else queues)}
    order = order or QueueOrder()
    healthy, troubled = order.healthy_queues(list(by_name)), order.failing_queues(list(by_name))
    tick = FairDrain(
        lake,
        len(by_name),
        seconds=seconds or lake.config.intake.seconds * RECEIVE_SHARE,
        patience=patience,
        listeners=_LISTENERS,
        hold=TICK_SECONDS,
        ended=ended,
    )
    healthy_drains = ConcurrentCalls(lambda name: tick.drain(by_name[name]), healthy, _LISTENERS)
    probation_drains = ConcurrentCalls(
        lambda name: tick.drain(by_name[name], probation=True), troubled, _TROUBLED_LISTENERS
    )
    healthy_drains.wait(DRAIN_SECONDS)
    probation_drains.wait(_TROUBLED_WAIT - tick.elapsed)
    # A queue that failed before gets the whole time only if it answers again.
    probation_drains.wait(DRAIN_SECONDS - tick.elapsed, only=tick.queues_with_messages())
    total = tick.end()
    outcomes, on_probation = healthy_drains.outcomes(), probation_drains.outcomes()
    for outcome in (*outcomes, *on_probation):
        if outcome.begun and outcome.value is None:
            why = f"it has not ended after {tick.elapsed:.0f} seconds; the tick continues without it"
            total.failures[outcome.item] = outcome.error or TimeoutError(why)
    order.note(
        [outcome.item for outcome in outcomes if not outcome.begun or outcome.value is False],
        list(total.failures),
        {outcome.item for outcome in (*outcomes, *on_probation) if outcome.value},
    )
    return total


def listen(
    lake: Lake, patience: float = _PATIENCE, order: QueueOrder | None = None, held: HeldEvents | None = None
) -> IntakeResult:
    """Drain the lake's queues. If neither the inbox nor what is gathered has a hint, wait for a message first.

    Events of the platform's own files, which follow each run, do not end the wait.

    Args:
        patience: seconds to wait at most.
        order: what earlier ticks recorded of the queues.
        held: releases events of folders that waited for a day with room, after the queues were drained.
    """
    until = time.monotonic() + patience
    busy = bool(lake.store.inbox.tables()) or not lake.store.gathered.is_empty()
    total = more = take_in(lake, patience=1 if busy else int(patience), order=order)
    # A drain without any message has used the whole wait already.
    while more.received and not (busy or total.hints or total.failures) and (left := int(until - time.monotonic())) > 0:
        more = take_in(lake, patience=left, order=order)
        total.add(more)
    total.left += _release_held(lake, held, time.time()) if held else []
    return total


def follow_processes(lake: Lake, last: str, held: HeldEvents) -> tuple[str, IntakeResult]:
    """Return what processes and functions have taken in that has no table, for a lake whose queues they drain.

    Their hints are in the inbox.

    Args:
        last: what the last call returned as its first value; empty at the first call.
        held: releases events of folders that waited for a day with room.
    """
    total = IntakeResult()
    part = lake.store.intake_log.entries_after(last, time.time() - _SETTLED)
    for entry in part.entries:
        total.add(IntakeResult(counters=dict(entry.counters), unrouted=list(entry.unrouted)))
    # A day begins when no process works any more on messages that it received in the last one: what it holds after the
    # release of a day would wait for another day.
    total.left = [*part.damaged, *_release_held(lake, held, time.time() - _DAY_SETTLED)]
    return part.last, total


def _release_held(lake: Lake, held: HeldEvents, now: float) -> list[str]:
    """Release what waits. What goes wrong there takes nothing from the messages that were drained."""
    try:
        return held.release(lake, now)
    except StoreError as error:
        return [f"folders that wait for a day with room stay as they are until the next tick: {error}"]
