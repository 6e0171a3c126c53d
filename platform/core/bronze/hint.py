"""Hints: one reason to look at a key, from an event or a line of a listing."""

from __future__ import annotations

from dataclasses import dataclass

#: Event name of a key that the ledger has and a listing lacks.
MISSING = "Missing"

#: Event name of a key whose object after-load removed.
TAKEN = "AfterLoad"

#: Event names of keys that were being read when the Spark server was lost: with other keys, or alone.
LOST, LOST_ALONE = "ServerLost", "ServerLostAlone"


@dataclass(frozen=True)
class Hint:
    """One reason to look at a key: an event, or a line of a listing.

    Attributes:
        key: decoded object key.
        event_id: `<SQS message id>#<record index>`; None if the hint does not come from an event.
        event_name: S3's name of the event, such as `ObjectCreated:Put`. A listing's hints have `Listed`, or `Missing`
            for a key that the ledger has and the listing lacks.
        event_time: ISO 8601, as the event has it, or None.
        redriven: a person put the hint back, so a quarantined key is decided again.
        read: etag of the bytes that were being read when the Spark server was lost.
        size: bytes of the object, according to the event or the listing.
        taken: etag of the loaded bytes that after-load removed.
        replaces: batch whose rows of the key's present bytes are removed when the bytes are read again. Set by a
            rebuild.
        decided: batch that had last decided this key when the rebuild began. If a later batch has decided it since,
            `replaces` is ignored.
        `told`: event time (ISO 8601) of the original load. Set by a rebuild, so that `_source_event_time` keeps its
            value.
    """

    key: str
    event_id: str | None = None
    event_name: str = "Listed"
    event_time: str | None = None
    version_id: str | None = None
    sequencer: str | None = None
    redriven: bool = False
    read: str | None = None
    size: int | None = None
    taken: str | None = None
    replaces: int | None = None
    decided: int | None = None
    told: str | None = None
