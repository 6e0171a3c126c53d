"""Dead letters: the messages of a dead-letter queue, the reason of each, and the way back to their queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.platform.core.bronze.hint import REMOVALS
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.events.row_queue import row_of
from tidegate.platform.core.events.s3_event import S3Event, parse_body
from tidegate.platform.core.forwarding.message_bodies import inner_body
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.event_type import EventTypes, TagsNeeded, tags_refused, text_attributes
from tidegate.platform.core.routing.route import NoRoute, is_forwarded, route
from tidegate.platform.core.seams import seam
from tidegate.platform.core.times import from_millis
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import ObjectRefused, StoreError
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.threads import parallel
from tidegate.platform.operations.redrive import Choice, RedriveRequest

#: The reason of a message that Tidegate understands now. An earlier version, or an outage, could not process it.
UNDERSTOOD = "it is understood and has a table now: it was received too often"
#: Seconds that a received message stays hidden. It is made visible earlier, unless this process is killed.
_HIDDEN_SECONDS = 300
#: Consecutive receives without a new message after which a redrive ends.
_MAX_EMPTY_RECEIVES = 10
_MAX_PER_SEND = 10
_MAX_REASONS = 3


@dataclass(frozen=True)
class DeadLetters:
    """A dead-letter queue, `queue`, and the queue that its messages came from, `source`."""

    source: Queue
    queue: Queue


@dataclass(frozen=True)
class DeadLetter:
    """A message of a dead-letter queue, as the intake would read it now.

    Attributes:
        keys: object keys of its events. An event id instead for a row, and for each part that is not an event.
        reason: why it does not reach a table, or `UNDERSTOOD`.
        at: time of its first event, or, if no event has a time, the time when the message was sent.
    """

    message: Message
    keys: tuple[str, ...]
    reason: str
    at: datetime

    @classmethod
    def from_message(
        cls,
        message: Message,
        config: LakeConfig,
        known: Iterable[TableKey],
        refusal: Callable[[S3Event], str | None] = lambda _: None,
        rules: EventTypes | None = None,
    ) -> DeadLetter:
        """Read a message of a queue of S3 events.

        Args:
            known: tables that exist.
            refusal: called for each event whose type depends on the tags of its object. Returns why S3 does not give
                them. Such a message stays in its queue until it is a dead letter.
            rules: those of `event_types` of the lake. They are made here if a caller with one message gives none.
        """
        parsed, tables = parse_body(message.body, message.id), set(known)
        routes = [route(event.bucket, event.key, config, tables) for event in parsed.events]
        unrouted = [found for found in routes if isinstance(found, NoRoute)]
        refusals = (refusal(event) for event in _with_tagged_type(message, parsed.events, config, rules))
        reasons = [
            *(reject.reason for reject in parsed.rejects),
            *(tags_refused(error) for error in refusals if error),
            *(found.why for found in unrouted),
        ]
        times = [event.event_time for event in parsed.events if event.event_time]
        return cls(
            message,
            tuple(event.key for event in parsed.events) + tuple(reject.event_id for reject in parsed.rejects)
            or (message.id,),
            "; ".join(list(dict.fromkeys(reasons))[:_MAX_REASONS]) or UNDERSTOOD,
            min(times) if times else _sent_time(message),
        )

    @classmethod
    def from_row_message(cls, message: Message, topic: str | None) -> DeadLetter:
        """Read a message of a row queue. It becomes the message that is sent again, with its identity.

        Args:
            topic: the `topic` of the queue in lake.yaml.
        """
        at, keys = _sent_time(message), (f"{message.id}#0",)
        try:
            message = message.with_identity(topic)
            row_of(message.body, message.origin)
        except ValueError as error:
            return cls(message, keys, str(error), at)
        return cls(message, keys, UNDERSTOOD, at)

    def is_chosen(self, choice: Choice) -> bool:
        """Return whether the choice includes one of its keys."""
        return any(choice.includes(key, self.reason, self.at) for key in self.keys)


def dead_letter_queues(config: LakeConfig, queues: list[Queue], name: str | None = None) -> list[DeadLetters]:
    """Return the dead-letter queues of the lake, each once. A queue's own is that of `lake.yaml`, or that of SQS.

    Args:
        name: name of a queue or of its dead-letter queue. None for all.

    Raises:
        BadSetting: there is no such queue. The message lists the queues.
    """
    found: dict[str, DeadLetters] = {}
    names: list[str] = []
    for spec, source in zip(config.every_queue, queues, strict=True):
        if dead := spec.dlq or source.depths().dead_letters:
            names += [source.name, dead]
            if name in (None, source.name, dead):
                # Two regions may have a queue of that name each.
                found.setdefault(f"{source.url.rpartition('/')[0]}/{dead}", DeadLetters(source, source.sibling(dead)))
    if name and not found:
        known = ", ".join(dict.fromkeys(names)) or "none has dead letters"
        raise BadSetting(f"{name!r} is neither a queue of lake.yaml nor one of their dead-letter queues: {known}")
    return list(found.values())


def peek(config: LakeConfig, store: LakeStore, letters: DeadLetters, limit: int) -> list[DeadLetter]:
    """Receive some messages and make them visible again. Meanwhile no other consumer receives them.

    SQS counts it as a receive of each message, which matters only if the queue has dead letters of its own.

    Args:
        letters: the queues.
        limit: number of messages after which it stops. The last receive may bring more.
    """
    dead, seen = letters.queue, dict[str, Message]()
    try:
        while len(seen) < limit:
            batch = dead.receive(hidden=_HIDDEN_SECONDS)
            if not {message.id for message in batch} - seen.keys():
                break
            seen.update((message.id, message) for message in batch)
    finally:
        dead.hide(seen.values(), 0)
    return list(parallel(_make_reader(config, store, letters), seen.values()))


def redrive_dead_letters(config: LakeConfig, store: LakeStore, letters: DeadLetters, request: RedriveRequest) -> str:
    """Send the chosen messages to the queue that they came from. Returns the address of its operations log entry.

    A message is sent before it is deleted, so a death between leaves a duplicate, which changes nothing. A message that
    returns to the dead-letter queue meanwhile is not sent a second time.

    Args:
        letters: the queues.
        request: what was asked for.
    """
    source, dead = letters.source, letters.queue
    choice, rate = request.choice, request.rate
    about = {"queue": source.name, "dead_letters": dead.name}
    address = store.operations.put(
        "redrive-dead-letters", request.by, **about, choice=choice.to_log(), depth=dead.depth()[0], rate=rate
    )
    seam("redrive-log")
    read, left, own = _make_reader(config, store, letters), dict[str, Message](), set[str]()
    rows = config.table_of_rows(source.name) is not None
    moved, logged, refused, fruitless, last, size = 0, 0, 0, 0, 0, min(rate, _MAX_PER_SEND)
    try:
        while fruitless < _MAX_EMPTY_RECEIVES and (batch := dead.receive(hidden=_HIDDEN_SECONDS)):
            new = [message for message in batch if message.id not in left and message.id not in own]
            fruitless = 0 if new else fruitless + 1
            chosen = [letter.message for letter in parallel(read, new) if letter.is_chosen(choice)]
            for part in (chosen[i : i + size] for i in range(0, len(chosen), size)):
                if last:
                    request.sleep(last / rate)
                sent = source.send_again(part)
                seam("redrive-sent")
                dead.delete([message for message in part if message.id in sent])
                own.update(sent.values())
                moved, refused, last = moved + len(sent), refused + len(part) - len(sent), len(part)
                batch = [message for message in batch if message.id not in sent]
            left.update((message.id, replace(message, body="")) for message in batch)
            if moved - logged >= rate:
                request.log(f"{moved} messages of {dead.name} are in {source.name}")
                logged = moved
    finally:
        dead.hide(left.values(), 0)
        store.operations.put("redriven-dead-letters", request.by, **about, asked=address, moved=moved, left=len(left))
    request.log(f"{moved} messages of {dead.name} are in {source.name}; {len(left)} stay")
    if refused:
        why = ": a row's message gets two more attributes, and SQS accepts ten" if rows else ""
        request.log(
            f"SQS refused {refused} of these{why}. Turn on the sensor `dead_letters`, which reads them from there"
        )
    return address


def _make_reader(config: LakeConfig, store: LakeStore, letters: DeadLetters) -> Callable[[Message], DeadLetter]:
    if (table := config.table_of_rows(letters.source.name)) and table.row_queue:
        topic = table.row_queue.topic
        return lambda message: DeadLetter.from_row_message(message, topic)
    known = {TableKey.decode(table_key) for table_key in store.table_keys()}

    def refusal(event: S3Event) -> str | None:
        try:
            store.objects.tags(event.bucket, event.key)
        except ObjectRefused as error:
            return str(error)
        except StoreError:
            return None  # An object that is gone has no type. Of an S3 that does not answer, nothing follows.
        return None

    rules = EventTypes(config.event_types)
    return lambda message: DeadLetter.from_message(message, config, known, refusal, rules)


def _with_tagged_type(
    message: Message, events: Sequence[S3Event], config: LakeConfig, rules: EventTypes | None
) -> list[S3Event]:
    """Return the events that stay in their queue if S3 refuses the tags of their objects."""
    if not config.routes or not events:
        return []
    rules = rules or EventTypes(config.event_types)
    attributes = text_attributes(
        inner_body(message.body, message.id, message.attributes).attributes if rules.attributes else {},
        rules.attributes,
    )
    return [
        event
        for event in events
        if not event.event_name.startswith(REMOVALS)
        and is_forwarded(event.bucket, event.key, config)
        and isinstance(rules.find_type(event.key, attributes), TagsNeeded)
    ]


def _sent_time(message: Message) -> datetime:
    return from_millis(message.sent_at)
