"""Makes rows of the messages of a row queue. Each body is one JSON object and becomes one JSON line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.events.envelopes import published
from tidegate.platform.core.events.row_object import LATEST
from tidegate.platform.core.schema.column_types import folded
from tidegate.platform.core.times import from_millis, parse_time, to_millis

#: The first columns of a row queue's table, and their SQL types.
ROW_COLUMNS = {"_message_id": "string", "_sent_at": "timestamp"}
_ID, _SENT_AT = ROW_COLUMNS

#: Up to this much differ the clocks of machines that stamp equal messages.
_CLOCKS_DIFFER_MILLIS = 300_000
_LINE_ENDS = re.compile(r"[\r\n]+")
_SPACE = " \t\r\n"


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


def row_of(body: str, origin: RowOrigin) -> Row:
    """Make the row of a message.

    The object's own text is kept as it is, so that numbers keep all of their digits.

    Args:
        body: the body's text. It may be inside an SNS envelope.
        origin: the identity that the queue gives to the message.

    Raises:
        ValueError: the body is not one JSON object, or has a member with the name of one of our columns.
    """
    text, publication = published(body)
    if publication is not None:
        # SNS may deliver a publication twice, as two messages of SQS.
        origin = RowOrigin(publication.message_id, _millis(publication.time))
    if not 0 < origin.sent_at < LATEST:
        raise ValueError(f"it was sent {origin.sent_at} ms after 1970, which is no time")
    text = text.removeprefix("\ufeff").strip(_SPACE)
    members = _members(text)
    for name in members:
        if folded(name) in ROW_COLUMNS:
            raise ValueError(f"its member {name} has the name of a column that Tidegate adds; send another name")
    time = from_millis(origin.sent_at).isoformat(timespec="milliseconds")
    ours = json.dumps({_ID: origin.message_id, _SENT_AT: time.replace("+00:00", "Z")}, separators=(",", ":"))
    line = f"{ours[:-1]}{',' if members else ''}{_LINE_ENDS.sub(' ', text[1:])}"
    line.encode()  # Raises UnicodeEncodeError, a ValueError, for text that no UTF-8 file can have.
    return Row(origin, line)


def _members(text: str) -> dict[str, Any]:
    try:
        # Numbers stay texts, so that no digit is lost and no number is too long.
        content = json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_json)
    except RecursionError:
        raise ValueError("the row is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the row is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError("the row is JSON but not an object; send one object a message")
    return content


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _millis(time: str) -> int:
    try:
        return to_millis(parse_time(time))
    except ValueError:
        raise ValueError(f"the SNS notification's Timestamp {time!r} is no time") from None
