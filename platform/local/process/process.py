"""One child process of the local platform: it has a log, can be stopped, and never becomes an orphan."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

from tidegate.platform.core.errors import UnavailableError

_GUARD = Path(__file__).with_name("guard.py")
_STARTED_WITHIN = 10.0


class Process:
    """A running child behind its guard (see `guard.py`). Made by `spawn`.

    Attributes:
        name: name of the child in error messages ("Spark server").
        pid: process id of the child. The guard, not the child, leads the process group.
        guard_pid: process id of the guard, which ends shortly after the child.
        log: file with stdout and stderr of the child; None if both are the stderr of this process.
    """

    def __init__(self, name: str, pid: int, guard: subprocess.Popen[bytes], control: int, log: Path | None) -> None:
        self.name = name
        self.pid = pid
        self.guard_pid = guard.pid
        self.log = log
        self._guard = guard
        self._control: int | None = control
        self._stopping = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the child, or a process that it started, is still running."""
        return self._guard.poll() is None

    @property
    def returncode(self) -> int | None:
        """The exit code of the child: 128 + n for signal n, None while it runs."""
        return self._guard.poll()

    def require_alive(self) -> None:
        """Raise UnavailableError if the child has died."""
        if not self.alive:
            raise UnavailableError(
                f"the {self.name} died with exit code {self.returncode}; {_where(self.log)}, then start again"
            )

    def tail(self, lines: int = 20) -> str:
        """Return the last lines of the log; empty if it is not a file."""
        return tail(self.log, lines) if self.log is not None else ""

    @property
    def log_hint(self) -> str:
        """The end of an error message: where the log is, with its last lines if it is a file."""
        return f"{_where(self.log)}\n{self.tail()}".rstrip("\n")

    def kill(self) -> None:
        """Kill the child with SIGKILL, as a crash would. The guard ends what the child has started."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, deadline: float) -> int:
        """Wait until the child ends by itself.

        Args:
            deadline: seconds from now.

        Raises:
            UnavailableError: the child is still running at the deadline.
        """
        try:
            return self._guard.wait(deadline)
        except subprocess.TimeoutExpired:
            raise UnavailableError(
                f"{self.name} (pid {self.pid}) did not end within {deadline:.0f} s; {_where(self.log)}"
            ) from None

    def stop(self, deadline: float = 10.0) -> None:
        """End the child and all it has started: SIGTERM, then SIGKILL after `deadline` seconds. May be called again."""
        with self._stopping:
            if self._control is not None:
                with contextlib.suppress(BrokenPipeError):
                    os.write(self._control, f"stop {deadline}\n".encode())
                os.close(self._control)
                self._control = None
        try:
            self._guard.wait(deadline + 5.0)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.guard_pid, signal.SIGKILL)
            self._guard.wait(5.0)


def spawn(
    name: str,
    command: Sequence[str],
    *,
    log: Path | None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    grace: float = 10.0,
) -> Process:
    """Start `command` in its own session. Its stdout and stderr are appended to `log`, or go to our stderr.

    Args:
        name: name of the child in error messages.
        command: program and arguments.
        log: file to append to; its folder is created. None takes the stderr of this process.
        env: the whole environment of the child; None takes that of this process.
        cwd: working directory; None takes that of this process.
        grace: seconds between SIGTERM and SIGKILL when this process dies.

    Raises:
        UnavailableError: the guard could not start the command.
    """
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    control_read, control_write = os.pipe()
    try:
        with log.open("ab") if log is not None else nullcontext() as sink:
            guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), str(control_read), str(grace), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=None if env is None else dict(env),
                cwd=cwd,
                pass_fds=[control_read],
                start_new_session=True,
            )
    except BaseException:
        os.close(control_write)
        raise
    finally:
        os.close(control_read)
    try:
        pid = _read_pid(guard)
    except BaseException:
        os.close(control_write)  # the guard treats this as the death of this process
        guard.wait(grace + 5.0)
        raise
    if pid is None:
        os.close(control_write)
        raise UnavailableError(f"{name} could not be started ({command[0]}); {_where(log)}")
    return Process(name, pid, guard, control_write, log)


def _where(log: Path | None) -> str:
    return f"see {log}" if log is not None else "its log is above"


def _read_pid(guard: subprocess.Popen[bytes]) -> int | None:
    assert guard.stdout is not None
    with guard.stdout as pipe:
        end = time.monotonic() + _STARTED_WITHIN
        while (left := end - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                text = pipe.readline().strip()
                return int(text) if text else None
    return None


def tail(log: Path, lines: int = 20) -> str:
    """Return the last lines of a log file; empty when there is no file."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


class RunningServer(ABC):
    """Something with a start and a stop. Its `with` block starts it, and stops it even after an error."""

    @abstractmethod
    def start(self) -> object:
        """Start it."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
