"""What an orchestrator learns of a Spark server over its life."""

from __future__ import annotations

import pytest

from tidegate.platform.local.spark.health import ServerHealth


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
