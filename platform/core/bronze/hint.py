"""Hints: what one event, or one line of a listing, says of a key."""

from __future__ import annotations

from dataclasses import dataclass

#: Event name of a key that a listing lacks.
MISSING = "Missing"


#: Event name of a key whose object after-load took away.
TAKEN = "AfterLoad"


#: Event names of keys that were being read, among others or alone, when the Spark server was lost.
LOST, LOST_ALONE = "ServerLost", "ServerLostAlone"


@dataclass(frozen=True)
class Hint:
    """ "Look at this key": what one event, or one line of a listing, says.

    Attributes:
        key: decoded object key.
        event_id: ``<SQS message id>#<record index>``; None when the hint comes from a listing and is no event.
        event_name: S3's name of the event, e.g. ``ObjectCreated:Put``; of a listing ``Listed``, or ``Missing`` for a
            key that the ledger has and the listing lacks.
        event_time: ISO 8601 as the event said it, or None.
        redriven: the hint was put back by a person, so a quarantined state is decided anew.
        read: etag of the bytes that were being read when the Spark server was lost.
        size: bytes of the object, as the event or the listing said.
        taken: etag of the bytes that after-load took away, once they were in the table.
        replaces: batch whose rows of the key's present bytes leave when these are read again: a rebuild's.
        decided: batch of the ledger's last word of the key when that rebuild began; after another one ``replaces``
            says nothing any more.
        told: ISO 8601 time of the event that told of these bytes when they were read before: a rebuild's.
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
