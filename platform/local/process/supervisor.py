"""Keeps a server running: starts it again when it dies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tidegate.platform.local.errors import LocalStackError

_log = logging.getLogger(__name__)


class Server(Protocol):
    """What can be supervised."""

    name: str

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    def start(self) -> None:
        """Start it and wait until it is ready."""

    def stop(self) -> None:
        """Stop it; does nothing when it is not running."""


class Supervisor:
    """A thread that restarts a server which has died.

    Starts that follow each other too fast are spaced out (back-off, doubled each time), and after
    `max_restarts` of them it gives up; a server that has run for `settled` seconds has its count forgiven.

    Attributes:
        restarts: How often the server was brought back.
        failure: Why the supervisor gave up, None while it has not.

    Args:
        server: The server, already started.
        on_restart: Called after each successful restart.
        max_restarts: Restarts in a row before it gives up.
        backoff: Seconds before the second restart in a row; the first is immediate.
        max_backoff: Longest pause, in seconds.
        settled: Seconds after which a running server counts as healthy again.
        poll: Seconds between two looks.
    """

    def __init__(
        self,
        server: Server,
        *,
        on_restart: Callable[[], None] | None = None,
        max_restarts: int = 5,
        backoff: float = 1.0,
        max_backoff: float = 30.0,
        settled: float = 60.0,
        poll: float = 0.25,
    ) -> None:
        self.server = server
        self.restarts = 0
        self.failure: LocalStackError | None = None
        self._on_restart = on_restart
        self._max_restarts = max_restarts
        self._backoff = backoff
        self._max_backoff = max_backoff
        self._settled = settled
        self._poll = poll
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"supervise {server.name}", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self, deadline: float = 30.0) -> None:
        """Stop watching; a restart that is under way is cut short. The server is stopped too.

        Args:
            deadline: Seconds that a restart gets to notice that its server has gone.
        """
        self._stop.set()
        end = time.monotonic() + deadline
        while self._thread.is_alive() and time.monotonic() < end:
            self.server.stop()
            self._thread.join(0.2)
        self.server.stop()

    def _watch(self) -> None:
        in_a_row, since = 0, time.monotonic()
        while not self._stop.wait(self._poll):
            if self.server.alive:
                if time.monotonic() - since > self._settled:
                    in_a_row = 0
                continue
            if in_a_row >= self._max_restarts:
                self.failure = LocalStackError(
                    f"the {self.server.name} died {in_a_row + 1} times in a row and is not started again: "
                    "see its log, then stop and start the local platform"
                )
                _log.error("%s", self.failure)
                return
            if self._stop.wait(self._pause(in_a_row)):
                return
            in_a_row += 1
            self._restart()
            since = time.monotonic()

    def _pause(self, in_a_row: int) -> float:
        return 0.0 if in_a_row == 0 else min(self._backoff * 2.0 ** (in_a_row - 1), self._max_backoff)

    def _restart(self) -> None:
        _log.warning("the %s died; starting it again", self.server.name)
        try:
            self.server.start()
        except Exception as error:  # whatever on_ready raises as well: the next round tries again
            if not self._stop.is_set():
                _log.error("the %s did not come back: %s", self.server.name, error)
            return
        self.restarts += 1
        if self._on_restart is not None:
            self._on_restart()
