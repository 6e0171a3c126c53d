"""Delivers the messages of one lane of the outbox, oldest first."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tidegate.platform.core.failpoints import seam
from tidegate.resources.forwarding.delivery import deliver
from tidegate.resources.forwarding.destination import Destination
from tidegate.resources.lake_root.outbox import Lane, Outbox


@dataclass
class LaneResult:
    """The outcome of a tick for one lane.

    Attributes:
        sent: number of messages that were sent. A message for two queues counts twice.
        undeliverable: number of messages that were quarantined.
        error: why messages are left; None if none are, or only time ran out.
    """

    lane: Lane
    sent: int = 0
    undeliverable: int = 0
    error: Exception | None = None


def deliver_lane(outbox: Outbox, lane: Lane, destination: Destination, until: float) -> LaneResult:
    """Send the messages of a lane until it is empty, the destination does not take one, or time is up.

    An object is deleted, or replaced by what is left of it, after its messages were sent. A process that dies between
    the two sends them again.

    Args:
        outbox: the lake's outbox.
        lane: the lane.
        destination: where its messages go.
        until: when to begin no further call, by `time.monotonic`.
    """
    result = LaneResult(lane)
    for found in outbox.waiting(lane):
        delivery = deliver(destination, outbox.read(found), until=until)
        seam("forward-sent")
        outbox.keep_undeliverable(found, delivery.undeliverable)
        if not delivery.left:
            outbox.delete(found)
        elif delivery.sent or delivery.undeliverable:
            outbox.replace(found, delivery.left)
        result.sent += delivery.sent
        result.undeliverable += len(delivery.undeliverable)
        result.error = delivery.error
        if delivery.left or time.monotonic() > until:
            break
    return result
