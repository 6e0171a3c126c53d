"""What tells others of a running local platform: its lock, `stack.json` for commands, `environment.sh` for shells.

Both files hold the token of the Spark server, so only their owner may read them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from tidegate.platform.local.errors import LocalStackError

_LOCK = "stack.lock"
_FILE = "stack.json"
#: To be read by a shell, which is a client of the platform then.
SHELL_FILE = "environment.sh"


@dataclass(frozen=True)
class StackInfo:
    """A running local platform, as `<home>/stack.json` describes it.

    Attributes:
        pid: The process that holds it.
        pids: Its servers by name.
        guards: The guards of its servers, by name.
        ports: Ports on loopback by name.
        environ: Environment variables that make a process its client; the Spark server's token is one of them.
    """

    pid: int
    pids: Mapping[str, int]
    guards: Mapping[str, int]
    ports: Mapping[str, int]
    environ: Mapping[str, str] = field(repr=False)


def make_home(home: Path) -> None:
    """Make the folder of a home, where there is none.

    Raises:
        LocalStackError: it cannot be made.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalStackError(f"{home} cannot be made: {error.strerror}; choose another folder with --home") from None


def find_stack(home: Path) -> StackInfo | None:
    """The local platform that runs on `home` right now, None when there is none."""
    info = _read(home)
    return info if info is not None and _alive(info.pid) else None


def find_starting(home: Path) -> int | None:
    """The process that holds a home but does not say yet how to reach its platform; None where there is none."""
    if (home / _FILE).exists():
        return None
    with suppress(OSError, ValueError):
        pid = int((home / _LOCK).read_text())
        return pid if _alive(pid) else None
    return None


def client_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a client of a local platform: this process's, but nothing of the AWS that it is for."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | dict(environ)


def write_stack(home: Path, info: StackInfo) -> None:
    """Say on disk that the platform runs; each file is replaced atomically."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(info.environ.items()))
    _write_private(home / SHELL_FILE, exports)
    _write_private(home / _FILE, json.dumps(asdict(info), indent=2) + "\n")


def remove_stack(home: Path) -> None:
    """Say on disk that it does not run any more."""
    for name in (_FILE, SHELL_FILE):
        (home / name).unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)


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
            LocalStackError: Another process has it, or it cannot be made.
        """
        make_home(self._home)
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
            self._file.truncate(0)  # or its number would be taken for a platform that is starting
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
