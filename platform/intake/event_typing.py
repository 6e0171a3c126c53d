"""The types of the events that a tick received."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.platform.core.bronze.hint import REMOVALS
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.s3_event import S3Event
from tidegate.platform.core.forwarding.message_bodies import Body, inner_body
from tidegate.platform.core.routing.event_type import EventTypes, TagsNeeded, Typed, text_attributes
from tidegate.platform.core.routing.route import is_forwarded
from tidegate.platform.intake.message_routing import ParsedMessage
from tidegate.platform.lake.aws.s3 import ObjectGone, ObjectRefused, StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.threads import parallel

#: Objects without an answer, of those that are asked first, after which S3 as a whole does not answer.
_MAX_SILENT = 32
#: Returns the tags of an object, or a sentence why it has none. None: they are unknown, and so is the type.
Tags = Callable[[S3Event], Mapping[str, str] | str | None]


@dataclass(frozen=True, slots=True)
class OpenedMessage:
    """A message with events of source objects that Tidegate itself did not write.

    Attributes:
        id: id of the message in its queue.
        body: its body without SNS envelopes.
        events: these events, by their places in the body.
        whole: how many records the body has.
        sent_at: epoch milliseconds at which it was sent; 0 if its queue does not say.
    """

    id: str
    body: Body
    events: Mapping[int, S3Event]
    whole: int
    sent_at: int


@dataclass(frozen=True, slots=True)
class Types:
    """The types of the events of some messages.

    Attributes:
        by_event: the type of each event by its id; None for an event without a type.
        refused: the messages with an event whose type is unknown because S3 does not give the tags of its object, by
            id, each with what S3 says. They must stay in their queue, because an event without its type could reach a
            wrong destination. Empty if the lake has no routes.
    """

    by_event: Mapping[str, str | None]
    refused: Mapping[str, str] = field(default_factory=dict)


class EventTyping:
    """The rules of a lake during one tick."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._rules = EventTypes(lake.config.event_types)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the message attributes that rules read."""
        return self._rules.attributes

    def open_messages(self, parsed: Sequence[ParsedMessage]) -> list[OpenedMessage]:
        """Return the messages with events that may have a type or be forwarded: none if the lake has neither."""
        config = self._lake.config
        if not config.event_types and not config.routes:
            return []
        return opened_messages(parsed, config, with_envelopes=bool(config.routes or self.attributes))

    def find_types(self, messages: Sequence[OpenedMessage]) -> Types:
        """Return the types of the events of messages.

        An object whose tags S3 does not give keeps its own messages only in their queue.

        Raises:
            StoreError: S3 gives the tags of no object, because it does not answer, and the lake has routes. All
                messages come back.
        """
        refused: dict[str, str] = {}
        answered: list[str] = []
        silent: list[StoreError] = []

        def tags(event: S3Event) -> Mapping[str, str] | str | None:
            try:
                found = self._lake.store.objects.tags(event.bucket, event.key)
            except ObjectGone:
                answered.append(event.event_id)
                return "the object is gone"
            except StoreError as error:
                if not self._lake.config.routes:
                    return None  # A type that only the ledger shows must not keep a file from its table.
                if isinstance(error, ObjectRefused):
                    answered.append(event.event_id)
                else:
                    silent.append(error)
                if len(silent) >= _MAX_SILENT and not answered:
                    raise
                refused[event.event_id] = str(error)
                return None
            answered.append(event.event_id)
            return found

        types = types_of(messages, self._rules, tags)
        if silent and not answered:
            raise silent[0]
        ids = ((message.id, event.event_id) for message in messages if refused for event in message.events.values())
        return Types(types, {id: refused[event_id] for id, event_id in ids if event_id in refused})


def opened_messages(
    parsed: Sequence[ParsedMessage], config: LakeConfig, *, with_envelopes: bool = True
) -> list[OpenedMessage]:
    """Return the messages with events of source objects that Tidegate itself did not write. Pure.

    Args:
        parsed: the messages of an event queue.
        with_envelopes: whether bodies are taken out of their SNS envelopes. It costs another parse of each body.
    """
    found = []
    for parsed_message in parsed:
        message, body = parsed_message.message, parsed_message.body
        events = {
            int(event.event_id.rpartition("#")[2]): event
            for event in body.events
            if is_forwarded(event.bucket, event.key, config)
        }
        if events:
            plain = Body(message.body, message.id, message.attributes)
            inner = inner_body(message.body, message.id, message.attributes) if with_envelopes else plain
            found.append(OpenedMessage(message.id, inner, events, body.received, message.sent_at))
    return found


def types_of(messages: Sequence[OpenedMessage], rules: EventTypes, tags: Tags) -> dict[str, str | None]:
    """Return the type of each event by its id; None for an event without a type.

    Args:
        messages: what `opened_messages` returned.
        rules: the rules of the lake.
        tags: called in parallel, only for objects whose type depends on their tags.
    """
    types: dict[str, str | None] = {}
    asked: list[tuple[S3Event, dict[str, str | None]]] = []
    for message in messages:
        attributes = text_attributes(message.body.attributes, rules.attributes)
        for event in message.events.values():
            found = rules.find_type(event.key, attributes)
            if isinstance(found, TagsNeeded) and event.event_name.startswith(REMOVALS):
                # S3 has tags of the object that has the key now, if there is one.
                found = rules.find_type(event.key, attributes, "the object was removed")
            if isinstance(found, TagsNeeded):
                asked.append((event, attributes))
            else:
                types[event.event_id] = found.name if isinstance(found, Typed) else None
    for (event, attributes), answer in zip(asked, parallel(tags, [event for event, _ in asked]), strict=True):
        found = rules.find_type(event.key, attributes, answer)
        types[event.event_id] = found.name if isinstance(found, Typed) else None
    return types
