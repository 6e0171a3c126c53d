"""Footers parsed in child processes: Arrow's C++ aborts its whole process on some corrupt footers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from tidegate.platform.core.parquet.bad import BadParquet
from tidegate.platform.core.parquet.footer import Footer, read_footer

#: Footers worth a child of their own; one more child costs about what parsing these does.
_PER_CHILD = 500
#: Seconds that one footer may take, with the child's start; Arrow parses thousands a second.
_DEADLINE = 60.0


def read_footers(tails: Sequence[tuple[bytes, int]]) -> list[Footer | BadParquet]:
    """Parse footers, in order, away from this process.

    A footer that kills or hangs its reader is bad Parquet like any other; the ones behind it are read by a new child.

    Args:
        tails: for each object its last bytes, at least ``footer_bytes`` of them, and its size in bytes.
    """
    if not tails:
        return []
    children = min(os.cpu_count() or 1, -(-len(tails) // _PER_CHILD))
    share = -(-len(tails) // children)
    parts = [tails[start : start + share] for start in range(0, len(tails), share)]
    with ThreadPoolExecutor(len(parts)) as pool:
        return [footer for part in pool.map(_read_part, parts) for footer in part]


def _read_part(tails: Sequence[tuple[bytes, int]]) -> list[Footer | BadParquet]:
    read: list[Footer | BadParquet] = []
    while len(read) < len(tails):
        with _Child() as child:
            try:
                while len(read) < len(tails):
                    read.append(child.ask(*tails[len(read)]))
            except (EOFError, OSError, TimeoutError):
                read.append(BadParquet("its footer is corrupt: it crashes or hangs the Parquet reader"))
    return read


class _Child:
    def __init__(self) -> None:
        ours, theirs = os.pipe(), os.pipe()
        self._requests, self._replies = Connection(ours[1], readable=False), Connection(theirs[0], writable=False)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(ours[0]), str(theirs[1])],
                pass_fds=(ours[0], theirs[1]),
                stdin=subprocess.DEVNULL,
            )
        finally:
            os.close(ours[0])
            os.close(theirs[1])

    def ask(self, tail: bytes, size: int) -> Footer | BadParquet:
        self._requests.send((tail, size))
        if not self._replies.poll(_DEADLINE):
            raise TimeoutError
        reply: Footer | BadParquet = self._replies.recv()
        return reply

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.close()
        self._replies.close()
        self._process.kill()
        self._process.wait()


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
