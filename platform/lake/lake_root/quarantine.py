"""The quarantine: messages that cannot be understood, and rows that do not fit their table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ulid import ULID

from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.stored_members import reading, require_known
from tidegate.platform.lake.aws.message import attributes_to_json
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

#: Messages that are read at a time; each has up to a megabyte.
_AT_ONCE = 32


@dataclass(frozen=True)
class KeptMessage:
    """A message in quarantine, or one record of it.

    Attributes:
        key: key of its object.
        at: time at which that object was written, by S3's clock.
        queue: the row queue that it returns to; empty for a message of S3's events.
        origin: id and time of a row queue's message at its first arrival.
        attributes: what its sender added to a message of S3's events: event types may depend on it.
    """

    key: str
    event_id: str
    reason: str
    body: str
    at: datetime
    queue: str = ""
    origin: RowOrigin | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Quarantine:
    """`quarantine/messages/` and `quarantine/rows/<table key>/`; quarantined objects stay where they are."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def keep_message(
        self,
        event_id: str,
        body: str,
        reason: str,
        queue: str = "",
        origin: RowOrigin | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> str:
        """Keep a message, or one record of it, that cannot be understood. Returns its `s3://` address.

        Args:
            event_id: `<SQS message id>#<record index>`.
            body: its text.
            reason: what is wrong with it.
            queue: the queue that it came from.
            origin: of a row queue's message.
            attributes: what its sender added, of a message of S3's events.
        """
        key = self._root.key("quarantine", "messages", f"{event_id.replace('#', '-')}.json")
        content = _content(event_id, body, reason, queue, origin, attributes or {})
        self._root.objects.put(self._root.bucket, key, content)
        return self._root.address(key)

    def messages(self) -> Iterator[KeptMessage]:
        """Yield the kept messages, by key. Few of them are in memory at a time."""
        objects, bucket = self._root.objects, self._root.bucket
        listed = iter(objects.list_under(bucket, self._root.key("quarantine", "messages", "")))
        while some := list(islice(listed, _AT_ONCE)):
            for message, body in zip(
                some, parallel(lambda message: objects.get(bucket, message.key), some), strict=True
            ):
                if body is not None:
                    yield _parse_kept_message(message.key, body, datetime.fromtimestamp(message.modified, UTC))

    def message(self, kept: KeptMessage) -> KeptMessage | None:
        """Return a message as it is kept now; None if it is kept no longer."""
        body = self._root.objects.get(self._root.bucket, kept.key)
        return None if body is None else _parse_kept_message(kept.key, body, kept.at)

    def release(self, message: KeptMessage) -> None:
        """Move a message out of quarantine, to `quarantine/redriven/`."""
        objects, bucket = self._root.objects, self._root.bucket
        about = (message.queue, message.origin, message.attributes)
        body = _content(message.event_id, message.body, message.reason, *about)
        released = self._root.key("quarantine", "redriven", message.key.rsplit("/", 1)[-1])
        objects.put(bucket, released, body)
        objects.delete(bucket, [message.key])

    def new_folder(self, table: str, n: int) -> str:
        """Return the `s3a://` URI of a new folder for the rows of batch n that do not fit."""
        return self._root.uri("quarantine", "rows", table, f"{n:020d}-{ULID()}")


def _parse_kept_message(key: str, text: bytes, at: datetime) -> KeptMessage:
    with reading(key, "a message that Tidegate quarantined", "move it away"):
        content = json.loads(text)
        require_known(content, ("event_id", "reason", "body", "row", "attributes"), "a message")
        row = content.get("row") or {}
        require_known(row, ("queue", "message_id", "sent_at", "since"), "the origin of a row")
        origin = RowOrigin(row["message_id"], row["sent_at"], row.get("since")) if row else None
        known = (content["event_id"], content["reason"], content["body"])
        # Messages that older versions kept have no attributes.
        return KeptMessage(key, *known, at, row.get("queue", ""), origin, content.get("attributes") or {})


def _content(
    event_id: str, body: str, reason: str, queue: str, origin: RowOrigin | None, attributes: Mapping[str, Any]
) -> str:
    content: dict[str, object] = {"event_id": event_id, "reason": reason, "body": body}
    if attributes:
        content["attributes"] = attributes_to_json(attributes)
    if origin:
        since = {} if origin.since is None else {"since": origin.since}
        content["row"] = {"queue": queue, "message_id": origin.message_id, "sent_at": origin.sent_at, **since}
    return json.dumps(content, ensure_ascii=False)
