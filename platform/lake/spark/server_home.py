"""The folder of a Spark server on this machine: by its locks, the server and its clients know of each other.

    lock       held by the process of the server while it lives. Its text is the port, once the server takes work.
    users      shared by clients that use the server, and held alone by a server that ends because it has none.
    starting   held by the client that starts a server.
    token      the token that the next server starts with. People replace it.
    accepted   the token that the server accepts, as long as it lives. Clients read it.

The kernel frees each lock when its process ends, however it ends. So no file that was left behind has a meaning.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from tidegate.platform.core.errors import UnavailableError

LOCK, USERS, STARTING, LOG = "lock", "users", "starting", "spark.log"
TOKEN_NAME, ACCEPTED = "token", "accepted"
_PAUSE = 0.05
#: Seconds for which a process that only looks whether a lock is held may hold it.
_LOOK_SECONDS = 1.0


class ServerHome:
    """The folder of one server.

    Args:
        folder: it is made when a lock of it is taken.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def claim(self) -> IO[str]:
        """Take the folder for the server of this process. Returns the lock, which `announce` takes.

        Raises:
            UnavailableError: another server has the folder, or the folder cannot be made.
        """
        lock = self.take(LOCK, fcntl.LOCK_EX, time.monotonic() + _LOOK_SECONDS)
        if lock is None:
            raise UnavailableError(f"another Spark server uses {self.folder}: choose another with --home")
        _write(lock, "")
        return lock

    def write_accepted(self, token: str) -> None:
        """Write the token that the server accepts. Only the owner of the file may read it."""
        new = self.folder / f"{ACCEPTED}.new"
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{token}\n")
        new.replace(self.folder / ACCEPTED)  # in one step, because clients read it at each connection

    def find_port(self) -> int | None:
        """Return the port of the server that takes work now; None if there is none."""
        with suppress(OSError, ValueError), (self.folder / LOCK).open() as lock:
            if _is_held(lock):
                return int(lock.read())
        return None

    @property
    def is_taken(self) -> bool:
        """Whether the process of a server lives, also while it starts or ends."""
        try:
            with (self.folder / LOCK).open() as lock:
                return _is_held(lock)
        except OSError:
            return False

    def take(self, name: str, kind: int, until: float) -> IO[str] | None:
        """Take a lock of the folder. Returns None if it was not free in time.

        Args:
            name: the lock.
            kind: `LOCK_EX` or `LOCK_SH` of `fcntl`.
            until: the time of the monotonic clock at which to give up. It is tried once in any case.

        Raises:
            UnavailableError: the folder cannot be made or written.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = (self.folder / name).open("a+")
        except OSError as error:
            raise UnavailableError(f"{self.folder} cannot be used for a Spark server: {error.strerror}") from None
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, kind | fcntl.LOCK_NB)
                return file
            if time.monotonic() >= until:
                file.close()
                return None
            time.sleep(_PAUSE)


def announce(lock: IO[str], port: int) -> None:
    """Let clients know that the server takes work.

    Args:
        lock: the lock of its folder.
        port: the port that it listens on.
    """
    _write(lock, str(port))


def withdraw(lock: IO[str]) -> None:
    """Let clients know that the server takes no work any more.

    Args:
        lock: the lock of its folder.
    """
    _write(lock, "")


def note_use(users: IO[str]) -> None:
    """Let the server know of a use that may be shorter than the time between two of its looks."""
    os.utime(users.fileno())


class IdleWatch:
    """Finds out whether nobody has used a server for some time. The server asks it about once a second.

    Clients of Tidegate hold the lock `users`. Others are known by a connection that is open at two looks.

    Attributes:
        idle: seconds without a use after which the server ends.

    Args:
        home: the folder of the server.
        port: the port that it listens on.
        idle: as the attribute.
        now: seconds of the monotonic clock, at the start of the server.
    """

    def __init__(self, home: ServerHome, port: int, idle: float, now: float) -> None:
        self._home, self._port, self.idle = home, port, idle
        self._since = now
        self._stamp = 0
        self._open: frozenset[str] = frozenset()
        self._kept: IO[str] | None = None

    def is_over(self, now: float, *, at_once: bool = False) -> bool:
        """Return whether the server has to end. From then on no client begins to use it, until this process ends.

        Args:
            now: seconds of the monotonic clock.
            at_once: whether it has to end as soon as nobody uses it.
        """
        try:
            lock = self._home.take(USERS, fcntl.LOCK_EX, until=0.0)
            stamp, found = (self._home.folder / USERS).stat().st_mtime_ns, open_connections(self._port)
        except (UnavailableError, OSError):
            return False  # A full disk is not a reason to end a merge.
        is_used = lock is None or stamp != self._stamp or bool(found & self._open)
        self._stamp, self._open = stamp, found
        if is_used:
            self._since = now
        elif at_once or now - self._since >= self.idle:
            self._kept = lock
            return True
        if lock is not None:
            lock.close()
        return False


def open_connections(port: int, tables: Path = Path("/proc/net")) -> frozenset[str]:
    """Return the clients that are connected with a port of this machine. None on systems other than Linux.

    Args:
        tables: folder of the kernel's tables `tcp` and `tcp6`.
    """
    found: set[str] = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            found |= connected_clients((tables / name).read_text(), port)
    return frozenset(found)


def connected_clients(table: str, port: int) -> set[str]:
    """Return the addresses of the clients of a port.

    Args:
        table: the kernel's table of connections, with a line of headings.
        port: the port of this machine.
    """
    found = set()
    for line in table.splitlines()[1:]:
        _, local, client, state, *_ = line.split()
        if state == "01" and local.endswith(f":{port:04X}"):
            found.add(client)
    return found


def _is_held(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _write(lock: IO[str], text: str) -> None:
    lock.truncate(0)
    lock.write(text)
    lock.flush()
