"""How the objects of each bucket grow, and what they will be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tidegate.platform.core.storage.forecast import MONTH, Forecast, daily, forecast

#: The name of all buckets together.
ALL = "all buckets"


@dataclass(frozen=True)
class StoredDay:
    """What an inventory of a bucket had, without delete markers."""

    bucket: str
    configuration: str
    day: date
    objects: int
    size: int


@dataclass(frozen=True)
class Growth:
    """A bucket, or all of them, in the past and in the future.

    Attributes:
        history: bytes of each day from `first` on.
        objects: of the last day.
        bytes: forecast of the bytes.
        objects_ahead: forecast of the objects.
    """

    bucket: str
    first: date
    history: Sequence[float]
    objects: int
    bytes: Forecast
    objects_ahead: Forecast


def growth(days: Iterable[StoredDay], months: int, known_from: date | None = None) -> list[Growth]:
    """Return the growth of all buckets together and of each bucket, the one with the most bytes first.

    Each history ends on the day of the last inventory of all. What has no inventory on a day has as much as before.

    Args:
        days: what each inventory had. Of several of one day, the last in order counts.
        months: of 30 days, to forecast.
        known_from: first day of the histories. Of the days before, inventories may be missing.
    """
    sizes: dict[str, dict[tuple[str, date], StoredDay]] = defaultdict(dict)
    for one in days:
        sizes[one.bucket][one.configuration, one.day] = one
    if not sizes:
        return []
    end = max(day for some in sizes.values() for _, day in some)
    every = (one for some in sizes.values() for one in some.values())
    total = _line(ALL, _sums(every, known_from, end), months)
    lines = [_line(bucket, _sums(some.values(), known_from, end), months) for bucket, some in sizes.items()]
    lines.sort(key=lambda line: (-line.history[-1], line.bucket))
    return [total, *lines]


def _sums(days: Iterable[StoredDay], known_from: date | None, end: date) -> Mapping[date, tuple[int, int]]:
    """Return bytes and objects of each day. What has no inventory on a day has as much as on the day before."""
    found: dict[tuple[str, str], dict[date, tuple[int, int]]] = defaultdict(dict)
    for one in days:
        found[one.bucket, one.configuration][one.day] = one.size, one.objects
    known: dict[tuple[str, str], tuple[int, int]] = {}
    sums = {}
    first = known_from or date.min
    for day in sorted({end, *(day for points in found.values() for day in points)}):
        known |= {subject: points[day] for subject, points in found.items() if day in points}
        # All that was known by the first day is its value.
        sums[max(day, first)] = sum(size for size, _ in known.values()), sum(count for _, count in known.values())
    return sums


def _line(bucket: str, points: Mapping[date, tuple[int, int]], months: int) -> Growth:
    sizes = daily({day: float(size) for day, (size, _) in points.items()})
    objects = daily({day: float(count) for day, (_, count) in points.items()})
    ahead = months * MONTH
    return Growth(bucket, min(points), sizes, int(objects[-1]), forecast(sizes, ahead), forecast(objects, ahead))
