"""What waits for each table, as cohorts of objects that arrived together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from benchmarks.fleet.rules import Rules

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

    def add(self, table: int, since: float, cohorts: Iterable[Cohort]) -> None:
        """Add the hints of a table that were gathered since a time."""
        self.since[table] = min(since, self.since[table]) if self.hints[table] else since
        for cohort in cohorts:
            self.hints[table] += cohort[1]
            self._cohorts[table].append(cohort)

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


class Gathered:
    """The hints that are gathered for each table, until they are dealt to the inbox.

    `may_wait` and `deal_time` of the intake decide the same for one table after another. A test compares both.

    Args:
        windows: the window of each table.
        rules: the rules.
    """

    def __init__(self, windows: npt.NDArray[np.float64], rules: Rules) -> None:
        self._rules = rules
        self.hints = np.zeros(len(windows), np.int64)
        self._since, self._deal_at = np.zeros(len(windows)), np.zeros(len(windows))
        self._cohorts: list[list[Cohort]] = [[] for _ in windows]
        is_late = windows - np.minimum(windows, rules.every) / 2 > rules.every  # shortest_wait
        self._can_wait = (windows >= rules.min_window) & is_late
        self.cycle = np.maximum(windows, 1) / np.ceil(np.maximum(windows, 1) / rules.gathered_seconds)
        self.phase = np.arange(len(windows)) % rules.phases * self.cycle / rules.phases

    def waiting_part(self, of_table: npt.NDArray[np.int64], chunks: int) -> npt.NDArray[np.bool_]:
        """Return which tables are gathered of what some chunks have brought."""
        return self._can_wait & (of_table * self._rules.batch_parts <= self._rules.max_files * chunks)

    def put(self, now: float, arrived: float, counts: npt.NDArray[np.int64]) -> None:
        """Add the hints of a slice."""
        tables = np.flatnonzero(counts)
        fresh = tables[self.hints[tables] == 0]
        self._since[fresh], self._deal_at[fresh] = now, self.deal_times(now)[fresh]
        self.hints[tables] += counts[tables]
        for table, count in zip(tables.tolist(), counts[tables].tolist(), strict=True):
            self._cohorts[table].append((arrived, count))

    def deal_times(self, now: float) -> npt.NDArray[np.float64]:
        """Return when what is gathered now is dealt, of each table."""
        return np.floor(now + self.cycle - (now - self.phase) % self.cycle)

    def deal(self, now: float, inbox: Inbox) -> int:
        """Move what is due to the inbox. Returns the number of manifests."""
        due = np.flatnonzero((self.hints > 0) & (self._deal_at <= now + self._rules.every / 2)).tolist()
        for table in due:
            inbox.add(table, self._since[table], self._cohorts[table])
            self.hints[table], self._cohorts[table] = 0, []
        return len(due)
