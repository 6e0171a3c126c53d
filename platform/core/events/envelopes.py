"""Unwraps an SQS body, down to the records of an S3 notification or one event of EventBridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.foreign_json import foreign_json

#: The members of every envelope of SNS, and those by which the envelope of an event is recognized.
SNS_MEMBERS, EVENT_MEMBERS = ("Type", "TopicArn", "MessageId", "Timestamp"), ("Type", "TopicArn")


@dataclass(frozen=True, slots=True)
class OpenedBody:
    """A body without its envelopes.

    Attributes:
        kind: what the records are: those of an S3 notification, one event of EventBridge, or one `s3:TestEvent`.
        records: at least one. Their content is not checked yet.
    """

    kind: Literal["s3", "eventbridge", "test"]
    records: list[Any]


def open_body(body: str) -> OpenedBody:
    """Take a body out of its envelopes. Envelopes may be nested, if one topic passed on what another sent.

    Raises:
        BadValue: the body has no S3 events. The message says what it has instead and, if possible, what to do.
    """
    content = _json_object(body, "the body")
    for _ in range(MAX_TOPICS):
        if all(name in content for name in EVENT_MEMBERS):
            content = _unwrap_sns(content)
    if content.get("Event") == "s3:TestEvent":
        return OpenedBody("test", [content])
    if "Records" in content:
        return OpenedBody("s3", _records(content["Records"]))
    if "detail-type" in content and "source" in content:
        return OpenedBody("eventbridge", [content])
    if is_s3_record(content):
        return OpenedBody("s3", [content])
    raise BadValue(_describe_content(content))


@dataclass(frozen=True, slots=True)
class Publication:
    """What SNS says of a message.

    Attributes:
        message_id: SNS's id, equal in every copy. Empty if an envelope that others made has none, and so is the time.
        time: when it was published (ISO 8601).
        attributes: its message attributes by name, each with `Type` and `Value`.
        topic: ARN of the topic.
    """

    message_id: str
    time: str
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    topic: str = ""


def unwrap_publication(body: str, members: Sequence[str] = SNS_MEMBERS) -> tuple[str, Publication | None]:
    """Return the text that the sender sent, and SNS's data of it if the text looks like an SNS envelope.

    Args:
        body: the body of a message.
        members: the members by which an envelope is recognized. A row may have some of them as its own.

    Raises:
        ValueError: the SNS envelope has no message. The error says what it is and, if possible, what to do.
    """
    if '"TopicArn"' not in body and "\\u" not in body:
        return body, None  # as most bodies: none of its names can be that one
    try:
        content = _json_object(body, "the body")
    except ValueError:
        return body, None
    if not all(isinstance(content.get(name), str) for name in members):
        return body, None
    attributes = content.get("MessageAttributes")
    publication = Publication(
        str(content.get("MessageId", "")),
        str(content.get("Timestamp", "")),
        attributes if isinstance(attributes, dict) else {},
        str(content["TopicArn"]),
    )
    return _message_of_sns(content), publication


def is_s3_record(content: dict[str, Any]) -> bool:
    """Return whether an object has the shape of an S3 notification's record, no matter which source it names."""
    s3 = content.get("s3")
    return (
        isinstance(content.get("eventName"), str)
        and isinstance(s3, dict)
        and all(isinstance(s3.get(part), dict) and name in s3[part] for part, name in _S3_PARTS)
    )


def format_value(value: Any) -> str:
    """Return a value for use in a reason: a scalar, shortened, or the kind of a larger value, which may be deep."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


#: SNS topics through which an event may have come, one after the other.
MAX_TOPICS = 4
_S3_PARTS = (("bucket", "name"), ("object", "key"))


def _unwrap_sns(content: dict[str, Any]) -> dict[str, Any]:
    return _json_object(_message_of_sns(content), "the Message of the SNS notification")


def _message_of_sns(content: dict[str, Any]) -> str:
    kind = content["Type"]
    if kind != "Notification":
        hint = "; confirm the subscription of the queue to the topic" if kind == "SubscriptionConfirmation" else ""
        raise BadValue(f"an SNS message of type {format_value(kind)}, which carries no event{hint}")
    if not isinstance(content.get("Message"), str):
        raise BadValue("an SNS notification without a Message")
    return str(content["Message"])


def _json_object(text: str, what: str) -> dict[str, Any]:
    try:
        content = foreign_json(text)
    except ValueError as error:
        raise BadValue(f"{what} {error}") from None
    if not isinstance(content, dict):
        raise BadValue(f"{what} is JSON but not an object, so it is not an S3 event")
    return content


def _records(records: Any) -> list[Any]:
    if not isinstance(records, list) or not records:
        raise BadValue("Records is not a list with at least one record")
    return records


def _describe_content(content: dict[str, Any]) -> str:
    if "Type" in content and "TopicArn" in content:
        return f"an SNS notification inside {MAX_TOPICS} others: let the first topic notify the queue itself"
    if "requestContext" in content and "requestPayload" in content:
        return (
            "what a Lambda function's destination receives about a call, not an S3 event: let the bucket itself notify "
            "the queue, straight or through SNS or EventBridge"
        )
    if "Messages" in content or ("Body" in content and "ReceiptHandle" in content):
        return "the answer of an SQS receive, not an S3 event: send the body of the message that is inside it, alone"
    names = ", ".join(format_value(name)[1:-1] for name in sorted(content)[:8]) or "no fields"
    return (
        f"an unknown envelope (it has {names}): "
        "neither an S3 notification nor an SNS notification nor an EventBridge event"
    )
