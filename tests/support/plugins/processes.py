"""Fixtures for processes: whether they have ended, and the environment of children."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

import pytest

from tidegate.platform.local.process.ports import accepts_connections
from tidegate.platform.local.process.process import Process


def _fields(pid: int) -> list[str] | None:
    """Return the fields of proc(5) from the third on, or None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def born(pid: int) -> str:
    """Return when a process began, in ticks since the start of the machine. Empty if it has ended."""
    return (_fields(pid) or [""] * 20)[19]


def gone(pid: int, since: str | None = None) -> bool:
    """Return whether a process has ended: no process has its id, or another one, or one that waits to be reaped.

    Args:
        pid: its id.
        since: when it began.
    """
    fields = _fields(pid)
    if fields is None or since not in (None, fields[19]):
        return True
    # Field 20 of proc(5) has the number of threads: a process is reaped only after its last thread has ended.
    return fields[0] == "Z" and int(fields[17]) <= 1


def listens(process: Process, port: int, deadline: float = 60.0) -> None:
    """Wait until a server that was just started accepts connections.

    Raises:
        RuntimeError: the server ended, or did not accept in time; then it is stopped.
    """
    end = time.monotonic() + deadline
    while not accepts_connections(port, 1.0):
        if time.monotonic() > end or not process.alive:
            tail = process.tail()
            process.stop()
            raise RuntimeError(f"{process.name} did not start\n{tail}")
        time.sleep(0.1)


def eventually(met: Callable[[], bool], deadline: float = 15.0) -> bool:
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        if met():
            return True
        time.sleep(0.05)
    return met()


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    return lambda pid: eventually(lambda: gone(pid))


@pytest.fixture
def are_gone() -> Callable[[Mapping[int, str]], bool]:
    """Wait until processes have ended, given by id and by when they began."""
    return lambda processes: eventually(lambda: all(gone(pid, since) for pid, since in processes.items()), 60)


@pytest.fixture
def until() -> Callable[..., bool]:
    return eventually


@pytest.fixture
def python_path() -> dict[str, str]:
    """Return an environment in which a child finds the package as this process does."""
    import sys

    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
