"""Parses SQS message bodies into S3 events.

A body may be an S3 notification, a single record of one, or an S3 event of EventBridge. Each may be inside an SNS
envelope. docs/decisions/0003-envelope-models.md says why this is a model of our own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.events.envelopes import format_value, is_s3_record, open_body
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.foreign_json import (
    MAX_BUCKET,
    MAX_ETAG,
    MAX_EVENT_NAME,
    MAX_SEQUENCER,
    MAX_VERSION_ID,
    bounded_text,
    size_within,
)
from tidegate.platform.core.keys.object_key import decode_event_key, decode_possible_key
from tidegate.platform.core.times import parse_time

# EventBridge's names of events that have other names in S3's notifications (AWS: "Using EventBridge" and "Supported
# event types" in the S3 user guide). Creations and deletions depend on more than the name, see _eventbridge_name.
_EVENTBRIDGE_NAMES = {
    "Object Restore Initiated": "ObjectRestore:Post",
    "Object Restore Completed": "ObjectRestore:Completed",
    "Object Restore Expired": "ObjectRestore:Delete",
}


#: What S3, MinIO and Ceph say of themselves. RustFS says nothing.
_SOURCES = ("aws:s3", "minio:s3", "ceph:s3")
#: Records of one body that are quarantined one by one. If more records are not events, the whole body is quarantined:
#: S3 sends one record a message, but a message of SQS has room for two hundred thousand.
_MAX_REJECTS = 20
#: The time of an event before this year is dropped: S3 is younger, and later steps need not handle odd calendars.
_FIRST_YEAR = 2000


@dataclass(frozen=True, slots=True)
class S3Event:
    """One event: "look at this key". What exceeds its bound counts as absent.

    Attributes:
        bucket: bucket name.
        key: decoded object key.
        event_name: S3's name without "s3:", e.g. `ObjectCreated:Put`, `ObjectRemoved:Delete`. A creation from
            EventBridge ends in the API's name (`ObjectCreated:PutObject`). "Unknown" if absent or too long.
        event_time: when it happened, with its time zone. None if absent or unreadable.
        size: bytes of the object.
        etag: ETag. S3 sends it without quotes.
        version_id: version of the object in a versioned bucket.
        sequencer: S3's order of the events of one key, as a text. Many emulators send none.
        event_id: `<SQS message id>#<index of the record in its body>`.
    """

    bucket: str
    key: str
    event_name: str
    event_time: datetime | None
    size: int | None
    etag: str | None
    version_id: str | None
    sequencer: str | None
    event_id: str


@dataclass(frozen=True, slots=True)
class Reject:
    """A record or a whole body that is not an S3 event, or a row queue's message that is not a row.

    Attributes:
        event_id: as in `S3Event`, with index 0 for a whole body.
        reason: what is wrong, for people.
        raw: its text. Halves of surrogate pairs are escaped here and in `reason`, so that both can be written as UTF-8.
        origin: identity of the message when it first came. Only of a row queue's message.
        records: how many records of a body this reject represents.
        attributes: what its sender added to the message. Only of a message of S3's events.
    """

    event_id: str
    reason: str
    raw: str
    origin: RowOrigin | None = None
    records: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("reason", "raw"):
            object.__setattr__(self, name, _require_representable(getattr(self, name)))


@dataclass(slots=True)
class ParsedBody:
    """The content of one body. Every record is an event, a test or a reject.

    Attributes:
        events: the events, in the body's order.
        tests: how many `s3:TestEvent`s the body had.
        rejects: records that are not events.
    """

    events: list[S3Event] = field(default_factory=list)
    tests: int = 0
    rejects: list[Reject] = field(default_factory=list)

    @property
    def received(self) -> int:
        """How many records the body had. A body without a list of records counts as one record."""
        return len(self.events) + self.tests + sum(reject.records for reject in self.rejects)


def parse_body(body: str, message_id: str) -> ParsedBody:
    """Unwrap and parse the body of one SQS message. Never raises an error.

    Args:
        body: the body's text.
        message_id: SQS's message id.
    """
    parsed = ParsedBody()
    try:
        opened = open_body(body)
    except ValueError as error:
        parsed.rejects.append(Reject(f"{message_id}#0", str(error), body))
        return parsed
    if opened.kind == "test":
        parsed.tests = 1
        return parsed
    read = _eventbridge_event if opened.kind == "eventbridge" else _notification_event
    many = 0
    for index, record in enumerate(opened.records):
        event_id = f"{message_id}#{index}"
        try:
            parsed.events.append(read(record, event_id))
        except ValueError as error:
            many += 1
            if many <= _MAX_REJECTS:
                parsed.rejects.append(Reject(event_id, str(error), json.dumps(record)))
    if many > _MAX_REJECTS:
        first = parsed.rejects[0]
        why = f"{many} of its {len(opened.records)} records are not events, the first for: {first.reason}"
        parsed.rejects = [Reject(first.event_id, why, body, records=many)]
    return parsed


def _notification_event(record: Any, event_id: str) -> S3Event:
    source = _part(record, "the record").get("eventSource")
    known = is_s3_record(record) if source in (None, "") else source in _SOURCES
    if not known:
        raise BadValue(f"the record's eventSource is {format_value(source)}, not aws:s3{_remedy(source)}")
    s3 = _part(record.get("s3"), "the record's s3")
    item = _part(s3.get("object"), "the record's s3.object")
    bucket = _part(s3.get("bucket"), "the record's s3.bucket").get("name")
    return S3Event(
        bucket=_require_text(bounded_text(bucket, MAX_BUCKET), "s3.bucket.name"),
        key=decode_event_key(_require_text(_optional(item.get("key")), "s3.object.key")),
        event_name=_name_value((_optional(record.get("eventName")) or "").removeprefix("s3:")),
        event_time=_time(record.get("eventTime")),
        size=size_within(item.get("size")),
        etag=bounded_text(item.get("eTag"), MAX_ETAG),
        version_id=bounded_text(item.get("versionId"), MAX_VERSION_ID),
        sequencer=bounded_text(item.get("sequencer"), MAX_SEQUENCER),
        event_id=event_id,
    )


def _eventbridge_event(record: Any, event_id: str) -> S3Event:
    if record.get("source") != "aws.s3":
        raise BadValue(f"an EventBridge event of source {format_value(record.get('source'))}, not aws.s3")
    detail = _part(record.get("detail"), "the event's detail")
    name = _eventbridge_name(record.get("detail-type"), detail)
    item = _part(detail.get("object"), "the event's detail.object")
    bucket = _part(detail.get("bucket"), "the event's detail.bucket").get("name")
    return S3Event(
        bucket=_require_text(bounded_text(bucket, MAX_BUCKET), "detail.bucket.name"),
        # Not encoded here, in contrast to notifications: decoding it would turn "+" into a space.
        key=decode_possible_key(_require_text(_optional(item.get("key")), "detail.object.key")),
        event_name=_name_value(name),
        event_time=_time(record.get("time")),
        size=size_within(item.get("size")),
        etag=bounded_text(item.get("etag"), MAX_ETAG),
        version_id=bounded_text(item.get("version-id"), MAX_VERSION_ID),
        sequencer=bounded_text(item.get("sequencer"), MAX_SEQUENCER),
        event_id=event_id,
    )


def _eventbridge_name(kind: Any, detail: dict[str, Any]) -> str:
    reason = _optional(detail.get("reason")) or "Unknown"
    if kind == "Object Created":
        return f"ObjectCreated:{reason.replace(' ', '')}"
    if kind == "Object Deleted":
        family = "LifecycleExpiration" if reason == "Lifecycle Expiration" else "ObjectRemoved"
        marker = detail.get("deletion-type") == "Delete Marker Created"
        return f"{family}:{'DeleteMarkerCreated' if marker else 'Delete'}"
    if kind == "AWS API Call via CloudTrail":
        raise BadValue(
            f"CloudTrail's record of the call {format_value(detail.get('eventName'))}, which EventBridge passes on, "
            "not an S3 event: turn EventBridge on in the bucket's notification settings, and let the rule match the "
            'detail-types "Object Created" and "Object Deleted"'
        )
    if not isinstance(kind, str) or not kind.startswith("Object "):
        raise BadValue(f"an EventBridge event of type {format_value(kind)}, which is about no object")
    return _EVENTBRIDGE_NAMES.get(kind, kind.replace(" ", ""))


def _remedy(source: Any) -> str:
    match source:
        case "aws:sqs":
            return ": SQS messages as Lambda is given them; send the body of the message that is inside it, alone"
        case "s3.amazonaws.com":
            return ": a record of CloudTrail; let the bucket itself notify the queue"
    return ""


def _part(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadValue(f"{what} is {'missing' if value is None else 'not an object'}")
    return value


def _require_text(text: str | None, what: str) -> str:
    if text is None:
        raise BadValue(f"the event has no readable {what}")
    return text


def _optional(value: Any) -> str | None:
    """Return a text that is bounded elsewhere."""
    return bounded_text(value, sys.maxsize)


def _name_value(name: str) -> str:
    return bounded_text(name, MAX_EVENT_NAME) or "Unknown"


def _time(value: Any) -> datetime | None:
    try:
        time = parse_time(value)
    except (TypeError, ValueError):
        return None
    return time if _FIRST_YEAR <= time.year < 9999 else None


def _require_representable(text: str) -> str:
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()
