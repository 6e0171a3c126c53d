"""Which buckets have no inventory as new as their schedule promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tidegate.platform.core.inventory.delivery import Delivery, Subject, by_subject

#: S3's schedules are daily and weekly. An inventory comes hours after it was begun, and the first one within 48 hours.
DAILY_LATE, WEEKLY_LATE = timedelta(days=3), timedelta(days=9)
#: Two inventories that were begun within this time are daily.
_DAILY = timedelta(days=3)


@dataclass(frozen=True)
class LateInventory:
    """A bucket whose newest inventory is too old.

    Attributes:
        began: when S3 began the newest one.
        age: since then.
        daily: whether its last two inventories were a day apart, not a week.
    """

    subject: Subject
    began: datetime
    age: timedelta
    daily: bool

    def __str__(self) -> str:
        rate, began = "a daily" if self.daily else "a weekly", f"{self.began:%Y-%m-%d %H:%M} UTC"
        return f"{self.subject}: {rate} inventory, the newest is of {began}, {self.age.days} days old"


def late_inventories(deliveries: Iterable[Delivery], now: datetime | None = None) -> list[LateInventory]:
    """Return the subjects that are late, the oldest first.

    The gap between the last two deliveries shows the schedule. With one delivery, the schedule may be weekly. A subject
    that was dropped is never late.

    Args:
        deliveries: the last two of each subject, or more.
        now: the present time.
    """
    now = now or datetime.now(UTC)
    late = []
    for subject, (newest, *before) in by_subject(deliveries).items():
        if newest.is_drop:
            continue
        daily = bool(before) and newest.began_at - before[0].began_at < _DAILY
        age = now - newest.began_at
        if age > (DAILY_LATE if daily else WEEKLY_LATE):
            late.append(LateInventory(subject, newest.began_at, age, daily))
    return sorted(late, key=lambda one: (one.began, one.subject))


@dataclass(frozen=True)
class StaleInventory:
    """A bucket with an inventory that is much older than those of other buckets.

    Attributes:
        created: when S3 began the newest one.
        days: that it is older than the newest inventory of all.
    """

    subject: Subject
    created: datetime
    days: int

    def __str__(self) -> str:
        return (
            f"{self.subject}: its newest inventory is of {self.created:%Y-%m-%d}, {self.days} days older than that of "
            "other buckets. If the bucket was deleted, drop it (tidegate inventory drop-bucket)"
        )


def stale_inventories(newest: Mapping[Subject, datetime]) -> list[StaleInventory]:
    """Return the subjects whose newest inventory is too old for a weekly schedule, the oldest first.

    Args:
        newest: when S3 began the newest inventory of each subject.
    """
    last = max(newest.values(), default=None)
    found = [
        StaleInventory(subject, created, (last - created).days)
        for subject, created in newest.items()
        if last and last - created > WEEKLY_LATE
    ]
    return sorted(found, key=lambda one: (one.created, one.subject))
