"""Bronze runs, silver merges and exports that die or stop between two steps, in a thread of the test's own process.

A seam is between two steps, where a run has nothing open. So an exception there has the effect of a process death:
`Watched.dies_at` compares every object of the lake before and after. Other tests use real SIGKILLs and SIGSTOPs
(`client.py`), which cost a process and a Spark session each.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pytest

from tests.support.servers.client import DEADLINE
from tidegate.platform.bronze import publish, record, run
from tidegate.platform.silver import export, merge

_here = threading.local()


class Died(BaseException):
    """The death of a run. No code of Tidegate catches it, as no code can catch SIGKILL."""


@contextmanager
def seams_watched() -> Iterator[None]:
    """Let threads define, while the block lasts, what happens at their seams."""
    original = run.seam  # type: ignore[attr-defined]

    def seam(name: str) -> None:
        action: Callable[[str], None] = getattr(_here, "action", original)
        action(name)

    with ExitStack() as patches:
        for module in (run, publish, record, merge, export):
            patches.enter_context(patch.object(module, "seam", seam))
        yield


@contextmanager
def doing(action: Callable[[str], None]) -> Iterator[None]:
    """Call `action`, while the block lasts, with the name of each seam that this thread reaches."""
    _here.action = action
    try:
        yield
    finally:
        del _here.action


@contextmanager
def dying_at(seam: str, last: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Yield the block's run dies at a seam, which it must reach. `last` is called right before."""

    def die(name: str) -> None:
        if name == seam:
            last()
            raise Died(name)

    with pytest.raises(Died), doing(die):
        yield


@contextmanager
def dying_in(module: object, seam: str) -> Iterator[None]:
    """Yield the block's operation dies at a seam of a module, which it must reach."""

    def die(name: str) -> None:
        if name == seam:
            raise Died(name)

    with pytest.raises(Died), patch.object(module, "seam", die):
        yield


class Standing:
    """A run that is stopped at a seam until it is resumed.

    Args:
        seam: the seam.
        work: the run.
    """

    def __init__(self, seam: str, work: Callable[[], object]) -> None:
        self._seam, self._work = seam, work
        self._reached, self._go = threading.Event(), threading.Event()
        self._abandoned = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait_reached(self) -> None:
        """Wait until the run is stopped. Fails if it ended instead."""
        end = time.monotonic() + DEADLINE
        while not self._reached.wait(0.05) and self._thread.is_alive() and time.monotonic() < end:
            pass
        assert self._reached.is_set(), f"seam {self._seam} was not reached: {self._error!r}"

    def resume(self) -> None:
        """Let the run continue."""
        self._go.set()

    def wait_ended(self) -> None:
        """Wait for the end of the run, successful or not."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), f"the run that stood at {self._seam} is still running"

    def finished(self) -> None:
        """Wait for the end of the run, which must be successful."""
        self.wait_ended()
        if self._error:
            raise self._error

    def abandon(self) -> None:
        """Let the run die at its seam."""
        self._abandoned = True
        self._go.set()
        self.wait_ended()

    def _run(self) -> None:
        try:
            with doing(self._stand):
                self._work()
        except BaseException as error:
            self._error = error

    def _stand(self, name: str) -> None:
        if name == self._seam and not self._reached.is_set():
            self._reached.set()
            if not self._go.wait(3 * DEADLINE) or self._abandoned:
                raise Died(name)
