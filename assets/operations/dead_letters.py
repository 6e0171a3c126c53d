"""Dead letters: what lies in a dead-letter queue, why, and the way back to the queue that it came from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tidegate.assets.operations.redrive import RATE, Choice
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.row_message import row_of
from tidegate.platform.core.events.s3_event import parse_body
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Unrouted, route
from tidegate.resources.aws.sqs import Message, Queue
from tidegate.resources.lake import Lake

#: The reason of a message with which nothing is wrong: an earlier Tidegate, or the world around it, could not take it.
UNDERSTOOD = "it is understood and has a table now: it was received too often"
#: Seconds that what was looked at stays hidden; it is given back before, unless this process is killed.
_HIDDEN = 300
#: Receives that brought nothing new, one after another, after which a redrive ends.
_FRUITLESS = 10
_MOST_PER_SEND = 10
_MOST_REASONS = 3


@dataclass(frozen=True)
class DeadLetters:
    """A dead-letter queue, `queue`, and the queue that its messages came from, `source`."""

    source: Queue
    queue: Queue


@dataclass(frozen=True)
class DeadLetter:
    """A message of a dead-letter queue, as intake would read it now.

    Attributes:
        keys: of the objects that its events tell of; the event id of what is no event, and of a row.
        reason: what keeps it from a table, or `UNDERSTOOD`.
        at: when the first of its events happened; where none says so, when the message was sent.
    """

    message: Message
    keys: tuple[str, ...]
    reason: str
    at: datetime

    @classmethod
    def of(cls, message: Message, config: LakeConfig, known: Iterable[TableKey]) -> DeadLetter:
        """Read a message; pure.

        Args:
            message: as received.
            config: the lake.
            known: tables that exist.
        """
        parsed, tables = parse_body(message.body, message.id), set(known)
        routes = [route(event.bucket, event.key, config, tables) for event in parsed.events]
        reasons = [*(one.reason for one in parsed.rejects), *(one.why for one in routes if isinstance(one, Unrouted))]
        times = [event.event_time for event in parsed.events if event.event_time]
        return cls(
            message,
            tuple(event.key for event in parsed.events) + tuple(reject.event_id for reject in parsed.rejects)
            or (message.id,),
            "; ".join(list(dict.fromkeys(reasons))[:_MOST_REASONS]) or UNDERSTOOD,
            min(times) if times else _sent(message),
        )

    @classmethod
    def of_row(cls, message: Message) -> DeadLetter:
        """Read a message of a row queue; pure."""
        try:
            row_of(message.body, message.origin)
        except ValueError as error:
            return cls(message, (f"{message.id}#0",), str(error), _sent(message))
        return cls(message, (f"{message.id}#0",), UNDERSTOOD, _sent(message))

    def is_meant(self, choice: Choice) -> bool:
        """Whether one of its keys is meant."""
        return any(choice.takes(key, self.reason, self.at) for key in self.keys)


def dead_letter_queues(lake: Lake, name: str | None = None) -> list[DeadLetters]:
    """The dead-letter queues of the lake, as lake.yaml names them, else as SQS does; each once.

    Args:
        lake: handles.
        name: of a queue or of its dead-letter queue; None for all.

    Raises:
        ValueError: there is none of that name; the message says which there are.
    """
    found: dict[str, DeadLetters] = {}
    names: list[str] = []
    for spec, source in zip(lake.config.every_queue, lake.queues, strict=True):
        if dead := spec.dlq or source.depths().dead_letters:
            names += [source.name, dead]
            if name in (None, source.name, dead):
                # Two regions may have one each of that name.
                found.setdefault(f"{source.url.rpartition('/')[0]}/{dead}", DeadLetters(source, source.beside(dead)))
    if name and not found:
        known = ", ".join(dict.fromkeys(names)) or "none has dead letters"
        raise ValueError(f"{name!r} is no queue of lake.yaml and none of their dead-letter queues: {known}")
    return list(found.values())


def peek(lake: Lake, letters: DeadLetters, most: int) -> list[DeadLetter]:
    """Look at some messages and give them back; meanwhile nobody else receives them.

    Args:
        lake: handles.
        letters: the queues.
        most: how many, about. Each look counts as a receive, which matters only to a queue with dead letters of its
            own.
    """
    dead, seen = letters.queue, dict[str, Message]()
    try:
        while len(seen) < most:
            batch = dead.receive(hidden=_HIDDEN)
            if not {one.id for one in batch} - seen.keys():
                break
            seen.update((one.id, one) for one in batch)
    finally:
        dead.hide(seen.values(), 0)
    return list(map(_reader(lake, letters), seen.values()))


def redrive_dead_letters(
    lake: Lake,
    letters: DeadLetters,
    choice: Choice,
    *,
    by: str,
    rate: int = RATE,
    log: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Send the messages that are meant to the queue that they came from; the entry in the operations log.

    A message is sent before it is deleted: whatever dies between leaves a duplicate, which changes nothing. What comes
    back to the dead-letter queue meanwhile is not sent a second time.

    Args:
        lake: handles.
        letters: the queues.
        choice: what is meant.
        by: who asks for it.
        rate: messages a second.
        log: takes progress, a line at a time.
        sleep: waits, in seconds.
    """
    source, dead = letters.source, letters.queue
    about = {"queue": source.name, "dead_letters": dead.name}
    address = lake.store.operations.put(
        "redrive-dead-letters", by, **about, choice=choice.plain(), depth=dead.depth()[0], rate=rate
    )
    seam("redrive-log")
    read, left, own = _reader(lake, letters), dict[str, Message](), set[str]()
    rows = lake.config.table_of_rows(source.name) is not None
    moved, told, refused, fruitless, last, size = 0, 0, 0, 0, 0, min(rate, _MOST_PER_SEND)
    try:
        while fruitless < _FRUITLESS and (batch := dead.receive(hidden=_HIDDEN)):
            new = [one for one in batch if one.id not in left and one.id not in own]
            fruitless = 0 if new else fruitless + 1
            meant = [one for one in new if read(one).is_meant(choice)]
            for part in (meant[i : i + size] for i in range(0, len(meant), size)):
                if last:
                    sleep(last / rate)
                sent = source.send_again(part, as_first=rows)
                seam("redrive-sent")
                dead.delete([one for one in part if one.id in sent])
                own.update(sent.values())
                moved, refused, last = moved + len(sent), refused + len(part) - len(sent), len(part)
                batch = [one for one in batch if one.id not in sent]
            left.update((one.id, replace(one, body="")) for one in batch)
            if moved - told >= rate:
                log(f"{moved} messages of {dead.name} are in {source.name}")
                told = moved
    finally:
        dead.hide(left.values(), 0)
        lake.store.operations.put("redriven-dead-letters", by, **about, asked=address, moved=moved, left=len(left))
    log(f"{moved} messages of {dead.name} are in {source.name}; {len(left)} stay")
    if refused:
        why = ": a row's message is sent with two attributes more, and SQS takes ten" if rows else ""
        log(f"{refused} of these SQS did not take{why}; the sensor `dead_letters`, turned on, takes them in from there")
    return address


def _reader(lake: Lake, letters: DeadLetters) -> Callable[[Message], DeadLetter]:
    if lake.config.table_of_rows(letters.source.name):
        return DeadLetter.of_row
    known = {TableKey.decode(text) for text in lake.store.table_keys()}
    return lambda message: DeadLetter.of(message, lake.config, known)


def _sent(message: Message) -> datetime:
    return datetime.fromtimestamp(message.sent_at / 1000, UTC)
