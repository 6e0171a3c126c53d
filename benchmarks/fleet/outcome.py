"""The outcome of a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
        spans: of each batch its table, its beginning and its end.
        manifests: manifests that the intake wrote.
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
    spans: list[tuple[int, float, float]] = field(default_factory=list)
    manifests: int = 0
    ticks: int = 0
    depth: list[tuple[float, int]] = field(default_factory=list)
    depth_at_end: int = 0
    hints: list[int] = field(default_factory=list)
    flight: int = 0
    queued: list[int] = field(default_factory=list)
    _lags: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    _visible: list[tuple[float, float, int]] = field(default_factory=list)

    def commit(self, table: int, begun: float, now: float, cohorts: Iterable[Cohort]) -> None:
        """Record a batch."""
        self.batches += 1
        self.spans.append((table, begun, now))
        lags = self._lags.setdefault(table, [])
        for arrived, count in cohorts:
            lags.append((now - arrived, count))
            self._visible.append((arrived, now - arrived, count))

    @property
    def committed(self) -> int:
        """How many objects were committed."""
        return sum(count for lags in self._lags.values() for _, count in lags)

    @property
    def runs_a_minute(self) -> float:
        """Runs that started, for each minute in which objects arrived."""
        return self.runs / self.seconds * 60

    def freshness(self, tables: Iterable[int] | None = None) -> tuple[float, float, float]:
        """Returns seconds from arrival to visible: median, 95th of 100, and the longest, of all objects of tables."""
        chosen = self._lags if tables is None else [table for table in tables if table in self._lags]
        lags = [lag for table in chosen for lag in self._lags[table]]
        return quantiles(lags) if lags else (0.0, 0.0, 0.0)

    def by_table(self) -> dict[int, tuple[float, float, float]]:
        """Returns the freshness of each table that got objects."""
        return {table: quantiles(lags) for table, lags in self._lags.items()}

    def over_time(self, step: float) -> list[tuple[float, float]]:
        """Returns by time of arrival the 95th of 100 of the seconds to visible."""
        times = np.array([arrived for arrived, _, _ in self._visible])
        bins: npt.NDArray[np.int64] = (times // step).astype(np.int64)
        order = np.argsort(bins, kind="stable")
        edges = np.flatnonzero(np.diff(bins[order])) + 1
        return [
            (
                float((bins[group[0]] + 0.5) * step),
                quantiles([self._visible[n][1:] for n in group.tolist()])[1],
            )
            for group in np.split(order, edges)
            if len(group)
        ]


def quantiles(lags: Sequence[tuple[float, int]]) -> tuple[float, float, float]:
    """Returns median, 95th of 100 and maximum of values with their counts."""
    values, counts = np.array([lag for lag, _ in lags]), np.array([count for _, count in lags])
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(counts[order])
    places = np.searchsorted(reached, np.array([0.5, 0.95]) * reached[-1])
    return float(values[places[0]]), float(values[places[1]]), float(values[-1])
