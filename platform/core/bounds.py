"""Bounds of an event's fields. What exceeds them is no value of S3, and counts as absent, as a wrong time does.

Batches, the ledger and the Spark server keep the fields for ever, so they are bounded where they are parsed.
"""

from __future__ import annotations

from typing import Any

#: The largest whole number that Delta, Spark and Java's `long` have.
MAX_LONG = (1 << 63) - 1
#: Characters. S3's names of events have up to 50, its sequencers 16 to 34, its etags 32 to 40, its version ids 32; AWS
#: documents 1,024 bytes for a version id.
MAX_EVENT_NAME, MAX_SEQUENCER, MAX_ETAG, MAX_VERSION_ID, MAX_TIME = 64, 64, 128, 1024, 64
#: Characters of a bucket's name. Old buckets may have 255.
MAX_BUCKET = 255


def bounded_text(value: Any, characters: int) -> str | None:
    """Return a text that is not empty, has up to so many characters, and can be written as UTF-8. None otherwise."""
    if not isinstance(value, str) or not 0 < len(value) <= characters:
        return None
    # JSON can escape half of a surrogate pair, which no UTF-8 file of ours could hold.
    return value if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value) else None


def size_within(value: Any) -> int | None:
    """Return a size in bytes that fits into 63 bits. None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_LONG else None
