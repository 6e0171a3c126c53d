"""Footers parsed in child processes: Arrow's C++ aborts its whole process on some corrupt footers."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.footer import Footer, read_footer
from tidegate.platform.lake.deadline import seconds_left
from tidegate.platform.lake.threads import parallel

#: Footers worth a child of their own; one more child costs about what parsing these does.
_PER_CHILD = 500
#: Seconds that one footer may take, with the child's start; Arrow parses thousands a second.
_DEADLINE = 60.0


_spare: list[_Child] = []


def keep_spare() -> None:
    """Fork a reader that the first footers will need: a fork is cheap, a new Python imports Arrow for 0.3 CPU-seconds.

    For a process that has everything imported and one thread still; any other had better not be forked, and is not.
    """
    if threading.active_count() == 1 and not _spare:
        _spare.append(_Child(fork=True))


def read_footers(tails: Sequence[tuple[bytes, int]]) -> list[Footer | BadParquet]:
    """Parse footers, in order, away from this process.

    A footer that kills or hangs its reader is bad Parquet like any other; the ones behind it are read by a new child.

    Args:
        tails: for each object its last bytes, at least `footer_bytes` of them, and its size in bytes.

    Raises:
        DeadlineExceeded: the time of the work is over.
    """
    if not tails:
        return []
    children = min(os.cpu_count() or 1, -(-len(tails) // _PER_CHILD))
    share = -(-len(tails) // children)
    parts = [tails[start : start + share] for start in range(0, len(tails), share)]
    return [footer for part in parallel(_read_part, parts) for footer in part]


def _read_part(tails: Sequence[tuple[bytes, int]]) -> list[Footer | BadParquet]:
    read: list[Footer | BadParquet] = []
    while len(read) < len(tails):
        with ExitStack() as unless_kept:
            child = unless_kept.enter_context(_next_child())
            try:
                while len(read) < len(tails):
                    seconds_left()
                    read.append(child.ask(*tails[len(read)]))
            except (EOFError, OSError, TimeoutError):
                if not child.waited:  # else it may have died of something else, before it got this footer
                    read.append(BadParquet("its footer is corrupt: it crashes or hangs the Parquet reader"))
            else:
                if not _spare:  # a run of many tables needs it for each
                    unless_kept.pop_all()
                    child.waited = True
                    _spare.append(child)
    return read


def _next_child() -> _Child:
    with suppress(IndexError):
        return _spare.pop()
    return _Child()


@atexit.register
def _end_spare() -> None:
    while _spare:
        with _spare.pop():
            pass


# It answers one process.
os.register_at_fork(after_in_child=_spare.clear)


#: A child's number, how to kill it, and how to wait for it.
_Started = tuple[int, Callable[[], None], Callable[[], object]]


class _Child:
    """A child that parses footers: a new Python, or a fork of this process.

    Attributes:
        waited: whether it was idle since its last answer.
    """

    def __init__(self, *, fork: bool = False) -> None:
        self.waited = fork
        ours, theirs = os.pipe(), os.pipe()
        self._requests, self._replies = Connection(ours[1], readable=False), Connection(theirs[0], writable=False)
        try:
            self.pid, self._kill, self._reap = (self._fork if fork else self._start)(ours[0], theirs[1])
        finally:
            os.close(ours[0])
            os.close(theirs[1])

    def _start(self, requests: int, replies: int) -> _Started:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(requests), str(replies)],
            pass_fds=(requests, replies),
            stdin=subprocess.DEVNULL,
        )
        return process.pid, process.kill, process.wait

    def _fork(self, requests: int, replies: int) -> _Started:
        # A daemon: it ends with this process, if nobody has needed it by then.
        process = multiprocessing.get_context("fork").Process(target=self._serve, args=(requests, replies), daemon=True)
        process.start()
        assert process.pid is not None
        return process.pid, process.kill, process.join

    def _serve(self, requests: int, replies: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._requests.close()
        self._replies.close()
        _serve(Connection(requests, writable=False), Connection(replies, readable=False))

    def ask(self, tail: bytes, size: int) -> Footer | BadParquet:
        self._requests.send((tail, size))
        if not self._replies.poll(_DEADLINE):
            raise TimeoutError
        reply: Footer | BadParquet = self._replies.recv()
        self.waited = False
        return reply

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.close()
        self._replies.close()
        self._kill()
        self._reap()


def _serve(requests: Connection, replies: Connection) -> None:
    while True:
        try:
            tail, size = requests.recv()
        except EOFError:
            return
        try:
            replies.send(read_footer(tail, size))
        except BadParquet as bad:
            replies.send(bad)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False))
