"""Which objects would cost less in another storage class: with everything that a transition makes one pay.

Advice is what S3's lifecycle rules can do, so it is by bucket, prefix, storage class, age and size, and noncurrent
versions have a rule of their own. It is careful: what leaves a class is worth the lowest price of its tiers, and what
enters one costs the highest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.platform.core.storage.cost import AGES, NONCURRENT, SIZES, UNKNOWN, StoredSum
from tidegate.platform.core.storage.prices import (
    ARCHIVE_CLASSES,
    ARCHIVE_OVERHEAD,
    FREQUENT,
    GIGABYTE,
    INFREQUENT,
    INSTANT,
    MIN_BILLED,
    MIN_BILLED_CLASSES,
    MIN_DAYS,
    STANDARD_OVERHEAD,
    TIERING,
    StoragePrices,
)
from tidegate.platform.core.storage.transitions import AFTER_30_DAYS, TRANSITIONS, Target

#: Dimensions of the sums that advice is made of.
OF = ("bucket", "prefix", "storage_class", "age", "size", "version")
#: Classes from which an object can be read at once.
AT_ONCE: tuple[Target, ...] = ("STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING")
_SMALL, _YOUNG = SIZES[0][1], AGES[0][1]
_DAYS_A_MONTH = 30


@dataclass(frozen=True)
class Advice:
    """A transition that makes objects cost less.

    Attributes:
        age: class of their age.
        size: `under 128 KiB`, or `128 KiB and more`.
        version: `current` or `noncurrent`.
        once: what the transition costs: its requests, and in the worst case the minimum duration of the class that the
            objects leave.
        saving: of a month, when the objects are where they stay.
        break_even: months after which the transition has cost no more than none.
        stay: months for which the objects must stay, because S3 bills that many. With the month that a rule may wait.
        net: what is saved in the months that were asked for, less `once`.
        readable: part of the bytes that may be read each month until nothing is saved. None if reading costs no more,
            0 if objects have to be restored before they can be read.
    """

    bucket: str
    prefix: str
    storage_class: str
    age: str
    size: str
    version: str
    to: str
    objects: int
    bytes: int
    once: float
    saving: float
    break_even: int
    stay: int
    net: float
    readable: float | None

    @property
    def group(self) -> tuple[str, ...]:
        """The values of the dimensions `OF`."""
        return self.bucket, self.prefix, self.storage_class, self.age, self.size, self.version

    @property
    def rule(self) -> str:
        """The action of a lifecycle rule that makes the transition."""
        return "NoncurrentVersionTransition" if self.version == NONCURRENT else "Transition"


def advice_for(
    sums: Iterable[StoredSum], prices: StoragePrices, months: int, targets: Sequence[str] = AT_ONCE
) -> list[Advice]:
    """Return what would cost less, the largest saving first. Each object is in one advice at most.

    Args:
        sums: by the dimensions `OF`.
        prices: of the region.
        months: for which the objects stay and are not read. Advice saves more than it costs within them.
        targets: of `TARGETS`.
    """
    groups: dict[tuple[str, str, str, str, str, str], tuple[int, int]] = {}
    for one in sums:
        bucket, prefix, kind, age, size, version = one.group
        # What is not known is not moved; and tiers of INTELLIGENT_TIERING move by themselves.
        if UNKNOWN in (kind, age, size) or kind not in TRANSITIONS or kind == TIERING:
            continue
        group = bucket, prefix, kind, age, size if size == _SMALL else "128 KiB and more", version
        objects, total = groups.get(group, (0, 0))
        groups[group] = objects + one.objects, total + one.size
    found: list[Advice] = []
    for alike, (objects, total) in groups.items():
        cell = _Cell(*alike, objects, total)
        choices = [advice for to in targets if (advice := _choice(cell, to, prices, months)) is not None]
        found += [max(choices, key=lambda advice: advice.net)] if choices else []
    return sorted(found, key=lambda one: (-one.net, one.group))


@dataclass(frozen=True)
class _Cell:
    """Objects that are alike."""

    bucket: str
    prefix: str
    storage_class: str
    age: str
    size: str
    version: str
    objects: int
    bytes: int

    @property
    def is_small(self) -> bool:
        return self.size == _SMALL

    def billed(self, storage_class: str) -> tuple[int, int]:
        """Return the bytes that are billed in a class, and those in STANDARD in addition."""
        if storage_class in MIN_BILLED_CLASSES and self.is_small:
            return self.objects * MIN_BILLED, 0
        if storage_class in ARCHIVE_CLASSES:
            return self.bytes + self.objects * ARCHIVE_OVERHEAD, self.objects * STANDARD_OVERHEAD
        return self.bytes, 0

    def months(self, storage_class: str, prices: StoragePrices, months: int, *, careful: bool) -> list[float] | None:
        """Return what each month in a class costs. None if a price is missing.

        Args:
            storage_class: the class.
            prices: of the region.
            months: number of months.
            careful: whether it is the class that the objects enter, so that each price is the highest.
        """
        if storage_class == TIERING:
            return self._tiering(prices, months)
        price, standard = _price(prices, storage_class, careful), _price(prices, "STANDARD", careful)
        if price is None or standard is None:
            return None
        billed, more = self.billed(storage_class)
        return [(price * billed + standard * more) / GIGABYTE] * months

    def _tiering(self, prices: StoragePrices, months: int) -> list[float] | None:
        """Return the months of objects that nobody reads: 30 days in FREQUENT, 60 days in INFREQUENT, and then on."""
        tiers = [_price(prices, name, True) for name in (FREQUENT, INFREQUENT, INSTANT)]
        frequent, infrequent, instant = tiers
        if frequent is None or infrequent is None or instant is None or prices.monitoring is None:
            return None
        if self.is_small:
            return [frequent * self.bytes / GIGABYTE] * months
        fee = prices.monitoring * self.objects
        tier = [frequent, infrequent, infrequent, *[instant] * months][:months]
        return [price * self.bytes / GIGABYTE + fee for price in tier]


def _price(prices: StoragePrices, storage_class: str, careful: bool) -> float | None:
    tiers = prices.tiers.get(storage_class)
    if not tiers:
        return None
    return (max if careful else min)(price for _, price in tiers)


def _choice(cell: _Cell, to: str, prices: StoragePrices, months: int) -> Advice | None:
    """Return the advice to move the objects into a class. None if that saves nothing, or is not possible."""
    stay = -(-MIN_DAYS.get(to, 0) // _DAYS_A_MONTH)
    request = prices.transitions.get(to)
    # An inventory does not say since when a version is noncurrent, so the 30 days may begin now.
    wait = 1 if to in AFTER_30_DAYS and cell.version == NONCURRENT else 0
    if request is None or months < max(stay, 1) + wait or to not in TRANSITIONS[cell.storage_class]:
        return None
    if to in AFTER_30_DAYS and cell.age == _YOUNG:
        return None
    before = cell.months(cell.storage_class, prices, months, careful=False)
    after = cell.months(to, prices, months, careful=True)
    if before is None or after is None:
        return None
    after = [*before[:wait], *after][:months]
    # An inventory does not say since when an object is in its class.
    early = (cell.months(cell.storage_class, prices, 1, careful=True) or [0.0])[0]
    once = request * cell.objects + early * MIN_DAYS.get(cell.storage_class, 0) / _DAYS_A_MONTH
    net, break_even = -once, 0
    for month in range(months):
        net += before[month] - after[month]
        break_even = month + 1 if net < 0 else break_even
    if net <= 0:
        return None
    saving = before[-1] - after[-1]
    return Advice(
        bucket=cell.bucket,
        prefix=cell.prefix,
        storage_class=cell.storage_class,
        age=cell.age,
        size=cell.size,
        version=cell.version,
        to=to,
        objects=cell.objects,
        bytes=cell.bytes,
        once=once,
        saving=saving,
        break_even=break_even + 1,
        stay=stay + wait,
        net=net,
        readable=_readable(cell, to, prices, saving),
    )


def _readable(cell: _Cell, to: str, prices: StoragePrices, saving: float) -> float | None:
    if to in ARCHIVE_CLASSES:
        return 0.0
    requests = max(0.0, prices.reads.get(to, 0.0) - prices.reads.get("STANDARD", 0.0)) * cell.objects
    reading = prices.retrievals.get(to, 0.0) * cell.bytes / GIGABYTE + requests
    return saving / reading if reading else None
