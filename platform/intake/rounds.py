"""Drains the queues of a lake round after round, as one of several processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from tidegate.platform.core.wording import first_line, number_of
from tidegate.platform.intake.fair_drain import QueueOrder
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.tick import take_in
from tidegate.platform.lake.lake import Lake

#: Seconds that a round waits for a first message, and before the next round if this one failed.
_PATIENCE, _PAUSE = 4, 2.0


class Health(Protocol):
    """Takes what an orchestrator asks for."""

    def note_answer(self) -> None:
        """Note that queues were drained."""

    def note_trouble(self, why: str) -> None:
        """Note why nothing is taken in now."""


class IntakeRounds:
    """The rounds of one process.

    Any number of processes may drain one lake: SQS gives a message to one of them, and a message that two have taken in
    is a hint that comes twice. Discovery may exceed `per_day` by what the other processes discover in the same seconds.

    Args:
        open_lake: returns the lake by its present configuration. Called before each round.
        health: takes how the rounds end.
        say: takes a line for people.
    """

    def __init__(self, open_lake: Callable[[], Lake], health: Health, say: Callable[[str], None]) -> None:
        self._open_lake, self._health, self._say = open_lake, health, say
        self._order, self._said = QueueOrder(), ""

    def run(self, ended: threading.Event) -> None:
        """Drain until the event is set. What a round has received then is stored first.

        Errors of a round end no other one.
        """
        while not ended.is_set():
            try:
                taken = self._take_in(ended)
            except Exception as error:  # of S3 or the configuration: all messages are still in their queues
                self._note_trouble(f"{type(error).__name__}: {first_line(error)}")
                ended.wait(_PAUSE)
            else:
                if taken.failures:
                    ended.wait(_PAUSE)

    def _take_in(self, ended: threading.Event) -> IntakeResult:
        lake = self._open_lake()
        taken = take_in(lake, patience=_PATIENCE, order=self._order, ended=ended)
        if taken.received:
            tables, without = number_of(len(taken.hints), "table"), sum(taken.counters.values())
            self._say(f"received {number_of(taken.received, 'event')}, for {tables}; {without} of them no table's")
        for line in taken.left:
            self._say(line)
        troubles = [f"queue {name} could not be drained: {first_line(error)}" for name, error in taken.failures.items()]
        if len(troubles) < len(lake.queues):
            self._health.note_answer()  # To start again would not help the others.
        if troubles:
            self._note_trouble("; ".join(troubles))
        else:
            self._said = ""
        return taken

    def _note_trouble(self, why: str) -> None:
        self._health.note_trouble(why)
        if why != self._said:
            self._say(why)
        self._said = why
