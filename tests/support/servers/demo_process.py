"""`tidegate demo`, or `tidegate demo events`, as a user runs it: a process, its output, its report."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from tests.support.servers.command_process import FREE_PORTS, CommandProcess


class DemoProcess(CommandProcess):
    """A running demo.

    Args:
        home: folder of its state. The demo gets it relative to the folder that it runs in, as its default is.
        arguments: further arguments.
        demo: name of the demo; empty for the one that has none.
    """

    def __init__(self, home: Path, *arguments: str, demo: str = "") -> None:
        self.home, self.report_path = home, home.parent / f"report-{time.monotonic_ns()}.json"
        log = home.parent / f"demo-{time.monotonic_ns()}.log"
        where = ("--home", os.path.relpath(home), "--report", str(self.report_path), *FREE_PORTS, "--ui-port", "0")
        super().__init__(log, "demo", *([demo] if demo else []), *where, *arguments)

    def report(self, deadline: float) -> dict[str, Any]:
        """Wait for its report.

        Raises:
            AssertionError: it ended without a report, or the deadline passed.
        """
        end = time.monotonic() + deadline
        while not self.report_path.exists():
            if not self.running or time.monotonic() > end:
                raise AssertionError(f"the demo wrote no report:\n{self.output[-3000:]}")
            time.sleep(0.5)
        time.sleep(0.5)
        found: dict[str, Any] = json.loads(self.report_path.read_text())
        return found
