"""A route in `lake.yaml`: where events are forwarded to."""

from __future__ import annotations

import re
from binascii import crc32
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.event_types import TYPE_NAME, TYPE_RULE
from tidegate.platform.core.config.fields import (
    TOPIC,
    Bucket,
    Folder,
    Model,
    Owner,
    Pattern,
    QueueName,
    Text,
    TopicArn,
    require_match,
)
from tidegate.platform.core.config.queues import QueueSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.key_pattern import KeyPattern

_ARN = re.compile(TOPIC)


def _checked_type(text: str) -> str:
    if not TYPE_NAME.fullmatch(text.removesuffix("*") or "x"):
        raise BadSetting(f"{text!r} is not an event type: {TYPE_RULE}; a '*' at the end stands for any text")
    return text


EventType = Annotated[Text, AfterValidator(_checked_type)]
RouteName = Annotated[
    Text,
    require_match(
        r"[a-z][a-z0-9_-]{0,62}",
        ": use up to 63 lower-case letters, digits, '_' and '-', beginning with a letter",
    ),
]


class RouteSpec(Model):
    """What happens to events: they are sent to a topic or to queues, or their objects are tagged or unwrapped."""

    name: RouteName
    """Name of the route, and of its asset `routes/<name>`."""
    types: tuple[EventType, ...] = ()
    """Event types that are forwarded; a `*` at the end stands for any text. By default every event is forwarded."""
    key: Pattern | None = None
    """A pattern of keys, as in `event_types`. Only events of such keys are forwarded."""
    bucket: Bucket | None = None
    """Only events of this bucket are forwarded. Required with `unwrap` if there are several `buckets`."""
    topic: TopicArn | None = None
    """ARN of an SNS topic."""
    shards: Annotated[int, Field(ge=1, le=100)] = 1
    """Number of topics among which the event types are divided: `<topic>-0`, `<topic>-1`, …. SNS lets 200 subscriptions
    of a topic have a filter policy."""
    queue: QueueSpec | None = None
    """An SQS queue."""
    queues_tagged: Annotated[Text | None, Field(max_length=128)] = None
    """Key of a tag of SQS queues. An event goes to each queue whose tag has the event's type as its value."""
    unmatched: QueueName | None = None
    """Name of the queue for events for which no queue has the tag. Required with `queues_tagged`."""
    tag: Annotated[dict[Text, Text] | None, Field(min_length=1, max_length=10)] = None
    """Tags that the object gets. A value may contain `{type}` and parts of `key`."""
    unwrap: Folder | None = None
    """`s3://bucket/folder/` to which the elements of a JSON array are written as JSON lines."""
    group: Literal["table"] | None = None
    """`table`: the message group is the table prefix. A FIFO destination keeps the order within a group, and a standard
    queue shares its consumers fairly between the groups."""
    max_lag: Annotated[int, Field(ge=1)] = 900
    """Seconds that an event may wait for its delivery before the route counts as behind."""
    owners: tuple[Owner, ...] = ()
    """Owners shown by Dagster: `team:<name>` or an email address."""

    @model_validator(mode="after")
    def _check_single_destination(self) -> Self:
        ways = ("topic", "queue", "queues_tagged", "tag", "unwrap")
        if sum(getattr(self, name) is not None for name in ways) != 1:
            raise BadSetting("give exactly one of topic, queue, queues_tagged, tag and unwrap")
        if (self.queues_tagged is None) != (self.unmatched is None):
            raise BadSetting(
                "`unmatched` is the queue for events that no tagged queue takes; give it with queues_tagged only"
                if self.unmatched
                else "`queues_tagged` needs `unmatched`, a queue for events that no tagged queue takes"
            )
        if self.queue and self.queue.dlq:
            raise BadSetting("`dlq` is for queues that Tidegate reads; the consumer of this queue has its dead letters")
        if self.fifo and not self.group:
            raise BadSetting("a FIFO destination needs a message group: add `group: table`")
        if self.shards > 1 and not self.topic:
            raise BadSetting("`shards` divides the event types among topics; give it with `topic` only")
        if self.topic and self.group and not self.fifo:
            raise BadSetting("a standard topic has no message groups; remove `group`, or use a FIFO topic")
        if self.acts and self.group:
            raise BadSetting("`group` is for topics and queues; remove it")
        known = {"type", *(self.pattern.parts if self.pattern else ())}
        for value in (self.tag or {}).values():
            if unknown := [name for name in re.findall(r"\{([^{}]*)\}", value) if name not in known]:
                raise BadSetting(f"`tag` has {{{unknown[0]}}}, which is neither {{type}} nor a part of `key`")
        return self

    @cached_property
    def pattern(self) -> KeyPattern | None:
        """The pattern of `key`."""
        return KeyPattern(self.key) if self.key else None

    @property
    def acts(self) -> bool:
        """Whether the route does something with the objects, instead of sending their events on."""
        return self.tag is not None or self.unwrap is not None

    @property
    def fifo(self) -> bool:
        """Whether the destination keeps an order. A queue that is found by its tag says so by its own name."""
        name = self.queue.name if self.queue else self.topic or self.unmatched or ""
        return name.endswith(".fifo")

    @property
    def topics(self) -> tuple[str, ...]:
        """The ARNs of its topics; none if it sends elsewhere."""
        if self.topic is None or self.shards == 1:
            return (self.topic,) if self.topic else ()
        name, ending = self.topic.removesuffix(".fifo"), ".fifo" if self.fifo else ""
        return tuple(f"{name}-{number}{ending}" for number in range(self.shards))

    def topic_of(self, event_type: str | None) -> str:
        """Return the ARN of the topic that gets events of a type. It depends on the type and on `shards` only."""
        return self.topics[crc32((event_type or "").encode()) % self.shards]

    @property
    def topic_region(self) -> str:
        """The region of the topic."""
        found = _ARN.fullmatch(self.topic or "")
        return found["region"] if found else ""

    def takes(self, event_type: str | None, key: str) -> bool:
        """Return whether an event is forwarded.

        Args:
            event_type: its type; None is an event without a type.
            key: decoded key of its object.
        """
        if self.pattern and self.pattern.match(key) is None:
            return False
        if not self.types:
            return True
        return event_type is not None and any(
            event_type.startswith(name[:-1]) if name.endswith("*") else event_type == name for name in self.types
        )
