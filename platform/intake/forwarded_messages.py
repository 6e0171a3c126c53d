"""The messages that routes forward, made of the messages of an event queue."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.events.s3_event import S3Event
from tidegate.platform.core.forwarding.message_bodies import parts_of
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.keys.object_key import conventional_prefix
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.event_type import text_attributes
from tidegate.platform.core.routing.route import route_takes, table_holding
from tidegate.platform.intake.event_typing import OpenedMessage
from tidegate.platform.lake.forwarding.destination import LAKE_ATTRIBUTE
from tidegate.platform.lake.lake import Lake


@dataclass(frozen=True, slots=True)
class Made:
    """What is forwarded of some messages.

    Attributes:
        outgoing: the messages of each route, in the order in which they were received.
        stumbled: the errors of messages whose bodies could not be divided, by id, which none should have. Such a
            message never keeps the others from their destinations.
    """

    outgoing: dict[str, list[Outgoing]] = field(default_factory=dict)
    stumbled: dict[str, Exception] = field(default_factory=dict)


class Forwards:
    """The routes of a lake during one tick."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the message attributes that the routes need."""
        return (LAKE_ATTRIBUTE,) if self._lake.config.routes else ()

    def build_messages(self, messages: Sequence[OpenedMessage], types: Mapping[str, str | None]) -> Made:
        """Return the messages of each route, made of messages of an event queue.

        A message that this lake forwarded, and that came back, is not forwarded again.

        Args:
            messages: messages with events of source objects.
            types: the type of each event by its id.
        """
        if not self._lake.config.routes:
            return Made()
        others = [message for message in messages if _forwarding_lake(message) != self._lake.id]
        return outgoing_messages(others, types, self._lake.config, time.time_ns() // 1_000_000)


def _forwarding_lake(message: OpenedMessage) -> str | None:
    return text_attributes(message.body.attributes, [LAKE_ATTRIBUTE]).get(LAKE_ATTRIBUTE)


def outgoing_messages(
    messages: Sequence[OpenedMessage], types: Mapping[str, str | None], config: LakeConfig, now: int
) -> Made:
    """Return the messages of each route, made of messages of an event queue. Pure.

    Args:
        messages: messages with events of source objects.
        types: the type of each event.
        now: epoch milliseconds, for a message whose queue gives no time.
    """
    made = Made()
    for message in messages:
        try:
            own = dict(_group_by_route(message, types, config, message.sent_at or now))
        except Exception as error:
            made.stumbled[message.id] = error
            continue
        for name, outgoing in own.items():
            made.outgoing.setdefault(name, []).extend(outgoing)
    return made


def _group_by_route(
    message: OpenedMessage, types: Mapping[str, str | None], config: LakeConfig, sent_at: int
) -> Iterator[tuple[str, list[Outgoing]]]:
    for route in config.routes:
        taken = [
            place
            for place, event in message.events.items()
            if route_takes(route, event.bucket, event.key, types[event.event_id], config)
        ]
        if taken:
            yield route.name, list(_messages(route, message, taken, types, config, sent_at))


def _messages(
    route: RouteSpec,
    message: OpenedMessage,
    places: Sequence[int],
    types: Mapping[str, str | None],
    config: LakeConfig,
    sent_at: int,
) -> Iterator[Outgoing]:
    def group(place: int) -> tuple[str | None, str]:
        event = message.events[place]
        return types[event.event_id], _prefix_of(event, config) if route.group else ""

    for place, part in parts_of(message.body, places, message.whole, group):
        event = message.events[place]
        yield Outgoing(part.id, types[event.event_id], _prefix_of(event, config), sent_at, part.text)


def _prefix_of(event: S3Event, config: LakeConfig) -> str:
    spec = table_holding(event.bucket, event.key, config)
    return spec.prefix if spec else TableKey(event.bucket, conventional_prefix(event.key)).uri
