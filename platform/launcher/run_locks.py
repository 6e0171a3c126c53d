"""Finds the runs that have a live process on this machine. Each run holds a lock on its own file.

The kernel frees the lock when the process ends, however it ends. A process id does not suffice, because another process
may get the same id later.
"""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

#: Content of the file of a run that no process may take any more.
_GIVEN_UP = b"given up\n"


class RunLocks:
    """The locks of one Dagster instance's runs.

    Args:
        folder: folder of the lock files; created if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, run_id: str) -> bool:
        """Lock the run's file until this process ends. Returns False if the run was given up before."""
        file = self._open_lock(run_id)
        # A POSIX lock, which forks do not inherit. The descriptor stays open on purpose.
        fcntl.lockf(file, fcntl.LOCK_EX)
        if os.pread(file, len(_GIVEN_UP), 0) == _GIVEN_UP:
            os.close(file)
            return False
        os.truncate(file, 0)
        os.write(file, b"%d\n" % os.getpid())
        return True

    def give_up(self, run_id: str) -> bool:
        """Prevent every process from taking the run. Returns False if a process already has it."""
        with os.fdopen(self._open_lock(run_id), "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            file.write(_GIVEN_UP)
        return True

    def forget(self, run_id: str) -> None:
        """Remove the file of a run whose end is known."""
        self._path(run_id).unlink(missing_ok=True)

    def pid(self, run_id: str) -> int | None:
        """Return the process id of the run, None when it has no process."""
        return int(self._read_lock(run_id) or 0) or None

    def has_died(self, run_id: str) -> bool:
        """Return whether the run had a process here that ended without releasing its lock file."""
        with suppress(FileNotFoundError):
            said = self._path(run_id).read_bytes()
            # Asked again, because the file may be removed between the two checks.
            return said != _GIVEN_UP and self._read_lock(run_id) is None and self._path(run_id).exists()
        return False

    def interrupt(self, run_id: str) -> bool:
        """Send SIGINT to the process of the run, as Dagster does. Returns whether there is a process."""
        pid = self.pid(run_id)
        if pid is None:
            return False
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            return False
        return True

    def _read_lock(self, run_id: str) -> bytes | None:
        with suppress(FileNotFoundError), self._path(run_id).open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return file.read()
        return None

    def _open_lock(self, run_id: str) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        return os.open(self._path(run_id), os.O_RDWR | os.O_CREAT, 0o600)

    def _path(self, run_id: str) -> Path:
        return self.folder / run_id
