"""Which runs have a living process on this machine: each holds a lock on a file of its own.

The kernel frees the lock with the process, however it ends, and nobody else can be taken for it: unlike its number,
which another process may have by then.
"""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

#: In the file of a run that no process may take any more.
_GIVEN_UP = b"given up\n"


class RunLocks:
    """The locks of one Dagster instance's runs.

    Args:
        folder: where their files are; made when missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, run_id: str) -> bool:
        """Lock the run's file for the rest of this process's life; False if the run was given up before."""
        file = self._open(run_id)
        # A POSIX lock: what this process forks does not inherit it. The descriptor stays open on purpose.
        fcntl.lockf(file, fcntl.LOCK_EX)
        if os.pread(file, len(_GIVEN_UP), 0) == _GIVEN_UP:
            os.close(file)
            return False
        os.truncate(file, 0)
        os.write(file, b"%d\n" % os.getpid())
        return True

    def give_up(self, run_id: str) -> bool:
        """Keep every process from taking the run; False if one has it."""
        with os.fdopen(self._open(run_id), "r+b") as file:
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
        """The run's process, None when it has none."""
        return int(self._held(run_id) or 0) or None

    def died(self, run_id: str) -> bool:
        """Whether the run had a process that ended without a word. Not so for a run that never had one here."""
        with suppress(FileNotFoundError):
            said = self._path(run_id).read_bytes()
            # Asked again: its file may go between the looks.
            return said != _GIVEN_UP and self._held(run_id) is None and self._path(run_id).exists()
        return False

    def interrupt(self, run_id: str) -> bool:
        """Send the run's process a SIGINT, as Dagster does; whether it has one."""
        pid = self.pid(run_id)
        if pid is None:
            return False
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            return False
        return True

    def _held(self, run_id: str) -> bytes | None:
        with suppress(FileNotFoundError), self._path(run_id).open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return file.read()
        return None

    def _open(self, run_id: str) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        return os.open(self._path(run_id), os.O_RDWR | os.O_CREAT, 0o600)

    def _path(self, run_id: str) -> Path:
        return self.folder / run_id
