"""Keeps a server running: restarts it when it dies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tidegate.platform.core.errors import UnavailableError

_log = logging.getLogger(__name__)


class Server(Protocol):
    """A server that can be supervised."""

    name: str

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    def start(self) -> None:
        """Start the server and wait until it is ready."""

    def stop(self) -> None:
        """Stop the server. Does nothing when it is not running."""


class Supervisor:
    """A thread that restarts a server which has died.

    Restarts in a row wait for longer each time (the back-off doubles). After `max_restarts` of them the supervisor
    gives up. A server that has run for `settled` seconds starts with a new count.

    Attributes:
        restarts: how often the server was restarted.
        failure: why the supervisor gave up; None while it has not.

    Args:
        server: the server, already started.
        on_restart: called after each successful restart.
        max_restarts: restarts in a row before it gives up.
        backoff: seconds before the second restart in a row; the first is immediate.
        max_backoff: longest pause, in seconds.
        settled: seconds after which a running server counts as healthy again.
        poll: seconds between two checks.
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
        self.failure: UnavailableError | None = None
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
        """Stop watching, and stop the server. A restart in progress is interrupted.

        Args:
            deadline: seconds that a restart has to notice that its server is gone.
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
                self.failure = UnavailableError(
                    f"the {self.server.name} died {in_a_row + 1} times in a row and is not restarted: "
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
        _log.warning("the %s died; restarting it", self.server.name)
        try:
            self.server.start()
        except Exception as error:  # also errors of on_ready: the next round tries again
            if not self._stop.is_set():
                _log.error("the %s did not restart: %s", self.server.name, error)
            return
        self.restarts += 1
        if self._on_restart is not None:
            self._on_restart()
