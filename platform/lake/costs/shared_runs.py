"""How many tables each run has recorded a batch of: a run is paid for by all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

#: Hashes of IDs of runs. A number of an array takes eight bytes: a lake has millions of runs in a month.
Runs = npt.NDArray[np.int64]


class SharedRuns:
    """The number of tables of each run."""

    def __init__(self) -> None:
        self._runs: Runs = np.empty(0, np.int64)  # in order
        self._tables: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, tables: Iterable[Iterable[Runs]]) -> None:
        """Count further tables.

        Args:
            tables: the runs of each table, in any number of arrays. A run may be in several of them.
        """
        added = [np.unique(np.concatenate(arrays)) for runs in tables if (arrays := list(runs))]
        before = self._runs.size
        self._runs, place = np.unique(np.concatenate([self._runs, *added]), return_inverse=True)
        found = np.bincount(place[before:], minlength=self._runs.size)
        found[place[:before]] += self._tables
        self._tables = found

    def part(self, runs: Iterable[Runs]) -> float:
        """Return the number of runs of a table that was counted. A run of several tables counts in parts."""
        arrays = list(runs)
        if not arrays:
            return 0.0
        own = np.unique(np.concatenate(arrays))
        return float((1.0 / self._tables[np.searchsorted(self._runs, own)]).sum())
