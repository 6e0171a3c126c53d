"""What tells other commands of a running local platform: its lock and `stack.json`."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from tidegate.platform.local.errors import LocalStackError

_LOCK = "stack.lock"
_FILE = "stack.json"


@dataclass(frozen=True)
class StackInfo:
    """A running local platform, as `<home>/stack.json` describes it.

    Attributes:
        pid: The process that holds it.
        pids: Its servers by name.
        guards: The guards of its servers, by name.
        ports: Ports on loopback by name.
        environ: Environment variables that make a process its client.
    """

    pid: int
    pids: Mapping[str, int]
    guards: Mapping[str, int]
    ports: Mapping[str, int]
    environ: Mapping[str, str]


def find_stack(home: Path) -> StackInfo | None:
    """The local platform that runs on `home` right now, None when there is none."""
    info = _read(home)
    return info if info is not None and _alive(info.pid) else None


def write_stack(home: Path, info: StackInfo) -> None:
    """Say on disk that the platform runs; replaced atomically."""
    temporary = home / f"{_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(asdict(info), indent=2) + "\n")
    temporary.replace(home / _FILE)


def remove_stack(home: Path) -> None:
    """Say on disk that it does not run any more."""
    (home / _FILE).unlink(missing_ok=True)


class StackLock:
    """Lets one process at a time use a home. The kernel frees it when that process dies, however it dies."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: IO[str] | None = None

    def acquire(self, deadline: float = 20.0) -> None:
        """Take the home, and wait until nothing of a platform that died on it is left.

        Args:
            deadline: Seconds for the guards of that platform to end its servers.

        Raises:
            LocalStackError: Another process has it.
        """
        self._home.mkdir(parents=True, exist_ok=True)
        file = (self._home / _LOCK).open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise LocalStackError(
                f"{self._home} is in use by the local platform of process {holder}: "
                "stop that one (Ctrl-C, or SIGTERM), or choose another folder with --home"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file
        self._wait_for_remains(time.monotonic() + deadline)

    def _wait_for_remains(self, end: float) -> None:
        info = _read(self._home)
        if info is None:
            return
        while any(_alive(pid) for pid in info.guards.values()) and time.monotonic() < end:
            time.sleep(0.1)
        remove_stack(self._home)

    def release(self) -> None:
        """Give the home back. Does nothing when it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None


def empty_home(home: Path) -> None:
    """Delete all state of a home that nothing runs on.

    Raises:
        LocalStackError: Another process has it; nothing is deleted.
    """
    lock = StackLock(home)
    lock.acquire()
    try:
        for entry in home.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:  # without its name on disk, the lock that we hold would keep nobody out
                entry.unlink()
    finally:
        lock.release()


def _read(home: Path) -> StackInfo | None:
    with suppress(FileNotFoundError, ValueError, TypeError):
        return StackInfo(**json.loads((home / _FILE).read_text()))
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
