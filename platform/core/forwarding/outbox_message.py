"""A message that waits to be forwarded, and the names of the objects in which such messages wait."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from ulid import ULID

from tidegate.platform.core.portions import portions
from tidegate.platform.core.stored_members import require_known

#: Limits of one object of an outbox. A single message may have more bytes, up to SQS's limit.
MAX_MESSAGES = 1_000
MAX_BYTES = 4 << 20
_MEMBERS = ("id", "type", "group", "sent_at", "body", "to")
_NAME = re.compile(r"([0-9A-HJKMNP-TV-Z]{26})-(\d+)-(\d+)\.jsonl", re.ASCII)
#: SQS: "a message group ID has up to 128 letters, digits and punctuation marks" (API reference, SendMessage).
_GROUP = re.compile(r"[A-Za-z0-9!-/:-@\[-`{-~]{1,128}")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message of a route.

    Attributes:
        id: identity of the message, equal each time its event comes.
        event_type: type of its events. None: they have no type.
        group: the table prefix of its events, `s3://bucket/prefix`.
        sent_at: epoch milliseconds at which the event was sent to the lake's queue.
        body: an S3 notification or an event of EventBridge.
        to: name of the only queue that still has to get it. Empty: the route decides.
    """

    id: str
    event_type: str | None
    group: str
    sent_at: int
    body: str
    to: str = ""

    @property
    def group_id(self) -> str:
        """The message group. A prefix that no group can be named after is replaced by its digest."""
        return self.group if _GROUP.fullmatch(self.group) else hashlib.sha256(self.group.encode()).hexdigest()

    @property
    def deduplication_id(self) -> str:
        """The id by which a FIFO destination recognizes a message that comes twice within five minutes.

        The body is a part of it: a sender of the event queue writes the envelope, and so the id.
        """
        return self.digest_with("")

    def digest_with(self, name: str) -> str:
        """Return a digest of the id, of a name and of the body. Two messages with another body have another one."""
        return hashlib.sha256(json.dumps([self.id, name, self.body]).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self.body.encode(errors="replace"))

    def to_dict(self) -> dict[str, Any]:
        """Return the message as a JSON object."""
        content = {
            "id": self.id,
            "type": self.event_type,
            "group": self.group,
            "sent_at": self.sent_at,
            "body": self.body,
        }
        return {**content, "to": self.to} if self.to else content

    def to_json(self) -> str:
        """Return the message as one line of JSON."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read a line that `to_json` wrote. Raises what `from_dict` raises."""
        return cls.from_dict(json.loads(line))

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Read what `to_dict` returned.

        Raises:
            NewerVersionError: it has a member that no message has.
            ValueError: it is something else. Also KeyError and TypeError.
        """
        require_known(content, _MEMBERS, "a message")
        return cls(
            content["id"],
            content["type"],
            content["group"],
            int(content["sent_at"]),
            content["body"],
            content.get("to", ""),
        )


@dataclass(frozen=True, slots=True)
class OutboxName:
    """The name of an object of an outbox: `<ULID>-<messages>-<oldest>.jsonl`.

    Attributes:
        ulid: its place in the order. What is left of an object keeps the place.
        messages: how many messages the object has.
        oldest: epoch milliseconds of the oldest event.
    """

    ulid: str
    messages: int
    oldest: int

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read a name. Returns None for any other object."""
        found = _NAME.fullmatch(name)
        return cls(found[1], int(found[2]), int(found[3])) if found else None

    @classmethod
    def from_messages(cls, messages: list[Outgoing], ulid: str = "") -> Self:
        """Return the name for some messages, with a new place in the order or with a given one."""
        return cls(ulid or str(ULID()), len(messages), min((message.sent_at for message in messages), default=0))

    def __str__(self) -> str:
        return f"{self.ulid}-{self.messages}-{self.oldest}.jsonl"


def split_into_objects(messages: Iterable[Outgoing]) -> Iterator[list[Outgoing]]:
    """Divide messages into the contents of objects, in order."""
    return portions(messages, lambda message: message.size, max_items=MAX_MESSAGES, max_size=MAX_BYTES)
