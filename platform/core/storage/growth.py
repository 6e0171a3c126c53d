"""How the objects of each bucket grow, and what they will be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.storage.forecast import MONTH, Forecast, daily_values, forecast, forecast_sum

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
    """

    bucket: str
    first: date
    history: Sequence[float]
    objects: int
    bytes: Forecast
    objects_ahead: Forecast


def growth(
    days: Iterable[StoredDay],
    months: int,
    known_from: date | None = None,
    configuration: str = "",
    drops: Collection[tuple[Subject, date]] = (),
) -> list[Growth]:
    """Return the growth of all buckets together and of each bucket, the one with the most bytes first.

    Each history ends on the day of the last inventory of all. What has no inventory on a day has as much as before.
    Each bucket counts once: of several configurations that it has on a day, one counts.

    Args:
        days: what each inventory had. Of several of one day, the last in order counts.
        months: of 30 days, to forecast.
        known_from: first day of the histories. Of the days before, inventories may be missing.
        configuration: counts where a bucket has several. The newest counts where it does not have this one.
        drops: when a person dropped which inventories. A bucket without others counts until then, and has no line.
    """
    found: dict[str, list[StoredDay]] = defaultdict(list)
    for stored_day in days:
        found[stored_day.bucket].append(stored_day)
    if not found:
        return []
    every = {bucket: _bucket_points(some, configuration, drops) for bucket, some in found.items()}
    end = max(day for points in every.values() for day in points)
    lines = [
        _line(bucket, _sums([points], known_from, end), months)
        for bucket, points in every.items()
        if points[max(points)] is not None
    ]
    lines.sort(key=lambda line: (-line.history[-1], line.bucket))
    first, sizes, objects = _daily_sizes(_sums(every.values(), known_from, end))
    ahead = (
        forecast_sum([(line.history, line.bytes) for line in lines]),
        forecast_sum([([float(line.objects)] * len(line.history), line.objects_ahead) for line in lines]),
    )
    return [Growth(ALL, first, sizes, int(objects[-1]), *ahead), *lines]


#: Bytes and objects of a bucket on the days of its inventories. None: it was dropped.
_Points = Mapping[date, tuple[int, int] | None]


def _bucket_points(days: Iterable[StoredDay], configuration: str, drops: Collection[tuple[Subject, date]]) -> _Points:
    known: dict[str, StoredDay] = {}
    found: dict[date, tuple[int, int] | None] = {}
    for stored_day in sorted(days, key=lambda stored_day: stored_day.day):
        if not stored_day.objects and (Subject(stored_day.bucket, stored_day.configuration), stored_day.day) in drops:
            known.pop(stored_day.configuration, None)
        else:
            known[stored_day.configuration] = stored_day
        counted = max(
            known.values(),
            key=lambda stored_day: (
                stored_day.configuration == configuration,
                stored_day.day,
                stored_day.configuration,
            ),
            default=None,
        )
        found[stored_day.day] = (counted.size, counted.objects) if counted else None
    return found


def _sums(buckets: Iterable[_Points], known_from: date | None, end: date) -> Mapping[date, tuple[int, int]]:
    """Return bytes and objects of each day. What has no inventory on a day has as much as on the day before."""
    found = dict(enumerate(buckets))
    known: dict[int, tuple[int, int]] = {}
    sums = {}
    first = known_from or date.min
    for day in sorted({end, *(day for points in found.values() for day in points)}):
        known |= {number: points[day] or (0, 0) for number, points in found.items() if day in points}
        # All that was known by the first day is its value.
        sums[max(day, first)] = sum(size for size, _ in known.values()), sum(count for _, count in known.values())
    return sums


def _line(bucket: str, points: Mapping[date, tuple[int, int]], months: int) -> Growth:
    first, sizes, objects = _daily_sizes(points)
    ahead = months * MONTH
    return Growth(bucket, first, sizes, int(objects[-1]), forecast(sizes, ahead), forecast(objects, ahead))


def _daily_sizes(points: Mapping[date, tuple[int, int]]) -> tuple[date, list[float], list[float]]:
    """Return the first day, and bytes and objects of each day."""
    sizes = daily_values({day: float(size) for day, (size, _) in points.items()})
    return min(points), sizes, daily_values({day: float(count) for day, (_, count) in points.items()})
