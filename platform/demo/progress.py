"""Shows the progress of the demo: bars in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

#: Seconds between two lines of one stage without a terminal.
_LINE_EVERY = 5.0


class Stage:
    """One stage of the demo.

    Args:
        progress: the bars.
        task: the bar of the stage.
        console: takes the lines without a terminal.
        name: name of the stage.
    """

    def __init__(self, progress: Progress, task: TaskID, console: Console, name: str) -> None:
        self._progress, self._task, self._console, self._name = progress, task, console, name
        self._said = 0.0

    def advance(self) -> None:
        """Count one more as done."""
        self._progress.advance(self._task)

    def show(self, what: str, completed: int) -> None:
        """Show what the stage waits for, and how much is done."""
        self._progress.update(self._task, completed=completed, description=f"{self._name}: {what}")
        if not self._console.is_terminal and time.monotonic() - self._said > _LINE_EVERY:
            self._said = time.monotonic()
            self._console.print(f"{self._name}: {what}")

    def finish(self, what: str) -> None:
        """Show how the stage ended."""
        task = self._progress.tasks[self._task]
        total = task.total or 1
        self._progress.update(self._task, total=total, completed=total, description=f"{self._name}: {what}")
        if not self._console.is_terminal:
            self._console.print(f"{self._name}: {what}")


class Stages:
    """The stages of the demo, one bar each."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    @contextmanager
    def show_bars(self) -> Iterator[Stages]:
        """Show the bars while the block runs."""
        with self._progress:
            yield self

    def begin(self, name: str, total: int | None = None) -> Stage:
        """Return a new stage."""
        if not self._console.is_terminal:
            self._console.print(f"{name} …")
        return Stage(self._progress, self._progress.add_task(name, total=total), self._console, name)
