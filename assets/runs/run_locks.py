"""Finds the runs that have a live process on this machine. Each run holds a lock on its own file.

The kernel frees the lock when the process ends, however it ends. The process itself neither frees the lock nor removes
its file: it cannot know whether Dagster has written down its end. A process id does not suffice, because another
process may get the same id later, and in another container the same id is another process. So nobody sends a signal to
a run: a file asks it to stop, and the run sends the signal to itself.

A free lock says that a process has ended only where the process had it. So each file names the machine of its process.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import ClassVar

from tidegate.platform.core.errors import UnavailableError

#: Content of the file of a run that no fork may take any more.
_GIVEN_UP = b"given up\n"
#: Content of the file of a run that was ended before a process began it.
_ENDED = b"ended\n"
#: The first words of the files of a run that was forked, and of a run that was started in another way.
_FORK, _RUN = "fork", "run"
_STOP_SUFFIX = ".stop"
#: Seconds between two looks for the file that asks a run to stop.
_WATCH_SECONDS = 0.5
#: What it has differs from one start of a machine to the next. Containers of one machine have the same.
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UNKNOWN_BOOT = "-"


class RunLocks:
    """The locks of one Dagster instance's runs.

    Args:
        folder: folder of the lock files; created if it is missing.
    """

    #: The locks of this process, with its id, because a fork has a copy and not the locks.
    _own: ClassVar[set[tuple[int, Path]]] = set()

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def from_root(cls, root_directory: str) -> RunLocks:
        """Return the locks of a Dagster instance with this `root_directory`."""
        return cls(Path(root_directory) / "run_locks")

    def take(self, run_id: str) -> bool:
        """Lock the file of a forked run until this process ends. Returns False if the run was given up before."""
        file = self._open_lock(run_id)
        # A POSIX lock, which forks do not inherit. The descriptor stays open on purpose.
        fcntl.lockf(file, fcntl.LOCK_EX)
        if os.pread(file, len(_GIVEN_UP) + 1, 0) in (_GIVEN_UP, _ENDED):
            os.close(file)
            return False
        self._sign(file, run_id, _FORK)
        return True

    def hold(self, run_id: str) -> None:
        """Lock the file of a run until this process ends, unless this process has taken it.

        A run that cannot lock its file, for example because the folder cannot be written, works without.

        Raises:
            UnavailableError: the run was ended while it began.
        """
        if self._is_own(run_id):
            return
        with suppress(OSError):
            file = self._open_lock(run_id)  # It stays open: closing it would free the lock.
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.pread(file, len(_ENDED) + 1, 0) == _ENDED:
                    raise UnavailableError("this run was ended before it began: its table has another run")
                self._sign(file, run_id, _RUN)
            except BaseException:
                os.close(file)
                raise

    def interrupt_when_asked(self, run_id: str) -> None:
        """Send SIGINT to the main thread of this process when the run is asked to stop, from a thread of its own."""

        def watch() -> None:
            while not self._stop_path(run_id).exists():
                time.sleep(_WATCH_SECONDS)
            signal.pthread_kill(main, signal.SIGINT)

        main = threading.get_ident()
        threading.Thread(target=watch, name="asked to stop", daemon=True).start()

    def give_up(self, run_id: str) -> bool:
        """Prevent every fork from taking the run. Returns False if a process already has it."""
        return self._write_unless_held(run_id, _GIVEN_UP)

    def end(self, run_id: str) -> bool:
        """Prevent every process from beginning the run. Returns False if one already has it."""
        return self._write_unless_held(run_id, _ENDED)

    def _write_unless_held(self, run_id: str, said: bytes) -> bool:
        with os.fdopen(self._open_lock(run_id), "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            file.write(said)
        return True

    def forget(self, run_id: str) -> None:
        """Remove the files of a run whose end is known."""
        for path in (self._stop_path(run_id), self._path(run_id)):
            path.unlink(missing_ok=True)

    def pid(self, run_id: str) -> int | None:
        """Return the process id of a forked run, None when it has no process."""
        words = (self._read_lock(run_id) or b"").decode().split()
        return int(words[1]) if words[:1] == [_FORK] else None

    def is_held(self, run_id: str) -> bool:
        """Return whether a process has the lock of the run."""
        return self._is_own(run_id) or self._read_lock(run_id) is not None

    def has_died(self, run_id: str) -> bool:
        """Return whether the run had a process on this machine that has ended."""
        return self._was_here(run_id) is True

    def find_free(self) -> dict[str, bool]:
        """Return the runs that had a process and have a free lock, and whether the process was one of this machine."""
        found = {}
        with suppress(OSError):
            for name in [path.name for path in self.folder.iterdir() if path.suffix != _STOP_SUFFIX]:
                if (here := self._was_here(name)) is not None:
                    found[name] = here
        return found

    def _was_here(self, run_id: str) -> bool | None:
        """Return whether the process of a free lock was one of this machine. None if it is not free, or had none."""
        if self._is_own(run_id):
            return None
        # A lock that is held, or that cannot be asked for, raises: nothing is known of its process.
        with suppress(OSError), self._path(run_id).open("r+b") as file:
            said = file.read()
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._path(run_id).exists():  # It may have been removed meanwhile.
                return _is_of_this_machine(said)
        return None

    def interrupt(self, run_id: str) -> bool:
        """Ask the process of a forked run to interrupt itself. Returns whether there is a process."""
        if self.pid(run_id) is None:
            return False
        self._stop_path(run_id).touch()
        if self.pid(run_id) is not None:
            return True
        self._stop_path(run_id).unlink(missing_ok=True)  # It ended just now, and its files are forgotten.
        return False

    def _read_lock(self, run_id: str) -> bytes | None:
        """Return the content of a locked file. None if it is not locked, or cannot be read."""
        with suppress(OSError), self._path(run_id).open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return file.read()
        return None

    def _open_lock(self, run_id: str) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        return os.open(self._path(run_id), os.O_RDWR | os.O_CREAT, 0o600)

    def _sign(self, file: int, run_id: str, kind: str) -> None:
        os.truncate(file, 0)
        boot, name = _machine()
        os.pwrite(file, f"{kind} {os.getpid()} {boot} {name}\n".encode(), 0)
        self._own.add((os.getpid(), self._path(run_id)))

    def _is_own(self, run_id: str) -> bool:
        """Return whether this process has the lock. It must not open the file: closing it would free the lock."""
        return (os.getpid(), self._path(run_id)) in self._own

    def _stop_path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}{_STOP_SUFFIX}"

    def _path(self, run_id: str) -> Path:
        return self.folder / run_id


@cache
def _machine() -> tuple[str, str]:
    """Return the boot id of this machine, and its name."""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot = _UNKNOWN_BOOT
    return boot, socket.gethostname()


def _is_of_this_machine(said: bytes) -> bool | None:
    """Return whether the process that signed a file was one of this machine, before or after its last start.

    None if no process signed it: it is empty, or given up. A container that was made again has another name, and the
    boot id of its machine.
    """
    words = said.decode(errors="replace").split()
    if len(words) != 4:
        return None
    boot, name = _machine()
    return words[2] == boot != _UNKNOWN_BOOT or words[3] == name
