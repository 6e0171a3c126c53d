"""A team with a pipeline of its own: the consumer of examples/, as a process, which prints a line for each object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.local.process.process import Process, spawn


class ConsumerProcess:
    """Runs `consumer.py` on a queue until it is stopped.

    Args:
        url: the queue.
        home: folder of the demo; the log is below it.
        environ: environment of the process, with the AWS settings.
    """

    def __init__(self, url: str, home: Path, environ: Mapping[str, str]) -> None:
        self._url, self._home, self._environ = url, home, environ
        self.log = home / "logs" / "consumer.log"
        self._process: Process | None = None

    def start(self) -> None:
        """Start the process."""
        program = Path(__file__).with_name("consumer.py")
        self._process = spawn(
            "consumer", [sys.executable, str(program), self._url], log=self.log, env=self._environ, cwd=self._home
        )

    def stop(self) -> None:
        """End the process after the message that it works on."""
        if self._process is not None:
            self._process.stop()

    def processed(self) -> dict[str, set[str]]:
        """Returns the keys of the objects that it processed, by event type.

        Raises:
            ValueError: an object was processed twice.
        """
        found: dict[str, set[str]] = {}
        for line in self.log.read_text().splitlines():
            if line.startswith("{"):
                done = json.loads(line)
                keys = found.setdefault(done["type"], set())
                if done["key"] in keys:
                    raise ValueError(f"the consumer processed {done['key']} twice")
                keys.add(done["key"])
        return found
