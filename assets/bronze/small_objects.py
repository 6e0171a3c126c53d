"""Small objects, which are read with the look: one request for each tells its state and brings its bytes."""

from __future__ import annotations

import zlib
from dataclasses import replace
from threading import Lock

from tidegate.platform.core.bronze.object_state import Probe, S3Found
from tidegate.resources.aws.bucket import Bucket

#: Bytes of the largest object that is read so.
SMALL_BYTES = 64 << 10
#: Bytes of such objects that one batch holds: they go to the Spark server in one call, which Spark Connect bounds by
#: 128 MiB, spelled in base64 and with what is said of each file.
HELD_BYTES = 32 << 20
#: Bytes of a small object's content, unpacked, or rewritten as lines.
CONTENT_BYTES = 4 * SMALL_BYTES
#: Endings that Hadoop's readers unpack, but for gzip's.
_PACKED_OTHERWISE = (".bz2", ".deflate", ".lz4", ".snappy", ".zst")


class Held:
    """How many bytes of small objects a batch holds; for many threads."""

    def __init__(self) -> None:
        self._room = HELD_BYTES
        self._lock = Lock()

    @property
    def full(self) -> bool:
        """Whether no further object is to be read."""
        return self._room <= 0

    def take(self, size: int) -> bool:
        """Take so many bytes, if there is room for them."""
        with self._lock:
            fits = size <= self._room
            self._room -= size if fits else 0
        return fits


class SmallObjects:
    """What a look reads of small objects, within bounds.

    Args:
        source: the bucket of the objects.
    """

    def __init__(self, source: Bucket) -> None:
        self._source = source
        self._held = Held()

    def probe(self, key: str, size: int | None) -> Probe:
        """An object's present state; with its bytes, if it is small and there is room.

        Args:
            key: of the object.
            size: bytes of it, as an event said; None where none did.
        """
        if self._held.full or (size is not None and size > SMALL_BYTES):
            return self._source.head(key)
        probe, body = self._source.objects.head_with_body(self._source.name, key, SMALL_BYTES)
        # Of an empty object there is nothing to hold.
        if not isinstance(probe, S3Found) or not body or not self._held.take(len(body)):
            return probe
        return replace(probe, body=body)


def content(key: str, body: bytes) -> bytes | None:
    """The content of a small object, unpacked where its name says gzip; None where a reader of files has to see it.

    Args:
        key: of the object.
        body: all bytes of it.
    """
    if key.endswith(_PACKED_OTHERWISE):
        return None
    if not key.endswith(".gz"):
        return body
    parts, size = [], 0
    try:
        while body:
            unzip = zlib.decompressobj(wbits=31)
            parts.append(unzip.decompress(body, CONTENT_BYTES + 1 - size))
            size += len(parts[-1])
            if not unzip.eof or size > CONTENT_BYTES:
                return None
            body = unzip.unused_data
    except zlib.error:
        return None
    return b"".join(parts)
