"""Memory and disk for what is held of a file: a little of many files at once, much of one after the other."""

from __future__ import annotations

import io
from collections.abc import Callable
from threading import Lock
from typing import Any, BinaryIO, TypeVar

#: Bytes, or characters, that each of some thirty threads may hold in memory while the others do.
SMALL = 4 << 20
#: Bytes that each may have on the disk.
SMALL_FILE = 128 << 20

T = TypeVar("T")

_ALONE = Lock()


class TooLarge(Exception):
    """More would have to be held than is allowed."""


class Bounded(io.RawIOBase):
    """A stream of which no more than so many bytes are read.

    Raises:
        TooLarge: while it is read, once there are more.
    """

    def __init__(self, body: BinaryIO, most: int) -> None:
        self._body, self._left = body, most

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        piece = self._body.read(len(buffer))
        self._left -= len(piece)
        if self._left < 0:
            raise TooLarge
        buffer[: len(piece)] = piece
        return len(piece)


def in_turn(work: Callable[[int], T], most: int, *, small: int = SMALL, surely: int = 0) -> T:
    """Do work that holds an unknown part of a file: beside others where little is enough, else alone in this process.

    Packed files tell nothing of what they hold: a thousandth of it can lie in S3.

    Args:
        work: what is done, with the most that it may hold; it raises TooLarge where that is not enough, and is begun
            anew.
        most: what it may hold when it is alone.
        small: what it may hold beside others.
        surely: what it holds at least.

    Raises:
        TooLarge: that is not enough.
    """
    if surely <= small:
        try:
            return work(min(small, most))
        except TooLarge:
            if most <= small:
                raise
    with _ALONE:
        return work(most)
