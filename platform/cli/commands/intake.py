"""`tidegate intake` drains the queues of a lake, as one of several processes."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from rich.console import Console

from tidegate.platform.cli.environment import client
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.wording import number_of
from tidegate.platform.intake.current_lake import CurrentLake
from tidegate.platform.intake.rounds import IntakeRounds
from tidegate.platform.local.process.health import HealthPages, ServerHealth
from tidegate.platform.local.process.signals import wait_for_signal

#: Seconds after a signal within which a round may end. Containers are killed after thirty.
_GRACE = 25.0


def run_intake(console: Console, lake: Path | None, home: Path | None, health_host: str, health_port: int) -> None:
    """Drain the queues until a signal.

    Args:
        console: takes the lines of the log.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform.
        health_host: address of `/readyz` and `/livez`.
        health_port: port of `/readyz` and `/livez`, 0 for a free one.

    Raises:
        ConfigurationError: the lake.yaml is wrong, or lets the sensor drain the queues.
        UnavailableError: the port is in use, or nothing is drained any more.
    """
    settings = client(home, lake).settings
    health, ended = ServerHealth(), threading.Event()

    def say(line: str) -> None:
        print(line, file=console.file, flush=True)

    current = CurrentLake(settings)
    config = current.open().config
    rounds = IntakeRounds(current.open, health, say)
    worker = threading.Thread(target=rounds.run, args=(ended,), name="intake", daemon=True)

    def require_worker() -> None:
        if not worker.is_alive():
            raise UnavailableError("the intake has ended by an error, which is above: start it again")

    pages = HealthPages(health, health_host, health_port)
    with pages:
        say(f"draining {number_of(len(config.every_queue), 'queue')} (process {os.getpid()})")
        say(f"health on http://localhost:{pages.port}/readyz and /livez")
        worker.start()
        try:
            number = wait_for_signal(require_worker)
            say(f"stopped by signal {number}")
        finally:
            ended.set()
            worker.join(_GRACE)
