"""The quarantine: messages that cannot be understood, and rows that do not fit their table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from ulid import ULID

from tidegate.resources.lake_root.root import LakeRoot
from tidegate.resources.object_store import parallel


@dataclass(frozen=True)
class KeptMessage:
    """A message in quarantine, or one record of it; ``key`` is its object's, ``at`` S3's time of that."""

    key: str
    event_id: str
    reason: str
    body: str
    at: datetime


class Quarantine:
    """``quarantine/messages/`` and ``quarantine/rows/<table key>/``; quarantined objects stay where they are."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def keep_message(self, event_id: str, body: str, reason: str) -> str:
        """Keep a message, or one record of it, that cannot be understood; its ``s3://`` address."""
        key = self._root.key("quarantine", "messages", f"{event_id.replace('#', '-')}.json")
        self._root.objects.put(
            self._root.bucket,
            key,
            json.dumps({"event_id": event_id, "reason": reason, "body": body}, ensure_ascii=False),
        )
        return self._root.address(key)

    def messages(self) -> Iterator[KeptMessage]:
        """The messages kept, by key."""
        objects, bucket = self._root.objects, self._root.bucket
        listed = list(objects.under(bucket, self._root.key("quarantine", "messages", "")))
        bodies = parallel(lambda one: objects.get(bucket, one.key), listed)
        for one, body in zip(listed, bodies, strict=True):
            if body is not None:
                at = datetime.fromtimestamp(one.modified, UTC)
                content = json.loads(body)
                yield KeptMessage(one.key, content["event_id"], content["reason"], content["body"], at)

    def release(self, message: KeptMessage) -> None:
        """Take a message out: it is kept once more, below ``quarantine/redriven/``."""
        objects, bucket = self._root.objects, self._root.bucket
        body = {"event_id": message.event_id, "reason": message.reason, "body": message.body}
        released = self._root.key("quarantine", "redriven", message.key.rsplit("/", 1)[-1])
        objects.put(bucket, released, json.dumps(body, ensure_ascii=False))
        objects.delete(bucket, [message.key])

    def new_folder(self, table: str, n: int) -> str:
        """``s3a://`` URI of a new folder for the rows of batch n that do not fit."""
        return self._root.uri("quarantine", "rows", table, f"{n:020d}-{ULID()}")
