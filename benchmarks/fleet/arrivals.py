"""Objects that arrive for the tables of a fleet: a skewed load, and bursts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
_DAY = 86_400.0


@dataclass(frozen=True)
class Burst:
    """Objects that come in addition to the usual load, or a time of more load.

    Attributes:
        begins: seconds after the beginning.
        ends: seconds after the beginning.
        times: by how much the usual load is multiplied. 1 leaves it as it is.
        tables: number of tables that get `files` each, evenly over the time, in addition.
        files: files of each of these tables.
    """

    begins: float
    ends: float
    times: float = 1.0
    tables: int = 0
    files: int = 0


@dataclass(frozen=True)
class Load:
    """What arrives.

    Attributes:
        tables: number of tables.
        a_day: objects a day, of all tables together.
        skew: exponent of Zipf's law: the table of rank r gets a share that is proportional to r to the power of -skew.
        seconds: for how long objects arrive.
        slice: seconds of a slice. Objects of a table and slice are one cohort, which arrives in its middle.
        bursts: bursts.
        seed: of the random numbers.
    """

    tables: int = 4_200
    a_day: float = 60e6
    skew: float = 1.0
    seconds: float = 7_200.0
    slice: float = 5.0
    bursts: tuple[Burst, ...] = ()
    seed: int = 1

    def shares(self) -> npt.NDArray[np.float64]:
        """Return each table's share of the objects. Which table has which rank depends on the seed."""
        weights = np.arange(1, self.tables + 1, dtype=float) ** -self.skew
        return np.random.default_rng(self.seed).permutation(weights / weights.sum())

    def slices(self) -> Iterator[tuple[float, Counts]]:
        """Yield the middle of each slice in seconds, and how many objects each table gets in it."""
        random = np.random.default_rng(self.seed + 1)
        shares = self.shares()
        a_slice = self.a_day / _DAY * self.slice * shares
        bursting = {burst: random.choice(self.tables, burst.tables, replace=False) for burst in self.bursts}
        for n in range(int(self.seconds / self.slice)):
            middle = (n + 0.5) * self.slice
            on = [burst for burst in self.bursts if burst.begins <= middle < burst.ends]
            counts = random.poisson(a_slice * np.prod([burst.times for burst in on] or [1.0]))
            for burst in on:
                counts[bursting[burst]] += _evenly(burst, n, self.slice)
            yield middle, counts

    def hottest(self, number: int) -> npt.NDArray[np.int64]:
        """Return the indexes of the tables that get most, the first of them first."""
        return np.argsort(-self.shares(), kind="stable")[:number]


def _evenly(burst: Burst, n: int, seconds: float) -> int:
    """Return the files of a burst's table in slice n. All slices together have exactly its files."""
    first = int(np.ceil(burst.begins / seconds - 0.5))
    many = int(np.ceil(burst.ends / seconds - 0.5)) - first
    done = n - first
    return burst.files * (done + 1) // many - burst.files * done // many
