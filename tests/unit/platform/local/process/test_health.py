"""What an orchestrator learns of a Spark server over its life."""

from __future__ import annotations

import socket
import urllib.request
from contextlib import ExitStack

import pytest

from tidegate.platform.local.process.health import MAX_CONNECTIONS, HealthPages, ServerHealth


def test_a_server_is_ready_when_it_answers_and_dead_after_two_silent_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    health = ServerHealth()
    now = 1000.0
    assert (health.readiness(), health.liveness()) == ("the server is starting", ""), "a start has its own deadline"
    health.note_answer()
    assert (health.readiness(), health.liveness()) == ("", "")
    now += 119
    health.note_trouble("no answer")
    assert (health.readiness(), health.liveness()) == ("no answer", "")
    now += 2
    assert health.liveness() == "no answer for 121 s: no answer"
    health.note_answer()
    assert (health.readiness(), health.liveness()) == ("", "")


def test_connections_that_say_nothing_keep_no_probe_out() -> None:
    health = ServerHealth()
    health.note_answer()
    with HealthPages(health, "127.0.0.1", 0) as pages, ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", pages.port), 3))
            for _ in range(MAX_CONNECTIONS + 8)
        ]
        with urllib.request.urlopen(f"http://127.0.0.1:{pages.port}/readyz", timeout=5) as answer:
            assert answer.read() == b"ok\n"
        # The oldest were ended for the others, and the newest still waits. A silent client would have ten seconds.
        assert silent[0].recv(1) == b""
        silent[-1].sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert silent[-1].recv(100).startswith(b"HTTP/1.0 200")
