"""A company's buckets: which objects they have on each day, and when S3 delivers an inventory of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tidegate.platform.demo.storage.planted_buckets import STEADY, STILL, STOPPED, planted_objects
from tidegate.platform.demo.storage.stored_object import StoredObject

_TEAMS = ("checkout", "search", "catalog", "payments", "logistics", "marketing", "data", "platform")
_FOLDERS = ("events/", "exports/", "backups/", "logs/")
_KIB, _MIB = 1 << 10, 1 << 20
#: Storage classes, and how many of a hundred new objects are in each.
_CLASSES = {"STANDARD": 70, "STANDARD_IA": 18, "DEEP_ARCHIVE": 12}
#: Every tenth bucket has a daily inventory, the others a weekly one.
_DAILY_EVERY = 10


@dataclass(frozen=True)
class CompanyBucket:
    """A bucket.

    Attributes:
        name: its name.
        daily: whether its inventory is daily, and not weekly.
        stops: the day after which no inventory of it comes, None if all come.
        weekday: day of the week of a weekly inventory, counted from day 0. All buckets have an inventory of day 0.
        first: when S3 began the inventories of day 0.
        objects: every object that it ever has.
    """

    name: str
    daily: bool
    stops: int | None
    first: datetime
    objects: tuple[StoredObject, ...]
    weekday: int = 0

    @property
    def configuration(self) -> str:
        """The name of its inventory configuration."""
        return "daily" if self.daily else "weekly"

    def delivers(self, day: int) -> bool:
        """Return whether an inventory of a day comes."""
        is_due = self.daily or day == 0 or day % 7 == self.weekday
        return is_due and (self.stops is None or day <= self.stops)

    @property
    def has_versions(self) -> bool:
        """Whether its objects have version IDs."""
        return any(item.version for item in self.objects)

    @property
    def aborts_uploads(self) -> bool:
        """Whether a lifecycle rule aborts incomplete uploads."""
        return self.daily

    def newest_inventory_day(self, day: int) -> int:
        """Return the day of its newest inventory on a day."""
        return max(each for each in range(day + 1) if self.delivers(each))

    def begin_time(self, day: int) -> datetime:
        """Return when S3 begins the inventory of a day."""
        return self.first + timedelta(days=day)

    def put(self, item: StoredObject) -> datetime:
        """Return when one of its objects was put."""
        return self.begin_time(item.created) - timedelta(hours=1)

    def objects_on(self, day: int) -> list[StoredObject]:
        """Return the objects of a day."""
        return [item for item in self.objects if item.exists(day)]


def company(buckets: int, days: int) -> list[CompanyBucket]:
    """Return the buckets of a company. The same numbers give the same buckets. The last day is today.

    Three buckets with a daily inventory stop: somebody changed their configuration. The day before the last one is that
    of the weekly inventories.
    """
    found, now = [], datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    first = now - timedelta(days=days - 1, hours=1)
    for number in range(buckets):
        chance = random.Random(number)
        daily = number % _DAILY_EVERY == 0
        stops = max(1, days - 10) if number in STOPPED else None
        by_chance = () if number in (STEADY, STILL) else _objects(chance, days)
        objects = (*by_chance, *planted_objects(number, days))
        found.append(CompanyBucket(bucket_name(number), daily, stops, first, objects, weekday=(days - 2) % 7))
    return found


def bucket_name(number: int) -> str:
    """Return the name of a bucket."""
    return f"{_TEAMS[number % len(_TEAMS)]}-{number:03d}"


def _objects(chance: random.Random, days: int) -> Iterator[StoredObject]:
    old, a_day = chance.randint(10, 60), chance.choice([0, 1, 1, 2, 5])
    births = [*(chance.randint(-400, -1) for _ in range(old)), *(day for day in range(days) for _ in range(a_day))]
    for number, created in enumerate(births):
        (storage_class,) = chance.choices(list(_CLASSES), list(_CLASSES.values()))
        size = chance.choice([0, chance.randint(1, 40 * _KIB), 128 * _KIB, chance.randint(_MIB, 4_000 * _MIB)])
        deleted = max(created + 1, chance.randint(0, days - 1)) if chance.random() < 0.15 else None
        yield StoredObject(
            f"{chance.choice(_FOLDERS)}{number:05d}, größe {size}.bin", size, storage_class, created, deleted
        )
