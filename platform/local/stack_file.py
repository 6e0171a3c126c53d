"""Files that announce a running local platform: a lock, `stack.json` for commands, `environment.sh` for shells.

Both files hold the token of the Spark server, so only their owner may read them. `stack.json` decides where commands
send that token and requests to AWS, and a folder may come from somebody else, as a repository does. So a file counts
only if it is the caller's own, only the caller can read it, a process holds the lock, and all that it names is on this
machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.process.ports import BYPASS_PROXY

_LOCK = "stack.lock"
_FILE = "stack.json"
#: The variables of a client of a local platform. Others could name a program that AWS's library or Python then runs.
_VARIABLES = frozenset(
    {
        "AWS_ENDPOINT_URL",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_EC2_METADATA_DISABLED",
        "DAGSTER_HOME",
        "SPARK_REMOTE",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN",
        "TIDEGATE_LAKE",
        "TIDEGATE_QUEUE_URL",
    }
)
#: How the names of variables begin that name a server, or hold what only that server may see.
_SERVER_PREFIXES = ("AWS_", "SPARK_", "TIDEGATE_SPARK_")
#: Seconds for which a command that looks whether the lock is held may hold it.
_PROBE_LOCK_SECONDS = 1.0
#: A shell that reads this file becomes a client of the platform.
SHELL_FILE = "environment.sh"


@dataclass(frozen=True)
class StackInfo:
    """A running local platform, as `<home>/stack.json` describes it.

    Attributes:
        pid: process id of its owner.
        pids: process ids of its servers, by name.
        guards: process ids of the guards of its servers, by name.
        ports: ports on loopback by name.
        environ: environment variables of a client, including the token of the Spark server.
    """

    pid: int
    pids: Mapping[str, int]
    guards: Mapping[str, int]
    ports: Mapping[str, int]
    environ: Mapping[str, str] = field(repr=False)


def make_home(home: Path) -> None:
    """Create the folder of a home if it does not exist.

    Raises:
        UnavailableError: the folder cannot be created.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"{home} cannot be created: {error.strerror}; choose another folder with --home"
        ) from None


def find_stack(home: Path) -> StackInfo | None:
    """Return the local platform that runs on `home` now, None when there is none that can be trusted."""
    if not (_is_private(home / _FILE) and _is_locked(home)):
        return None
    info = _read(home)
    return info if info is not None and _is_local(info.environ) else None


def find_starting(home: Path) -> int | None:
    """Return the process id of a platform that is still starting on `home`, None if there is none."""
    if (home / _FILE).exists() or not _is_locked(home):
        return None
    with suppress(OSError, ValueError):
        return int((home / _LOCK).read_text())
    return None


def client_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a client of a local platform.

    It is that of this process without its settings of AWS and of the Spark server: neither credentials nor the token of
    another server go to an address of the platform.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_SERVER_PREFIXES)}
    return own | dict(environ)


def write_stack(home: Path, info: StackInfo) -> None:
    """Announce on disk that the platform runs. Each file is replaced atomically."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(info.environ.items()))
    _write_private(home / SHELL_FILE, exports + BYPASS_PROXY)
    _write_private(home / _FILE, json.dumps(asdict(info), indent=2) + "\n")


def remove_stack(home: Path) -> None:
    """Remove the announcement of a platform that has stopped."""
    for name in (_FILE, SHELL_FILE):
        (home / name).unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)


class StackLock:
    """Lets one process at a time use a home. The kernel frees the lock when that process ends, however it ends."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: IO[str] | None = None

    def acquire(self, deadline: float = 20.0) -> None:
        """Lock the home, and wait until the servers of a platform that died on it have ended.

        Args:
            deadline: seconds that the guards of that platform have to end its servers.

        Raises:
            UnavailableError: another process has the home, or it cannot be created.
        """
        make_home(self._home)
        file = (self._home / _LOCK).open("a+")
        if not _acquire_lock(file, time.monotonic() + _PROBE_LOCK_SECONDS):
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise UnavailableError(
                f"{self._home} is in use by the local platform of process {holder}: "
                "stop that platform (Ctrl-C, or SIGTERM), or choose another folder with --home"
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file
        self._wait_for_remains(time.monotonic() + deadline)

    def _wait_for_remains(self, end: float) -> None:
        info = _read(self._home)
        if info is None:
            return
        while any(_is_alive(pid) for pid in info.guards.values()) and time.monotonic() < end:
            time.sleep(0.1)
        remove_stack(self._home)

    def release(self) -> None:
        """Release the home. Does nothing when it is not locked."""
        if self._file is not None:
            self._file.truncate(0)  # otherwise the process id would count as a platform that is starting
            self._file.close()
            self._file = None


def _acquire_lock(file: IO[str], end: float) -> bool:
    while True:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.05)


def empty_home(home: Path) -> None:
    """Delete all state of a home on which no platform runs.

    Raises:
        UnavailableError: another process has the home. Nothing is deleted.
    """
    lock = StackLock(home)
    lock.acquire()
    try:
        for entry in home.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:  # a lock without a name on disk would exclude no other process
                entry.unlink()
    finally:
        lock.release()


def _read(home: Path) -> StackInfo | None:
    with suppress(FileNotFoundError, ValueError, TypeError):
        return StackInfo(**json.loads((home / _FILE).read_text()))
    return None


def _is_private(path: Path) -> bool:
    """Return whether a file is the caller's, and nobody else can read or write it. A link to one is not."""
    with suppress(OSError):
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return False


def _is_locked(home: Path) -> bool:
    """Return whether a process holds the lock of a home. A process id alone may be another process's by now."""
    try:
        with (home / _LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_local(environ: Mapping[str, str]) -> bool:
    """Return whether only variables of a local platform are set, and every address is on this machine."""
    addresses = [value for value in environ.values() if "://" in value]
    return environ.keys() <= _VARIABLES and all(map(_is_loopback, addresses))


def _is_loopback(address: str) -> bool:
    with suppress(ValueError):
        host = urlsplit(address).hostname
        return host == "localhost" or (host is not None and ip_address(host).is_loopback)
    return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
