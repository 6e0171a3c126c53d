"""Makes rows of the messages of a row queue. Each body is one JSON object and becomes one JSON line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from tidegate.platform.core.events.envelopes import published, shown
from tidegate.platform.core.events.row_object import LATEST
from tidegate.platform.core.foreign_json import foreign_row
from tidegate.platform.core.schema.column_types import folded
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


def identified(body: str, arrived: RowOrigin, carried: RowOrigin | None, topic: str | None) -> tuple[str, RowOrigin]:
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
        ValueError: it is in the envelope of another topic, or was sent at a time that cannot be.
    """
    text, origin = body, carried or arrived
    if carried is None:
        text, publication = published(body)
        if publication is not None:
            if publication.topic != topic:
                raise ValueError(f"it is in an envelope of the SNS topic {shown(publication.topic)}, {_remedy(topic)}")
            # SNS may deliver a publication twice, as two messages of SQS.
            origin = RowOrigin(publication.message_id, _millis(publication.time))
    if arrived.sent_at and origin.sent_at > arrived.sent_at + _AHEAD_MILLIS:
        raise ValueError(f"it says it was sent {origin.sent_at} ms after 1970, a day after it came to SQS or later")
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
        ValueError: the text is not one JSON object, or has a member with the name of one of our columns.
    """
    if not 0 < origin.sent_at < LATEST:
        raise ValueError(f"it was sent {origin.sent_at} ms after 1970, which is no time")
    text, members = _parsed(text)
    for name in members:
        if folded(name) in ROW_COLUMNS:
            raise ValueError(f"its member {name} has the name of a column that Tidegate adds; send another name")
    time = from_millis(origin.sent_at).isoformat(timespec="milliseconds")
    ours = json.dumps({_ID: origin.message_id, _SENT_AT: time.replace("+00:00", "Z")}, separators=(",", ":"))
    line = f"{ours[:-1]}{',' if members else ''}{_LINE_ENDS.sub(' ', text[1:])}"
    line.encode()  # Raises UnicodeEncodeError, a ValueError, for text that no UTF-8 file can have.
    return Row(origin, line)


def _remedy(topic: str | None) -> str:
    if topic is None:
        return (
            "and lake.yaml names no topic for this queue: add `topic` to its `row_queue` and redrive the message, or "
            "turn on raw message delivery"
        )
    return f"and lake.yaml names {topic} for this queue: only that topic may publish to it"


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    try:
        return foreign_row(text)
    except ValueError as error:
        raise ValueError(f"the row {error}") from None


def _millis(time: str) -> int:
    try:
        return to_millis(parse_time(time))
    except ValueError:
        raise ValueError(f"the SNS notification's Timestamp {time!r} is no time") from None
