"""The end of a Parquet object, which holds its footer."""

from __future__ import annotations

from tidegate.platform.core.footers import footer_bytes
from tidegate.platform.core.planning import Candidate
from tidegate.resources.object_store import ObjectStore

#: Read from a file's end at first; a footer is rarely longer.
_TAIL_BYTES = 64 * 1024


def parquet_tail(objects: ObjectStore, bucket: str, candidate: Candidate) -> bytes:
    """The footer and the eight bytes behind it.

    Raises:
        BadParquet: it is no Parquet file.
        ObjectChanged: it is no longer what the look saw.
        StoreError: S3 did not answer.
    """
    found = candidate.found
    tail = objects.tail(bucket, candidate.key, found.etag, min(_TAIL_BYTES, found.size))
    length = footer_bytes(tail, found.size)
    if length > len(tail):
        tail = objects.tail(bucket, candidate.key, found.etag, length)
    return tail[-length:]
