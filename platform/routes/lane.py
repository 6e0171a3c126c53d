"""Delivers the messages of one lane of the outbox, oldest first, or spreads them over the queues with a tag."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ulid import ULID

from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.forwarding.delivery import Delivery, EntriesRefused, deliver
from tidegate.platform.lake.forwarding.destination import Destination
from tidegate.platform.lake.forwarding.destinations import Destinations
from tidegate.platform.lake.forwarding.tagged_queues import TaggedQueues
from tidegate.platform.lake.lake_root.outbox import Lane, Outbox, OutboxObject
from tidegate.platform.lake.threads import ConcurrentCalls

#: Objects in a row of which a destination takes no message, after which it is served later.
_MAX_UNSENT_OBJECTS = 3

_QUEUES_IN_PARALLEL = 32
#: Seconds that the queues of one object may take together. A queue that takes longer gets a lane of its own.
_MAX_SECONDS = 10.0


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
        destination: where its messages go.
        until: when to begin no further call, by `time.monotonic`.
    """
    result = LaneResult(lane)
    began, barren = str(ULID()), 0
    for found in outbox.waiting_objects(lane):
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


def spread_lane(
    outbox: Outbox, route: RouteSpec, destinations: Destinations, behind: Collection[str], until: float
) -> LaneResult:
    """Send the messages of a route to each queue with their type, or to the queue for unmatched events.

    Messages that a queue does not take are moved to a lane of that queue, so that they delay no other queue. While
    something is in that lane, later messages for the queue follow it there, which keeps their order.

    Args:
        route: a route with `queues_tagged`.
        destinations: the topics and queues of the lake.
        behind: names of the route's queues with a lane.
        until: when to begin no further object, by `time.monotonic`.
    """
    result = LaneResult(Lane(route.name))
    waiting = set(behind)
    for found in outbox.waiting_objects(result.lane):
        by_queue = _group_by_queue(outbox.read(found), destinations.tagged_queues(route), route.unmatched or "")
        left = {name: messages for name, messages in by_queue.items() if name in waiting}
        left |= _send(
            outbox, found, route, destinations, {name: by_queue[name] for name in by_queue.keys() - waiting}, result
        )
        seam("forward-sent")
        outbox.put(((Lane(route.name, name), messages) for name, messages in left.items()), found.name.ulid)
        seam("forward-moved")
        outbox.delete(found)
        waiting |= left.keys()
        if time.monotonic() > until:
            break
    return result


def deliver_to_tagged(
    outbox: Outbox, lane: Lane, route: RouteSpec, destinations: Destinations, until: float
) -> LaneResult:
    """Send the messages of a queue's own lane. If the queue has the tag no longer, its messages are unmatched."""
    tagged = destinations.tagged_queues(route)
    name = lane.queue if lane.queue == route.unmatched or tagged.has(lane.queue) else route.unmatched or ""
    result = deliver_lane(outbox, lane, destinations.queue(route, name), until)
    if result.error:
        tagged.forget()
    return result


def _group_by_queue(messages: Sequence[Outgoing], tagged: TaggedQueues, unmatched: str) -> dict[str, list[Outgoing]]:
    by_queue: dict[str, list[Outgoing]] = {}
    for message in messages:
        names = tagged.names_with_value(message.event_type) if message.event_type else ()
        for name in names or (unmatched,):
            by_queue.setdefault(name, []).append(replace(message, to=name))
    return by_queue


def _send(
    outbox: Outbox,
    found: OutboxObject,
    route: RouteSpec,
    destinations: Destinations,
    by_queue: dict[str, list[Outgoing]],
    result: LaneResult,
) -> dict[str, list[Outgoing]]:
    """Send messages to their queues in parallel. Returns what each queue did not take."""
    until = time.monotonic() + _MAX_SECONDS

    def send(name: str) -> Delivery:
        return deliver(destinations.queue(route, name), by_queue[name], until=until)

    calls = ConcurrentCalls(send, sorted(by_queue), _QUEUES_IN_PARALLEL)
    calls.wait(_MAX_SECONDS)
    left: dict[str, list[Outgoing]] = {}
    for outcome in calls.outcomes():
        delivery = outcome.value or Delivery(left=by_queue[outcome.item])
        result.sent += delivery.sent
        result.undeliverable += len(delivery.undeliverable)
        outbox.keep_undeliverable(found, delivery.undeliverable)
        if delivery.left:
            left[outcome.item] = delivery.left
            destinations.tagged_queues(route).forget()
    return left
