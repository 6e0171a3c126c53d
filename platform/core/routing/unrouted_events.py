"""Events without a table, as the intake log keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from tidegate.platform.core.keys.s3_address import S3Address

#: Why an event has no table: its object is never a source, its object could be one, or it is not an S3 event.
Outcome = Literal["own_file", "no_table", "malformed"]
#: The outcomes that fail a queue's check: somebody has to change the configuration or the sender.
MISSES: tuple[str, ...] = ("no_table", "malformed")
#: The members of a row in the intake log, all of them strings.
ROW_FIELDS = ("event_id", "outcome", "reason", "queue", "bucket", "key", "detail", "event_type")


@dataclass(frozen=True, slots=True)
class Detail:
    """Where an event without an object is kept: the `s3://` address of the quarantined message."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Unrouted:
    """An event that has no table.

    Attributes:
        event_id: `<SQS message id>#<index of the record in its body>`.
        outcome: why it has no table, as the counter of the intake log.
        queue: name of the queue that the event came through. Empty until the intake log has the event.
        subject: the object that the event names, or the quarantined message.
        reason: a sentence for people, with the remedy if there is one.
        event_type: as `event_types` of `lake.yaml` gives it; None if they give none.
    """

    event_id: str
    outcome: Outcome
    queue: str
    subject: S3Address | Detail
    reason: str
    event_type: str | None = None

    @property
    def is_miss(self) -> bool:
        """Whether the event fails its queue's check."""
        return self.outcome in MISSES

    @property
    def key(self) -> str:
        """The key of the object. Empty if the event names no object."""
        return self.subject.key if isinstance(self.subject, S3Address) else ""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Unrouted:
        """Read a row of the intake log. The first rows had no queue, and no other member is certain either.

        Raises:
            KeyError: the row has no outcome.
        """
        subject: S3Address | Detail = Detail(row.get("detail") or "")
        if row.get("key") is not None:
            subject = S3Address(row.get("bucket") or "", row["key"])
        return cls(
            event_id=row.get("event_id") or "",
            # A later version may have written another outcome. Readers only compare it with those of above.
            outcome=cast("Outcome", row["outcome"]),
            queue=row.get("queue") or "",
            subject=subject,
            reason=row.get("reason") or "",
            event_type=row.get("event_type"),
        )

    def to_row(self) -> dict[str, str]:
        """Return the row of the intake log. It has either `bucket` and `key`, or `detail`."""
        row: dict[str, str] = {"event_id": self.event_id, "outcome": self.outcome, "reason": self.reason}
        if isinstance(self.subject, S3Address):
            row |= {"bucket": self.subject.bucket, "key": self.subject.key}
        else:
            row["detail"] = self.subject.text
        return {**row, "queue": self.queue, **({"event_type": self.event_type} if self.event_type else {})}
