"""Which queue of a tick is served first, and which apart from the others, for it was in trouble lately."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class QueueOrder:
    """What a process remembers of the queues from tick to tick.

    In no cursor: a tick that fails keeps none, and a process that begins anew should ask every queue as if it was well.
    """

    def __init__(self) -> None:
        self._first = ""
        self._troubled: list[str] = []

    def healthy(self, names: Sequence[str]) -> list[str]:
        """The queues that answered when they were asked last, those first that were not reached then."""
        start = names.index(self._first) if self._first in names else 0
        return [name for name in (*names[start:], *names[:start]) if name not in self._troubled]

    def troubled(self, names: Sequence[str]) -> list[str]:
        """The queues that failed when they were asked last, the one first that was asked the longest ago."""
        return [name for name in self._troubled if name in names]

    def note(self, unreached: Sequence[str], failed: Collection[str], well: Collection[str]) -> None:
        """What became of a tick's queues.

        Args:
            unreached: healthy queues that were not asked for want of time, in order.
            failed: queues that failed, or did not answer in time.
            well: queues that did.
        """
        self._first = unreached[0] if unreached else ""
        before = [name for name in self._troubled if name not in failed and name not in well]
        self._troubled = [*before, *failed]
