"""The outcome of a simulation."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.fleet.backlog import Cohort


@dataclass
class Outcome:
    """What happened.

    Attributes:
        seconds: for how long objects arrived.
        arrived: how many objects arrived.
        cores: mean of the cores that runs and the intake used while objects arrived.
        runs: runs that started.
        at_work: seconds of all runs, from start to end.
        batches: batches that were committed.
        spans: of each batch its table, its beginning and its end, one after the other.
        manifests: objects with manifests that the intake wrote: to the inbox, or gathered, and those that were dealt.
        ticks: ticks of the intake.
        depth: of each tick its time, and the messages that waited before it.
        depth_at_end: the messages that waited when the last object arrived.
        hints: of each tick the hints that waited in the inbox after it.
        flight: the most messages that were in flight.
        queued: of each tick the runs that waited or were at work after it.
    """

    seconds: float
    arrived: int = 0
    cores: float = 0.0
    runs: int = 0
    at_work: float = 0.0
    batches: int = 0
    spans: array[float] = field(default_factory=partial(array, "d"))
    manifests: int = 0
    ticks: int = 0
    depth: list[tuple[float, int]] = field(default_factory=list)
    depth_at_end: int = 0
    hints: list[int] = field(default_factory=list)
    flight: int = 0
    queued: list[int] = field(default_factory=list)
    # A cohort in four numbers instead of tuples: a fleet of a day has tens of millions of cohorts.
    _tables: array[int] = field(default_factory=partial(array, "i"))
    _arrived: array[float] = field(default_factory=partial(array, "d"))
    _lags: array[float] = field(default_factory=partial(array, "d"))
    _counts: array[int] = field(default_factory=partial(array, "i"))

    def commit(self, table: int, begun: float, now: float, cohorts: Iterable[Cohort]) -> None:
        """Record a batch."""
        self.batches += 1
        self.spans.extend((table, begun, now))
        for arrived, count in cohorts:
            self._tables.append(table)
            self._arrived.append(arrived)
            self._lags.append(now - arrived)
            self._counts.append(count)

    @property
    def cohorts(self) -> Iterator[tuple[float, float, int]]:
        """Of each committed cohort when it arrived, its seconds to visible, and its objects."""
        return zip(self._arrived, self._lags, self._counts, strict=True)

    @property
    def committed(self) -> int:
        """How many objects were committed."""
        return sum(self._counts)

    @property
    def runs_a_minute(self) -> float:
        """Runs that started, for each minute in which objects arrived."""
        return self.runs / self.seconds * 60

    def freshness(self, tables: Iterable[int] | None = None) -> tuple[float, float, float]:
        """Return seconds from arrival to visible: median, 95th of 100, and the longest, of all objects of tables."""
        lags, counts = np.asarray(self._lags), np.asarray(self._counts)
        if tables is not None:
            chosen = np.isin(self._tables, list(tables))
            lags, counts = lags[chosen], counts[chosen]
        return quantiles(lags, counts) if len(lags) else (0.0, 0.0, 0.0)

    def by_table(self) -> dict[int, tuple[float, float, float]]:
        """Return the freshness of each table that got objects."""
        return dict(self._grouped(np.asarray(self._tables, np.int64)))

    def over_time(self, step: float) -> list[tuple[float, float]]:
        """Return by time of arrival the 95th of 100 of the seconds to visible."""
        groups = self._grouped((np.asarray(self._arrived) // step).astype(np.int64))
        return [(float((group + 0.5) * step), lags[1]) for group, lags in groups]

    def _grouped(self, groups: npt.NDArray[np.int64]) -> Iterator[tuple[int, tuple[float, float, float]]]:
        """Yield each group of cohorts and its freshness, by number."""
        lags, counts = np.asarray(self._lags), np.asarray(self._counts)
        order = np.argsort(groups, kind="stable")
        edges = np.flatnonzero(np.diff(groups[order])) + 1
        for places in np.split(order, edges):
            if len(places):
                yield int(groups[places[0]]), quantiles(lags[places], counts[places])


def quantiles(values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> tuple[float, float, float]:
    """Return median, 95th of 100 and maximum of values with their counts."""
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(counts[order])
    places = np.searchsorted(reached, np.array([0.5, 0.95]) * reached[-1])
    return float(values[places[0]]), float(values[places[1]]), float(values[-1])
