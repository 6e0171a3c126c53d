"""Delivers the messages of one lane of the outbox, oldest first."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ulid import ULID

from tidegate.platform.core.failpoints import seam
from tidegate.platform.lake.forwarding.delivery import EntriesRefused, deliver
from tidegate.platform.lake.forwarding.destination import Destination
from tidegate.platform.lake.lake_root.outbox import Lane, Outbox

#: Objects in a row of which a destination takes no message, after which it is served later.
_MAX_UNSENT_OBJECTS = 3


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
    """Send the messages of a lane until it is empty, the destination takes none, or time is up.

    An object is deleted, or replaced by what is left of it, after its messages were sent. A process that dies between
    the two sends them again. Messages that the destination refuses one by one move to the end of the lane, so that
    they delay no other, unless the destination keeps an order.

    Args:
        outbox: the lake's outbox.
        lane: the lane.
        destination: where its messages go.
        until: when to begin no further call, by `time.monotonic`.
    """
    result = LaneResult(lane)
    began, barren = str(ULID()), 0
    for found in outbox.waiting(lane):
        if found.name.ulid > began:
            break  # The last objects of the lane are those that this tick moved there, or newer than the tick.
        delivery = deliver(destination, outbox.read(found), until=until)
        seam("forward-sent")
        outbox.keep_undeliverable(found, delivery.undeliverable)
        one_by_one = isinstance(delivery.error, EntriesRefused) and not destination.ordered
        if one_by_one:
            outbox.put([(lane, delivery.left)])
        if not delivery.left or one_by_one:
            outbox.delete(found)
        elif delivery.sent or delivery.undeliverable:
            outbox.replace(found, delivery.left)
        result.sent += delivery.sent
        result.undeliverable += len(delivery.undeliverable)
        result.error = delivery.error or result.error
        barren = 0 if delivery.sent or delivery.undeliverable else barren + 1
        if (delivery.left and not one_by_one) or barren == _MAX_UNSENT_OBJECTS or time.monotonic() > until:
            break
    return result
