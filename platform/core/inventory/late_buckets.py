"""Which buckets have no inventory as new as their schedule promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Protocol

from tidegate.platform.core.inventory.delivery import Delivery, Subject, group_by_subject

#: S3's schedules are daily and weekly. An inventory comes hours after it was begun, and the first one within 48 hours.
DAILY_LATE, WEEKLY_LATE = timedelta(days=3), timedelta(days=9)
#: Inventories that were begun within this time of each other are daily. A weekly one is begun on each Sunday (UTC) that
#: follows the first one, which may be of the Friday before.
_DAILY, _SUNDAY = timedelta(days=3), 6
_FIRST = timedelta(hours=48)


class Schedule(Protocol):
    """The configurations that `lake.yaml` gives to buckets: `InventoriesSpec`."""

    @property
    def configuration(self) -> str:
        """Name of the configuration in each bucket."""

    @property
    def frequency(self) -> str:
        """`daily` or `weekly`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The buckets that are named, not only by a pattern."""

    def chooses(self, bucket: str) -> bool:
        """Return whether a bucket should have the configuration."""


@dataclass(frozen=True)
class LateInventory:
    """A bucket whose newest inventory is too old, or that has never had one.

    Attributes:
        began: when S3 began the newest one. None: none has come yet.
        age: since then.
        daily: whether its inventories should come each day, not each week.
    """

    subject: Subject
    began: datetime | None
    age: timedelta
    daily: bool

    def __str__(self) -> str:
        if self.began is None:
            return (
                f"{self.subject}: no inventory has come yet. S3 delivers the first one within 48 hours, if the bucket "
                "has the configuration (tidegate inventory enable) and S3 may encrypt with the destination's key"
            )
        rate, began = "a daily" if self.daily else "a weekly", f"{self.began:%Y-%m-%d %H:%M} UTC"
        return f"{self.subject}: {rate} inventory, the newest is of {began}, {self.age.days} days old"


def late_inventories(
    deliveries: Iterable[Delivery], now: datetime | None = None, spec: Schedule | None = None
) -> list[LateInventory]:
    """Return the subjects that are late, those without any inventory first, and then the oldest.

    `lake.yaml` says the schedule, or the gaps between the last three deliveries show it. With one delivery, or with two
    of which the newer is of a Sunday, it may be weekly. A subject that was dropped is never late.

    Args:
        deliveries: the last three of each subject, or more. Without one that is two days old, no first one is late.
        now: the present time.
        spec: the configurations that `lake.yaml` gives to buckets. Those that are named, not by a pattern, should have
            an inventory.
    """
    now = now or datetime.now(UTC)
    found = group_by_subject(deliveries)
    late = []
    if spec and any(now - delivery.began_at > _FIRST for some in found.values() for delivery in some):
        named = (Subject(name, spec.configuration) for name in spec.names)
        late = [
            LateInventory(subject, None, _FIRST, spec.frequency == "daily") for subject in named if subject not in found
        ]
    for subject, some in found.items():
        newest, *_ = some
        if newest.is_drop:
            continue
        if spec and subject.configuration == spec.configuration and spec.chooses(subject.bucket):
            daily = spec.frequency == "daily"
        else:
            daily = _seem_daily([delivery.began_at for delivery in some if not delivery.is_drop])
        age = now - newest.began_at
        if age > (DAILY_LATE if daily else WEEKLY_LATE):
            late.append(LateInventory(subject, newest.began_at, age, daily))
    return sorted(
        late,
        key=lambda late_inventory: (late_inventory.began or datetime.min.replace(tzinfo=UTC), late_inventory.subject),
    )


def _seem_daily(began: Sequence[datetime]) -> bool:
    """Return whether inventories come each day, by when the last of them were begun, the newest first."""
    gaps = [newer - older for newer, older in pairwise(began[:3])]
    if not gaps or max(gaps) >= _DAILY:
        return False
    return len(gaps) > 1 or began[0].weekday() != _SUNDAY


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
    return sorted(found, key=lambda stale_inventory: (stale_inventory.created, stale_inventory.subject))
