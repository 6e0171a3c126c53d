"""Finds the runs that have a live process on this machine. Each run holds a lock on its own file.

The kernel frees the lock when the process ends, however it ends. A process id does not suffice, because another process
may get the same id later, and in another container the same id is another process. So nobody sends a signal to a run:
a file asks it to stop, and the run sends the signal to itself.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

#: Content of the file of a run that no process may take any more.
_GIVEN_UP = b"given up\n"
#: Seconds between two looks for the file that asks a run to stop.
_WATCH_SECONDS = 0.5


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

    def interrupt_when_asked(self, run_id: str) -> None:
        """Send SIGINT to the main thread of this process when the run is asked to stop, from a thread of its own."""

        def watch() -> None:
            while not self._stop_path(run_id).exists():
                time.sleep(_WATCH_SECONDS)
            signal.pthread_kill(main, signal.SIGINT)

        main = threading.get_ident()
        threading.Thread(target=watch, name="asked to stop", daemon=True).start()

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
        """Remove the files of a run whose end is known."""
        for path in (self._stop_path(run_id), self._path(run_id)):
            path.unlink(missing_ok=True)

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
        """Ask the process of the run to interrupt itself. Returns whether there is a process."""
        if self.pid(run_id) is None:
            return False
        self._stop_path(run_id).touch()
        if self.pid(run_id) is not None:
            return True
        self._stop_path(run_id).unlink(missing_ok=True)  # It ended just now, and its files are forgotten.
        return False

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

    def _stop_path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.stop"

    def _path(self, run_id: str) -> Path:
        return self.folder / run_id
