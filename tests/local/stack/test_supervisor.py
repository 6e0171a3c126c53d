"""A dead server is restarted, but not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.process.supervisor import Supervisor


class Fake:
    """A server that dies on demand, and may fail to restart."""

    def __init__(self, fails: int = 0, hangs: bool = False) -> None:
        self.name = "fake server"
        self.running = True
        self.starts: list[float] = []
        self.fails = fails
        self.hangs = hangs
        self.stopped = threading.Event()

    @property
    def alive(self) -> bool:
        return self.running

    def start(self) -> None:
        self.starts.append(time.monotonic())
        if self.hangs:
            self.stopped.wait(20)
            raise UnavailableError("its process is gone")
        if self.fails:
            self.fails -= 1
            raise UnavailableError("not today")
        self.running = True

    def stop(self) -> None:
        self.running = False
        self.stopped.set()


def test_a_dead_server_is_restarted_and_counted(until: Callable[..., bool]) -> None:
    server, restarted = Fake(), threading.Event()
    supervisor = Supervisor(server, on_restart=restarted.set, poll=0.01)
    supervisor.start()
    try:
        server.running = False
        assert restarted.wait(5)
        assert supervisor.restarts == 1
        assert server.running
    finally:
        supervisor.stop()
    assert not server.running


def test_restarts_back_off_and_end(until: Callable[..., bool]) -> None:
    server = Fake(fails=99)
    supervisor = Supervisor(server, max_restarts=4, backoff=0.1, max_backoff=0.2, poll=0.01)
    supervisor.start()
    server.running = False
    try:
        assert until(lambda: supervisor.failure is not None)
        assert "is not restarted" in str(supervisor.failure)
        assert len(server.starts) == 4
        pauses = [b - a for a, b in zip(server.starts, server.starts[1:], strict=False)]
        assert pauses[0] >= 0.1
        assert all(0.19 <= pause < 1 for pause in pauses[1:])
        assert supervisor.restarts == 0
    finally:
        supervisor.stop()


def test_a_server_that_runs_for_long_is_forgiven(until: Callable[..., bool]) -> None:
    server = Fake()
    supervisor = Supervisor(server, max_restarts=1, settled=0.05, poll=0.01)
    supervisor.start()
    try:
        for count in (1, 2, 3):
            time.sleep(0.1)
            server.running = False
            assert until(lambda count=count: supervisor.restarts == count)
        assert supervisor.failure is None
    finally:
        supervisor.stop()


def test_stop_cuts_a_restart_short() -> None:
    server = Fake(hangs=True)
    supervisor = Supervisor(server, poll=0.01)
    supervisor.start()
    server.running = False
    time.sleep(0.2)
    assert server.starts
    began = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - began < 5
