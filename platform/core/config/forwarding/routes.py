"""A route in `lake.yaml`: where events are forwarded to."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.fields import Model, Owner, QueueName, Text
from tidegate.platform.core.config.forwarding.event_types import TYPE_NAME, TYPE_RULE
from tidegate.platform.core.config.queues import QueueSpec

_ARN = re.compile(
    r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):(?P<name>[A-Za-z0-9_-]{1,256}(\.fifo)?)"
)


def _checked_topic(arn: str) -> str:
    if not _ARN.fullmatch(arn):
        raise ValueError(f"{arn!r} is no ARN of an SNS topic (arn:aws:sns:<region>:<account>:<name>)")
    return arn


def _checked_route_name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", name):
        raise ValueError(f"{name!r}: use up to 63 lower-case letters, digits, '_' and '-', beginning with a letter")
    return name


def _checked_type(text: str) -> str:
    if not TYPE_NAME.fullmatch(text.removesuffix("*") or "x"):
        raise ValueError(f"{text!r} is no event type: {TYPE_RULE}; a '*' at the end stands for any text")
    return text


EventType = Annotated[Text, AfterValidator(_checked_type)]


class RouteSpec(Model):
    """Events that are forwarded to a topic, to a queue, or to the queues that have the event's type as a tag."""

    name: Annotated[Text, AfterValidator(_checked_route_name)]
    """Name of the route, and of its asset `routes/<name>`."""
    types: tuple[EventType, ...] = ()
    """Event types that are forwarded; a `*` at the end stands for any text. By default every event is forwarded."""
    topic: Annotated[Text | None, AfterValidator(lambda arn: arn and _checked_topic(arn))] = None
    """ARN of an SNS topic."""
    queue: QueueSpec | None = None
    """An SQS queue."""
    queues_tagged: Annotated[Text | None, Field(max_length=128)] = None
    """Key of a tag of SQS queues. An event goes to each queue whose tag has the event's type as its value."""
    unmatched: QueueName | None = None
    """Name of the queue for events for which no queue has the tag. Required with `queues_tagged`."""
    group: Literal["table"] | None = None
    """`table`: the message group is the table prefix. A FIFO destination keeps the order within a group, and a standard
    queue shares its consumers fairly between the groups."""
    max_lag: Annotated[int, Field(ge=1)] = 900
    """Seconds that an event may wait for its delivery before the route counts as behind."""
    owners: tuple[Owner, ...] = ()
    """Owners shown by Dagster: `team:<name>` or an email address."""

    @model_validator(mode="after")
    def _one_destination(self) -> Self:
        given = [name for name in ("topic", "queue", "queues_tagged") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of topic, queue and queues_tagged")
        if (self.queues_tagged is None) != (self.unmatched is None):
            raise ValueError(
                "`unmatched` is the queue for events that no tagged queue takes; give it with queues_tagged only"
                if self.unmatched
                else "`queues_tagged` needs `unmatched`, a queue for events that no tagged queue takes"
            )
        if self.queue and self.queue.dlq:
            raise ValueError("`dlq` is for queues that Tidegate reads; the consumer of this queue has its dead letters")
        if self.fifo and not self.group:
            raise ValueError("a FIFO destination needs a message group: add `group: table`")
        if self.topic and self.group and not self.fifo:
            raise ValueError("a standard topic has no message groups; remove `group`, or use a FIFO topic")
        return self

    @property
    def fifo(self) -> bool:
        """Whether the destination keeps an order. A queue that is found by its tag says so by its own name."""
        name = self.queue.name if self.queue else self.topic or self.unmatched or ""
        return name.endswith(".fifo")

    @property
    def topic_region(self) -> str:
        """The region of the topic."""
        found = _ARN.fullmatch(self.topic or "")
        return found["region"] if found else ""

    def takes(self, event_type: str | None) -> bool:
        """Return whether events of a type are forwarded. None is an event without a type."""
        if not self.types:
            return True
        return event_type is not None and any(
            event_type.startswith(name[:-1]) if name.endswith("*") else event_type == name for name in self.types
        )
