"""The command `tidegate` as a user runs it: a process, its output, and its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.servers.child import ending_with_us
from tidegate.platform.local.process.guard import _descendants

_ROOT = Path(__file__).resolve().parents[3]
_REAL = ("-m", "tidegate.platform.cli.main")
_SMALL = ("-c", "from tests.support.servers.small_server import small_spark; small_spark().start(); "
          "from tidegate.platform.cli.main import main; main()")  # fmt: skip

#: Options for free ports of all servers.
FREE_PORTS = ("--aws-port", "0", "--spark-port", "0")


class CommandProcess:
    """A running command. Leaving the `with` block ends it.

    Args:
        log: file of its output.
        arguments: the command and its arguments.
        small: whether the small server replaces Spark's.
        cwd: the working directory; None for that of the test. As for the installed command, it is not on Python's path.
        python: the Python of an environment that has Tidegate; None for that of the test.
        environ: all variables; None for those of the test.
    """

    def __init__(
        self,
        log: Path,
        *arguments: str,
        small: bool = False,
        cwd: Path | None = None,
        python: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._log, self._name = log, arguments[0]
        given = os.environ if environ is None else environ
        with log.open("w") as sink:
            self._process = subprocess.Popen(
                ending_with_us(python or sys.executable, "-P", *(_SMALL if small else _REAL), *arguments),
                stdout=sink,
                stderr=sink,
                env={**given, "PYTHONUNBUFFERED": "1", **({"PYTHONPATH": str(_ROOT)} if small else {})},
                cwd=cwd,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """Its output so far."""
        return self._log.read_text()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait_for(self, pattern: str, deadline: float) -> re.Match[str]:
        """Wait until its output matches the pattern.

        Raises:
            AssertionError: it ended, or the deadline passed. The message has the output's end.
        """
        end = time.monotonic() + deadline
        while True:
            alive = self.running  # checked before the output is read, so that the last output is read too
            if found := re.search(pattern, self.output):
                return found
            if not alive or time.monotonic() > end:
                what = "in time" if alive else f"before it ended with {self._process.returncode}"
                raise AssertionError(f"the {self._name} did not print {pattern!r} {what}:\n{self.output[-3000:]}")
            time.sleep(0.3)

    def below(self) -> dict[int, list[str]]:
        """Return every process below it: arguments by process id."""
        found = {}
        for pid in _descendants(self._process.pid):
            with suppress(FileNotFoundError):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        return found

    def exit_code(self, deadline: float) -> int:
        """Wait for its end. Returns its exit code."""
        return self._process.wait(deadline)

    def end(self, number: signal.Signals = signal.SIGINT, deadline: float = 60.0) -> int:
        """Send a signal, by default Ctrl-C. Returns the exit code."""
        self._process.send_signal(number)
        return self.exit_code(deadline)

    def kill(self) -> None:
        """Kill it with SIGKILL, like a power cut."""
        self._process.kill()
        self._process.wait(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.running:
            try:
                self.end()
            except subprocess.TimeoutExpired:
                self.kill()
