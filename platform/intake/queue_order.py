"""The order in which a tick serves its queues, and which of them are served separately because they failed."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class QueueOrder:
    """What a process knows of the queues from earlier ticks.

    It is not in the cursor: a tick that fails stores none, and a new process should treat every queue as healthy.
    """

    def __init__(self) -> None:
        self._first = ""
        self._troubled: list[str] = []

    def healthy(self, names: Sequence[str]) -> list[str]:
        """Return the queues without a failure, beginning with those that the last tick did not reach."""
        start = names.index(self._first) if self._first in names else 0
        return [name for name in (*names[start:], *names[:start]) if name not in self._troubled]

    def troubled(self, names: Sequence[str]) -> list[str]:
        """Return the queues that failed at their last receive, least recently tried first."""
        return [name for name in self._troubled if name in names]

    def note(self, unreached: Sequence[str], failed: Collection[str], well: Collection[str]) -> None:
        """Record the outcome of a tick.

        Args:
            unreached: healthy queues for which no time was left, in order.
            failed: queues that failed or did not answer in time.
            well: queues that were drained.
        """
        self._first = unreached[0] if unreached else ""
        before = [name for name in self._troubled if name not in failed and name not in well]
        self._troubled = [*before, *failed]
