"""The rows of a row queue: each body is one JSON object and becomes one JSON line.

The lines of several messages are one object. Its folder and its name say of which table and of which time they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

from ulid import ULID

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.events.envelopes import format_value, unwrap_publication
from tidegate.platform.core.foreign_json import foreign_row
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.times import from_millis, parse_time, to_millis

#: The first columns of a row queue's table, and their SQL types.
ROW_COLUMNS = {"_message_id": "string", "_sent_at": "timestamp"}
_ID, _SENT_AT = ROW_COLUMNS

#: Up to this much differ the clocks of machines that stamp equal messages.
_CLOCKS_DIFFER_MILLIS = 300_000
#: A message may have been sent up to this much after SQS received it: clocks differ, and a webhook names its own time.
_AHEAD_MILLIS = 86_400_000 + _CLOCKS_DIFFER_MILLIS
#: Days for which any sender of webhooks may repeat a delivery (`retry_days`), in milliseconds.
_RETRIES_MILLIS = 31 * 86_400_000
_LINE_ENDS = re.compile(r"[\r\n]+")

#: Time spans in one condition.
_MAX_SPANS = 32
#: 9999-01-01, in epoch milliseconds.
LATEST = 253_370_764_800_000
#: The folder below the lake root with the rows of row queues. It has a folder for each table.
FOLDER = "rows"
_NAME = re.compile(r"(?:^|/)[0-9A-HJKMNP-TV-Z]{26}-(\d+)-(\d+)-(\d+)\.jsonl$", re.ASCII)


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """The identity of a row, equal each time its message comes.

    Attributes:
        message_id: SQS's id of the message, or SNS's id if it was published to a topic, or the id that a webhook has in
            each of its deliveries.
        sent_at: epoch milliseconds at which the message was first sent.
        since: epoch milliseconds of the earliest time at which an equal message may have been sent. None: each of them
            has the time `sent_at`.
    """

    message_id: str
    sent_at: int
    since: int | None = None

    @property
    def earliest(self) -> int:
        """Epoch milliseconds from which on the rows of a table may have the message already."""
        return self.sent_at if self.since is None else min(self.since, self.sent_at)

    @property
    def latest(self) -> int:
        """Epoch milliseconds up to which the rows of a table may have the message already.

        The clocks of two machines that receive an equal message at once may differ.
        """
        return self.sent_at if self.since is None else self.sent_at + _CLOCKS_DIFFER_MILLIS


@dataclass(frozen=True, slots=True)
class Row:
    """A message as a line of a JSON-lines object, without its line end."""

    origin: RowOrigin
    line: str


def identify_row(body: str, arrived: RowOrigin, carried: RowOrigin | None, topic: str | None) -> tuple[str, RowOrigin]:
    """Return the text of a message's row, and the identity of the row.

    The identity is never the sender's to write: it is the one that Tidegate gave to the message when it sent it, or
    that of the topic that lake.yaml names for the queue, or else SQS's.

    Args:
        body: the body of the message.
        arrived: SQS's id and time of it.
        carried: the identity that it has with it, because Tidegate sends it: a webhook's, or that of its first arrival.
            Its body is the row's text, whatever that looks like.
        topic: ARN of the SNS topic whose envelopes the queue takes. None: of no topic.

    Raises:
        BadValue: it is in the envelope of another topic, or was sent at a time that cannot be.
    """
    text, origin = body, carried or arrived
    if carried is None:
        text, publication = unwrap_publication(body)
        if publication is not None:
            if publication.topic != topic:
                raise BadValue(
                    f"it is in an envelope of the SNS topic {format_value(publication.topic)}, {_remedy(topic)}"
                )
            # SNS may deliver a publication twice, as two messages of SQS.
            origin = RowOrigin(publication.message_id, _millis(publication.time))
    if arrived.sent_at and origin.sent_at > arrived.sent_at + _AHEAD_MILLIS:
        raise BadValue(f"it says it was sent {origin.sent_at} ms after 1970, a day after it came to SQS or later")
    if origin.since is not None:
        origin = replace(origin, since=max(origin.since, origin.sent_at - _RETRIES_MILLIS))
    return text, origin


def row_of(text: str, origin: RowOrigin) -> Row:
    """Make the row of a message.

    The object's own text is kept as it is, so that numbers keep all of their digits.

    Args:
        text: the row's text.
        origin: the identity of the row.

    Raises:
        BadValue: the text is not one JSON object, or has a member with the name of one of our columns.
    """
    if not 0 < origin.sent_at < LATEST:
        raise BadValue(f"it was sent {origin.sent_at} ms after 1970, which is not a time")
    text, members = _parse_object(text)
    for name in members:
        if fold_name(name) in ROW_COLUMNS:
            raise BadValue(f"its member {name} has the name of a column that Tidegate adds; send another name")
    rest = text[1:]
    if "\n" in rest or "\r" in rest:
        rest = _LINE_ENDS.sub(" ", rest)
    seconds, millis = divmod(origin.sent_at, 1000)
    ours = f'{{"{_ID}":{json.dumps(origin.message_id)},"{_SENT_AT}":"{_second_text(seconds)}.{millis:03d}Z"'
    line = f"{ours}{',' if members else ''}{rest}"
    if not line.isascii():
        line.encode()  # Raises UnicodeEncodeError, a ValueError, for text that no UTF-8 file can have.
    return Row(origin, line)


@lru_cache(maxsize=3600)
def _second_text(seconds: int) -> str:
    """Return a time in epoch seconds as rows have it. Many rows are of one second."""
    return from_millis(seconds * 1000).isoformat(timespec="seconds").removesuffix("+00:00")


def _remedy(topic: str | None) -> str:
    if topic is None:
        return (
            "and lake.yaml names no topic for this queue: add `topic` to its `row_queue` and redrive the message, or "
            "turn on raw message delivery"
        )
    return f"and lake.yaml names {topic} for this queue: only that topic may publish to it"


def _parse_object(text: str) -> tuple[str, dict[str, Any]]:
    try:
        return foreign_row(text)
    except ValueError as error:
        raise BadValue(f"the row {error}") from None


def _millis(time: str) -> int:
    try:
        return to_millis(parse_time(time))
    except ValueError:
        raise BadValue(f"the SNS notification's Timestamp {time!r} is not a time") from None


def parse_row_key(key: str) -> RowObject:
    """Return the data in a key. The rows of an object of another writer may have been sent at any time."""
    return RowObject.from_key(key) or RowObject(0, 0, LATEST)


def rows_prefix(root: str, table: str) -> str:
    """Return the prefix of a row queue's table.

    Args:
        root: the lake root, `s3://bucket/path`.
        table: the table's SQL name.
    """
    return f"{root.rstrip('/')}/{FOLDER}/{table}/"


@dataclass(frozen=True, slots=True)
class RowObject:
    """The data of an object's rows in its name.

    Attributes:
        rows: how many messages the object has.
        first: epoch milliseconds from which on rows of a table may have a message of the object already. It is the time
            at which the oldest message was sent, and less if webhooks are among them.
        last: epoch milliseconds up to which rows of a table may have a message of the object already.
    """

    rows: int
    first: int
    last: int

    @classmethod
    def from_key(cls, key: str) -> Self | None:
        """Read a key. Returns None for an object that is not from the intake of a row queue."""
        found = _NAME.search(key)
        return cls(*map(int, found.groups())) if found else None

    def new_key(self, prefix: str, sent_at: int) -> str:
        """Return a new key below a table's prefix, in the folder of the day (UTC) on which the oldest row was sent.

        Args:
            prefix: of the table.
            sent_at: epoch milliseconds at which the oldest row was sent.
        """
        day = from_millis(sent_at).strftime("%Y-%m-%d")
        return f"{prefix}{day}/{ULID()}-{self.rows}-{self.first}-{self.last}.jsonl"


def spans(objects: Iterable[RowObject]) -> list[tuple[int, int]]:
    """Return the times (epoch milliseconds, inclusive) at which the rows of objects were sent, as few spans.

    Overlapping spans are joined. If there are still too many, the nearest spans are joined.
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted((item.first, item.last) for item in objects):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    widest = sorted(range(1, len(found)), key=lambda i: found[i - 1][1] - found[i][0])[: _MAX_SPANS - 1]
    starts = [0, *sorted(widest), len(found)]
    return [(found[a][0], found[b - 1][1]) for a, b in pairwise(starts) if b > a]
