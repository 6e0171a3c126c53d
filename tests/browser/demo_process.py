"""`tidegate demo` as a user runs it: a process, its output, its report."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from tests.child import end_with_parent


class DemoProcess:
    """A running demo.

    Args:
        home: its state.
        arguments: further arguments.
    """

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home, self.report_path = home, home.parent / f"report-{time.monotonic_ns()}.json"
        self._log = home.parent / f"demo-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "tidegate.platform.cli.main", "demo", "--home", str(home), "--report"]
        ports = ["--aws-port", "0", "--spark-port", "0", "--ui-port", "0"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, str(self.report_path), *ports, *arguments], stdout=log, stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True, preexec_fn=end_with_parent,
            )  # fmt: skip

    @property
    def output(self) -> str:
        """What it has printed."""
        return self._log.read_text()

    def wait_for(self, pattern: str, deadline: float) -> re.Match[str]:
        """Wait until its output has the pattern.

        Raises:
            AssertionError: it ended, or the deadline passed; with the output's end.
        """
        end = time.monotonic() + deadline
        while not (found := re.search(pattern, self.output)):
            alive = self._process.poll() is None
            if not alive or time.monotonic() > end:
                what = "in time" if alive else f"before it ended with {self._process.returncode}"
                raise AssertionError(f"the demo did not print {pattern!r} {what}:\n{self.output[-3000:]}")
            time.sleep(0.3)
        return found

    def report(self, deadline: float) -> dict[str, Any]:
        """Its report, once it is written.

        Raises:
            AssertionError: it ended without one, or the deadline passed.
        """
        end = time.monotonic() + deadline
        while not self.report_path.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"the demo wrote no report:\n{self.output[-3000:]}")
            time.sleep(0.5)
        time.sleep(0.5)
        found: dict[str, Any] = json.loads(self.report_path.read_text())
        return found

    def exit_code(self, deadline: float) -> int:
        """Its exit code, once it has ended."""
        return self._process.wait(deadline)

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self._process.kill()
        self._process.wait(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
