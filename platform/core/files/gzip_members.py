"""The one reader of gzip: from the first byte to the last, or it is broken."""

from __future__ import annotations

import io
import zlib
from typing import Any, BinaryIO

from tidegate.platform.core.errors import DataError

_CHUNK = 1 << 16


class BrokenGzip(DataError, ValueError):
    """The bytes are not gzip from the first to the last."""


class TruncatedGzip(BrokenGzip):
    """The bytes end within gzip."""


class GzipMembers(io.RawIOBase):
    """The content of gzip, member after member. What follows the last member must be another member.

    Raises:
        BrokenGzip: while it is read.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._left = b""
        self._member: Any = None

    def readable(self) -> bool:
        """Return true: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes of the content into the buffer. Returns how many."""
        while self._read_more():
            if self._member is None:
                self._member = zlib.decompressobj(wbits=31)
            try:
                piece = self._member.decompress(self._left, len(buffer))
            except zlib.error as error:
                raise BrokenGzip(str(error)) from None
            self._left = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if self._member.eof:
                self._member = None
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
        if self._member is not None:
            raise TruncatedGzip("it is cut off")
        return 0

    def _read_more(self) -> bool:
        self._left = self._left or self._packed.read(_CHUNK)
        return bool(self._left)


def read_beginning(packed: bytes, limit: int) -> tuple[bytes, bool]:
    """Return the first bytes of what gzip packs, and whether they are all. Gzip that is cut off has no end.

    Raises:
        BrokenGzip: the bytes are not gzip.
    """
    members, parts, size = GzipMembers(io.BytesIO(packed)), list[bytes](), 0
    try:
        while size <= limit and (piece := members.read(min(_CHUNK, limit + 1 - size))):
            parts.append(piece)
            size += len(piece)
    except TruncatedGzip:
        return b"".join(parts), False
    return b"".join(parts)[:limit], size <= limit
