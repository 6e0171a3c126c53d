"""Memory and disk for what is held of files: a little of many files at the same time, or much of one file alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import gettempdir
from threading import Lock
from typing import Any, BinaryIO, TypeVar

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.deadline import seconds_left
from tidegate.platform.lake.disk import is_full

#: Bytes, or characters, that each of about thirty threads may hold in memory at the same time.
SMALL = 4 << 20
#: Bytes that each of these threads may have on the disk at the same time.
SMALL_FILE = 128 << 20

T = TypeVar("T")

_ALONE = Lock()


class TooLarge(Exception):
    """The work would have to hold more than it may."""


class Bounded(io.RawIOBase):
    """A stream that returns at most `limit` bytes of another stream, as long as there is time.

    Raises:
        TooLarge: while it is read, if the other stream has more bytes.
        DeadlineExceeded: while it is read.
    """

    def __init__(self, body: BinaryIO, max_bytes: int) -> None:
        self._body, self._left = body, max_bytes

    def readable(self) -> bool:
        """Return true: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into the buffer. Returns how many."""
        seconds_left()
        piece = self._body.read(len(buffer))
        self._left -= len(piece)
        if self._left < 0:
            raise TooLarge
        buffer[: len(piece)] = piece
        return len(piece)


def run_bounded(work: Callable[[int], T], max_bytes: int, *, shared_max_bytes: int = SMALL, min_bytes: int = 0) -> T:
    """Do work that holds an unknown part of a file.

    The work runs next to other work if little is enough for it. Otherwise it runs alone in this process. The size of a
    packed file does not show how much to expect: its content can have a thousand times as many bytes.

    Args:
        work: is called with the bytes, or characters, that it may hold; if these are not enough, it raises `TooLarge`
            and is started again from the beginning.
        max_bytes: what the work may hold when it runs alone.
        shared_max_bytes: what the work may hold when it runs next to other work.
        min_bytes: what the work holds at least.

    Raises:
        TooLarge: `max_bytes` is not enough.
    """
    if min_bytes <= shared_max_bytes:
        try:
            return work(min(shared_max_bytes, max_bytes))
        except TooLarge:
            if max_bytes <= shared_max_bytes:
                raise
    with _ALONE:
        return work(max_bytes)


@contextmanager
def name_full_disk(what: str) -> Iterator[None]:
    """Write temporary files in this context. Another error than a full disk is raised as it is.

    Args:
        what: end of the error's sentence: what has to be written there, and what to do.

    Raises:
        UnavailableError: the disk is full.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise UnavailableError(f"the disk with {gettempdir()} is full, and {what}") from error
