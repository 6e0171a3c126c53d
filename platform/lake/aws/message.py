"""A message of SQS: what a receive gives of it, and the identity that it may have with it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.events.row_queue import RowOrigin, identify_row

#: Attributes of a message that has its identity with it, because it is sent again or is a webhook's: its id, its time,
#: and the earliest time of an equal message.
_FIRST_ID, _FIRST_SENT, _FIRST_SINCE = IDENTITY = "tidegate-message-id", "tidegate-sent-at", "tidegate-sent-since"
_MAX_DIGITS = 18
#: Members of an attribute. An answer has further ones, for lists, which SQS does not take.
_MEMBERS = ("DataType", "StringValue", "BinaryValue")


@dataclass(frozen=True)
class Message:
    """A received message.

    Attributes:
        receipt: the handle that a delete needs.
        sent_at: epoch milliseconds, equal at each delivery of the message; 0 if the queue does not give it.
        first: the identity that the message has with it: that of its first arrival, or a webhook's.
        attributes: the attributes that its sender added, as SQS gives them, as far as they were requested.
    """

    id: str
    body: str
    receipt: str
    sent_at: int = 0
    first: RowOrigin | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def origin(self) -> RowOrigin:
        """The id and time that identify the message, unless it is in the envelope of its queue's topic."""
        return self.first or RowOrigin(self.id, self.sent_at)

    def with_identity(self, topic: str | None) -> Message:
        """Return a row queue's message with its row's text and identity, as `identify_row` does."""
        body, first = identify_row(self.body, RowOrigin(self.id, self.sent_at), self.first, topic)
        return Message(self.id, body, self.receipt, self.sent_at, first, self.attributes)


def received_message(item: Mapping[str, Any]) -> Message:
    """Return a message as an answer of SQS has it."""
    sent = int(item.get("Attributes", {}).get("SentTimestamp", 0))
    attributes = item.get("MessageAttributes", {})
    return Message(item["MessageId"], item["Body"], item["ReceiptHandle"], sent, _first_origin(attributes), attributes)


def identity_attributes(origin: RowOrigin) -> dict[str, Any]:
    """Return the attributes with which a message has its identity with it."""
    values = {_FIRST_ID: origin.message_id, _FIRST_SENT: str(origin.sent_at)}
    if origin.since is not None:
        values[_FIRST_SINCE] = str(origin.since)
    return {name: {"DataType": "String", "StringValue": value} for name, value in values.items()}


def _first_origin(attributes: Mapping[str, Any]) -> RowOrigin | None:
    values = {name: value.get("StringValue", "") for name, value in attributes.items()}
    id, sent, since = values.get(_FIRST_ID, ""), _millis(values.get(_FIRST_SENT)), _millis(values.get(_FIRST_SINCE))
    return RowOrigin(id, sent, since) if id and sent is not None else None


def _millis(text: str | None) -> int | None:
    # Python refuses to read a number of thousands of digits.
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def attributes_to_json(attributes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return attributes as JSON can have them: bytes as base64."""
    return {
        name: {
            member: b64encode(part).decode() if isinstance(part, bytes) else str(part)
            for member, part in value.items()
            if member in _MEMBERS
        }
        for name, value in attributes.items()
    }


def to_sqs_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as SQS takes them, of those of a message or of `attributes_to_json`."""
    return {
        name: {
            member: b64decode(part) if member == "BinaryValue" and isinstance(part, str) else part
            for member, part in value.items()
            if member in _MEMBERS
        }
        for name, value in attributes.items()
    }
