"""The time of work on many files. Each loop over what a file holds asks for it, in whatever thread."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any, BinaryIO

from tidegate.platform.core.errors import UnavailableError

_DEADLINE_SECONDS: ContextVar[float] = ContextVar("until", default=inf)


class DeadlineExceeded(UnavailableError):
    """The time of the work is over."""


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    """Give what is done in this context, and in the threads of `parallel`, so many seconds from now on."""
    token = _DEADLINE_SECONDS.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _DEADLINE_SECONDS.reset(token)


def seconds_left() -> float:
    """Return the seconds that are left: infinitely many without a limit.

    Raises:
        DeadlineExceeded: none are left.
    """
    left = _DEADLINE_SECONDS.get() - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded
    return left


class TimedStream(io.RawIOBase):
    """A stream that returns the bytes of another stream, as long as there is time.

    Raises:
        DeadlineExceeded: while it is read.
    """

    def __init__(self, body: Any) -> None:
        self._body: BinaryIO = body

    def readable(self) -> bool:
        """Return true: the stream can be read."""
        return True

    def close(self) -> None:
        """Close the other stream, too."""
        self._body.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        """Return up to so many bytes, or all."""
        seconds_left()
        return self._body.read(size) if size >= 0 else self._body.read()

    def readinto(self, buffer: Any) -> int:
        """Read bytes into the buffer. Returns how many."""
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
