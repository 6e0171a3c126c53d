"""Waits until every event of the demo has arrived everywhere: in tables, in the outbox's destinations, at consumers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import dagster as dg

from tidegate.assets.runs.held_tables import ACTIVE
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.outbox import Lane

#: Seconds between two measurements. Each costs some requests, which the pipeline's own wait for.
_PAUSE = 2.0


@dataclass(frozen=True)
class PendingWork:
    """What has not arrived yet.

    Attributes:
        received: messages in the queues of the lake.
        tables: hints that wait for their table.
        runs: runs of Dagster that are queued or under way.
        forwarded: messages that wait for a destination, without the broken one.
        subscribers: messages in the queues of subscribers.
    """

    received: int
    tables: int
    runs: int
    forwarded: int
    subscribers: int

    def __str__(self) -> str:
        parts = {
            "in the queue": self.received,
            "wait for tables": self.tables,
            "to forward": self.forwarded,
            "at subscribers": self.subscribers,
            "runs": self.runs,
        }
        return " · ".join(f"{number:,} {what}" for what, number in parts.items() if number) or "nothing on its way"

    @property
    def nothing(self) -> bool:
        """Whether everything has arrived."""
        return not (self.received or self.tables or self.runs or self.forwarded or self.subscribers)


def measure_pending(lake: Lake, instance: dg.DagsterInstance, subscribers: list[Queue], broken: str) -> PendingWork:
    """Measure what has not arrived.

    Args:
        broken: name of the route whose destination is broken.
    """
    received = sum(sum(queue.depth()) for queue in lake.queues)
    # In the order of the way of an event, so that nothing passes between two measurements unseen.
    tables = sum(manifest.hints for manifest in lake.store.waiting_manifests())
    runs = instance.get_runs_count(dg.RunsFilter(statuses=ACTIVE))
    outbox = lake.store.outbox
    waiting = outbox.backlogs(lane for lane in outbox.lanes() if lane.route != broken)
    forwarded = sum(backlog.messages for backlog in waiting.values())
    return PendingWork(received, tables, runs, forwarded, sum(sum(queue.depth()) for queue in subscribers))


def wait_until_arrived(
    measure: Callable[[], PendingWork], *, done: Callable[[], bool], show: Callable[[str], None], deadline: float
) -> None:
    """Wait until nothing is on its way.

    Args:
        measure: measures what is on its way.
        done: whether everything has been sent.
        show: takes the progress.
        deadline: seconds.

    Raises:
        UnavailableError: the deadline passed.
    """
    end = time.monotonic() + deadline
    quiet = 0
    while time.monotonic() < end:
        sent = done()
        found = measure()
        show(str(found))
        # Twice, because a message may be between two places during one measurement.
        quiet = quiet + 1 if sent and found.nothing else 0
        if quiet == 2:
            return
        time.sleep(_PAUSE)
    raise UnavailableError(f"not settled within {deadline:.0f} s: {found}. Look at the runs in the UI and at the logs")


def broken_backlog(lake: Lake, route: str) -> tuple[int, float]:
    """Return how many messages wait for the destination of a route, and the age of the oldest in seconds."""
    found = lake.store.outbox.backlogs([Lane(route)]).values()
    return sum(backlog.messages for backlog in found), max(
        (time.time() - outbox_backlog.oldest / 1000 for outbox_backlog in found), default=0.0
    )
