"""Reads small objects in the step look: one request returns both the state and the bytes."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from tidegate.platform.core.bronze.object_state import Probe, S3Found
from tidegate.platform.core.files.gzip_members import BrokenGzip, read_beginning
from tidegate.platform.core.keys.file_format import GZIP
from tidegate.platform.lake.aws.bucket import Bucket

#: Bytes of the largest object that is read in the step look.
SMALL_BYTES = 64 << 10
#: Bytes of such objects that one batch keeps in memory. They go to the Spark server in one call, in base64 and with
#: metadata of each file. Spark Connect limits a call to 128 MiB.
HELD_BYTES = 32 << 20
#: Bytes of a small object's content after decompression, or after rewriting as lines.
CONTENT_BYTES = 4 * SMALL_BYTES


class Held:
    """Counts the bytes of small objects that a batch keeps in memory. Safe for several threads."""

    def __init__(self) -> None:
        self._room = HELD_BYTES
        self._lock = Lock()

    @property
    def full(self) -> bool:
        """Whether the limit is reached, so that no further object should be read."""
        return self._room <= 0

    def take(self, size: int) -> bool:
        """Count bytes if the limit allows them. Returns whether it does."""
        with self._lock:
            fits = size <= self._room
            self._room -= size if fits else 0
        return fits


class SmallObjects:
    """Reads small objects in the step look, within the limits.

    Args:
        source: the bucket of the objects.
    """

    def __init__(self, source: Bucket) -> None:
        self._source = source
        self._held = Held()

    def probe(self, key: str, size: int | None) -> Probe:
        """Read an object's present state, with its bytes if it is small and the limit allows it.

        Args:
            size: bytes of the object according to its event. None if there is no event.
        """
        if self._held.full or (size is not None and size > SMALL_BYTES):
            return self._source.head(key)
        probe, body = self._source.objects.head_with_body(self._source.name, key, SMALL_BYTES)
        # An empty object has no bytes to keep.
        if not isinstance(probe, S3Found) or not body or not self._held.take(len(body)):
            return probe
        return replace(probe, body=body)


def content(key: str, body: bytes) -> bytes | None:
    """Return the content of a small object, unpacked if its key ends in `.gz`.

    None if Spark must read the object itself: it is damaged or too large.

    Args:
        body: all bytes of the object.
    """
    if not key.endswith(GZIP):
        return body
    try:
        found, whole = read_beginning(body, CONTENT_BYTES)
    except BrokenGzip:
        return None
    return found if whole else None
