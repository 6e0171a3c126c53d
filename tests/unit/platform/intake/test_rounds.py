"""What a process that drains the queues does when rounds fail, and when it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.support.lakes.objects import Objects
from tests.unit.platform.intake.test_fair_drain import DEADLINE, LAKE, Dead, Sqs
from tidegate.platform.cli.commands import intake as command
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.intake import rounds
from tidegate.platform.intake import tick as intake_tick
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.rounds import IntakeRounds
from tidegate.platform.intake.tick import follow_processes
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.local.process.health import ServerHealth


def lake_of(*clients: Sqs, seconds: float = 20.0) -> Any:
    config = LAKE.model_copy(update={"intake": LAKE.intake.model_copy(update={"threads": 1, "seconds": seconds})})
    queues = [Queue(client, f"https://sqs/1/{client.name}") for client in clients]  # type: ignore[arg-type]
    return SimpleNamespace(config=config, queues=queues, store=LakeStore(Objects(), "s3://lake/root"))  # type: ignore[arg-type]


class Busy(Sqs):
    """Has messages for ever. The second receive sets an event."""

    def __init__(self, ended: threading.Event) -> None:
        super().__init__("busy")
        self.ended = ended

    def receive_message(self, **given: Any) -> dict[str, Any]:
        self.left += 10
        if self.asked["receive"] == 1:
            self.ended.set()
        time.sleep(0.01)
        return super().receive_message(**given)


def test_a_process_that_should_end_receives_nothing_more_and_deletes_what_it_has_stored() -> None:
    """A container is killed half a minute after its signal, and a round of a busy queue may take longer."""
    ended = threading.Event()
    busy = Busy(ended)
    before = time.monotonic()
    IntakeRounds(lambda: lake_of(busy, seconds=50.0), ServerHealth(), lambda _: None).run(ended)
    assert time.monotonic() - before < 10
    assert busy.asked["receive"] == 2
    assert busy.deleted == 20


def test_a_queue_that_fails_for_ever_does_not_have_the_others_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_PAUSE", 0.0)
    health, said = ServerHealth(), list[str]()
    some = IntakeRounds(lambda: lake_of(Dead("ill"), Sqs("well")), health, said.append)
    some._take_in(threading.Event())
    noted = health._answered
    assert noted is not None, "a queue was drained"
    assert "queue ill could not be drained" in health.readiness()
    nobody = IntakeRounds(lambda: lake_of(Dead("ill")), health, said.append)
    nobody._take_in(threading.Event())
    assert health._answered == noted


def test_a_process_whose_rounds_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log may be a pipe that nobody reads: then it drains nothing, and must not look as if it did."""
    lake = lake_of(Sqs("one"))
    settings = SimpleNamespace(lake_yaml=Path("lake.yaml"))
    monkeypatch.setattr(command, "client", lambda *_: SimpleNamespace(settings=settings))
    monkeypatch.setattr(command, "CurrentLake", lambda _: SimpleNamespace(open=lambda: lake))
    monkeypatch.setattr(IntakeRounds, "run", lambda *_: None)
    timer = threading.Timer(DEADLINE / 3, lambda: os.kill(os.getpid(), signal.SIGTERM))  # only if the test fails
    timer.start()
    with pytest.raises(UnavailableError, match="the intake has ended"):
        command.run_intake(Console(file=StringIO()), None, None, "127.0.0.1", 0)
    timer.cancel()


def test_events_that_wait_are_released_when_no_process_works_in_the_last_day_any_more() -> None:
    asked: list[float] = []
    held = SimpleNamespace(release=lambda _, now: asked.append(now) or [])
    lake = lake_of()
    assert follow_processes(lake, "", held) == ("", IntakeResult())  # type: ignore[arg-type]
    assert asked[0] < time.time() - intake_tick.DRAIN_SECONDS - intake_tick.TICK_SECONDS
