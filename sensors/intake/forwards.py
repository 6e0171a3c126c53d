"""The messages that routes forward, made of the messages of an event queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.core.config.forwarding.routes import RouteSpec
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.s3_event import S3Event
from tidegate.platform.core.forwarding.bodies import Body, inner_body, parts_of
from tidegate.platform.core.forwarding.outgoing import Outgoing
from tidegate.platform.core.keys.object_key import conventional_prefix
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.eligible import is_forwarded, route_takes
from tidegate.platform.core.routing.event_type import EventTypes, TagsNeeded, Typed, text_attributes
from tidegate.platform.core.routing.prefixes import table_holding
from tidegate.resources.aws.s3 import ObjectGone
from tidegate.resources.forwarding.destination import LAKE_ATTRIBUTE
from tidegate.resources.lake import Lake
from tidegate.resources.threads import parallel
from tidegate.sensors.intake.message_routing import Parsed

#: Returns the tags of an event's object, or a sentence why S3 gives none.
Tags = Callable[[S3Event], Mapping[str, str] | str]


class Forwards:
    """The routes of a lake during one tick.

    Args:
        lake: the lake.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._rules = lake.config.typing

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the message attributes that the routes need."""
        return (LAKE_ATTRIBUTE, *self._rules.attributes) if self._lake.config.routes else ()

    def of(self, parsed: Sequence[Parsed]) -> dict[str, list[Outgoing]]:
        """Return the messages of each route, made of messages of an event queue.

        Raises:
            StoreError: S3 does not give the tags that decide an event's type. The messages come back.
        """
        if not self._lake.config.routes:
            return {}
        messages = forwardable(parsed, self._lake.config, self._lake.id)
        types = types_of(messages, self._rules, self._tags)
        return outgoing_messages(messages, types, self._lake.config, time.time_ns() // 1_000_000)

    def _tags(self, event: S3Event) -> Mapping[str, str] | str:
        try:
            return self._lake.store.objects.tags(event.bucket, event.key)
        except ObjectGone:
            return "the object is gone"


@dataclass(frozen=True, slots=True)
class Forwardable:
    """A message with events that routes may forward.

    Attributes:
        body: its body without SNS envelopes.
        events: these events, by their places in the body.
        whole: how many records the body has.
        sent_at: epoch milliseconds at which it was sent; 0 if its queue does not say.
    """

    body: Body
    events: Mapping[int, S3Event]
    whole: int
    sent_at: int


def forwardable(parsed: Sequence[Parsed], config: LakeConfig, lake: str) -> list[Forwardable]:
    """Return the messages with events that routes may forward. Pure.

    Those are the events of source buckets, without what Tidegate itself writes there. A message that this lake
    forwarded, and that came back, is not forwarded again.

    Args:
        parsed: the messages of an event queue.
        config: the lake.
        lake: the lake's UUID.
    """
    found = []
    for message in parsed:
        events = {
            int(event.event_id.rpartition("#")[2]): event
            for event in message.body.events
            if is_forwarded(event.bucket, event.key, config)
        }
        if not events:
            continue
        body = inner_body(message.message.body, message.message.id, message.message.attributes)
        if text_attributes(body.attributes, [LAKE_ATTRIBUTE]).get(LAKE_ATTRIBUTE) != lake:
            found.append(Forwardable(body, events, message.body.received, message.message.sent_at))
    return found


def types_of(messages: Sequence[Forwardable], rules: EventTypes, tags: Tags) -> dict[str, str | None]:
    """Return the type of each event by its id; None for an event without a type.

    Args:
        messages: what `forwardable` returned.
        rules: the rules of the lake.
        tags: called in parallel, only for objects whose type depends on their tags.
    """
    types: dict[str, str | None] = {}
    asked: list[tuple[S3Event, dict[str, str | None]]] = []
    for message in messages:
        attributes = text_attributes(message.body.attributes, rules.attributes)
        for event in message.events.values():
            found = rules.of(event.key, attributes)
            if isinstance(found, TagsNeeded):
                asked.append((event, attributes))
            else:
                types[event.event_id] = found.name if isinstance(found, Typed) else None
    for (event, attributes), answer in zip(asked, parallel(tags, [event for event, _ in asked]), strict=True):
        found = rules.of(event.key, attributes, answer)
        types[event.event_id] = found.name if isinstance(found, Typed) else None
    return types


def outgoing_messages(
    messages: Sequence[Forwardable], types: Mapping[str, str | None], config: LakeConfig, now: int
) -> dict[str, list[Outgoing]]:
    """Return the messages of each route, in the order in which they were received. Pure.

    Args:
        messages: what `forwardable` returned.
        types: the type of each event.
        config: the lake.
        now: epoch milliseconds, for a message whose queue gives no time.
    """
    outgoing: dict[str, list[Outgoing]] = {}
    for message in messages:
        for route in config.routes:
            taken = [
                place
                for place, event in message.events.items()
                if route_takes(route, event.bucket, event.key, types[event.event_id], config)
            ]
            if taken:
                made = _messages(route, message, taken, types, config, message.sent_at or now)
                outgoing.setdefault(route.name, []).extend(made)
    return outgoing


def _messages(
    route: RouteSpec,
    message: Forwardable,
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
