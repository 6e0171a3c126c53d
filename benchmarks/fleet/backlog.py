"""What waits for each table, as cohorts of objects that arrived together."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

#: When objects arrived, and how many.
Cohort = tuple[float, int]


class Queue:
    """The queue of events: slices of messages, oldest first."""

    def __init__(self) -> None:
        self._slices: deque[tuple[float, npt.NDArray[np.int64]]] = deque()
        self.depth = 0

    def put(self, arrived: float, counts: npt.NDArray[np.int64]) -> None:
        """Add the messages of a slice."""
        if total := int(counts.sum()):
            self._slices.append((arrived, counts))
            self.depth += total

    def take(self, most: int) -> list[tuple[float, npt.NDArray[np.int64]]]:
        """Remove up to `most` messages, oldest first. A slice is divided table by table."""
        taken = []
        while most > 0 and self._slices:
            arrived, counts = self._slices.popleft()
            before = np.cumsum(counts) - counts
            part = np.clip(most - before, 0, counts)
            rest = counts - part
            if rest.any():
                self._slices.appendleft((arrived, rest))
            taken.append((arrived, part))
            most -= int(part.sum())
            self.depth -= int(part.sum())
        return taken


class Inbox:
    """The hints that wait for each table.

    Args:
        tables: number of tables.
    """

    def __init__(self, tables: int) -> None:
        self.hints = np.zeros(tables, np.int64)
        self.since = np.zeros(tables)
        self._cohorts: list[deque[Cohort]] = [deque() for _ in range(tables)]

    def put(self, now: float, arrived: float, counts: npt.NDArray[np.int64]) -> None:
        """Add the hints of a slice, as manifests that are written now."""
        tables = np.flatnonzero(counts)
        self.since[tables] = np.where(self.hints[tables] == 0, now, self.since[tables])
        self.hints[tables] += counts[tables]
        for table, count in zip(tables.tolist(), counts[tables].tolist(), strict=True):
            self._cohorts[table].append((arrived, count))

    def take(self, table: int, now: float, most: int) -> list[Cohort]:
        """Remove up to `most` hints of a table, oldest first. What is left counts as written now."""
        cohorts, taken = self._cohorts[table], []
        while most > 0 and cohorts:
            arrived, count = cohorts.popleft()
            if count > most:
                cohorts.appendleft((arrived, count - most))
                count = most
            taken.append((arrived, count))
            most -= count
        self.hints[table] -= sum(count for _, count in taken)
        self.since[table] = now
        return taken
