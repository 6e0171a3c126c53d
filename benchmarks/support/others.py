"""Other work on this machine, which takes its part of the cores."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.support.sampling import sampling

_EVERY = 3.0


@contextmanager
def others_sampled() -> Iterator[list[int]]:
    """Count the threads of other processes that run or wait for a core, every few seconds of the block.

    Other processes are those that are not below this one.
    """
    samples: list[int] = []
    with sampling(lambda: samples.append(_runnable_elsewhere()), _EVERY):
        yield samples


def _runnable_elsewhere() -> int:
    parents: dict[int, int] = {}
    runnable: dict[int, int] = defaultdict(int)
    for path in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        with suppress(OSError):  # the thread has just ended
            state, parent = path.read_bytes().rpartition(b")")[2].split()[:2]
            process = int(path.parts[2])
            parents[process] = int(parent)
            runnable[process] += state == b"R"
    return sum(count for process, count in runnable.items() if not _is_ours(process, parents))


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process > 1 and process != os.getpid():
        process = parents.get(process, 0)
    return process == os.getpid()
