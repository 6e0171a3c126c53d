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
_SMALL, _YOUNG, _DEEP = SIZES[0][1], AGES[0][1], "DEEP_ARCHIVE"
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
    for one in filter(_may_move, sums):
        bucket, prefix, kind, age, size, version = one.group
        group = bucket, prefix, kind, age, size if size == _SMALL else "128 KiB and more", version
        objects, total = groups.get(group, (0, 0))
        groups[group] = objects + one.objects, total + one.size
    found: list[Advice] = []
    for alike, (objects, total) in groups.items():
        cell = _Cell(*alike, objects, total)
        choices = [advice for to in targets if (advice := _choice(cell, to, prices, months)) is not None]
        found += [max(choices, key=lambda advice: advice.net)] if choices else []
    return sorted(found, key=lambda one: (-one.net, one.group))


def without_price(sums: Iterable[StoredSum], prices: StoragePrices, targets: Sequence[str] = AT_ONCE) -> list[str]:
    """Return the classes of which a price is missing that advice on some objects needs, by name.

    For these classes there is no advice, whether or not a transition would save something.

    Args:
        sums: by the dimensions `OF`.
        prices: of the region.
        targets: of `TARGETS`.
    """
    found: set[str] = set()
    for kind in {one.group[2] for one in filter(_may_move, sums)}:
        possible = [to for to in targets if to in TRANSITIONS[kind]]
        found.update(*(_lacking(prices, name) for name in (kind, *possible) if possible))
        found.update(to for to in possible if to not in prices.transitions)
    return sorted(found)


def no_advice_for(classes: Sequence[str]) -> str:
    """Return for people which classes lack a price. Empty if none does."""
    deep = ". The prices of DEEP_ARCHIVE are in the list of AmazonS3GlacierDeepArchive" if _DEEP in classes else ""
    return f"the price lists lack a price of {', '.join(classes)}: there is no advice for it{deep}" if classes else ""


def _may_move(one: StoredSum) -> bool:
    _, _, kind, age, size, _ = one.group
    # What is not known is not moved; and tiers of INTELLIGENT_TIERING move by themselves.
    return UNKNOWN not in (kind, age, size) and kind in TRANSITIONS and kind != TIERING


def _lacking(prices: StoragePrices, storage_class: str) -> set[str]:
    """Return the classes of which a price is missing that objects in a class need."""
    if storage_class == TIERING:
        whole = prices.monitoring is not None and all(
            prices.tiers.get(name) for name in (FREQUENT, INFREQUENT, INSTANT)
        )
        return set() if whole else {TIERING}
    needed = (storage_class, "STANDARD") if storage_class in ARCHIVE_CLASSES else (storage_class,)
    return {name for name in needed if not prices.tiers.get(name)}


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

    def months(self, storage_class: str, prices: StoragePrices, months: int, *, careful: bool) -> list[float]:
        """Return what each month in a class costs.

        Args:
            storage_class: the class. It lacks no price.
            prices: of the region.
            months: number of months.
            careful: whether it is the class that the objects enter, so that each price is the highest.
        """
        if storage_class == TIERING:
            return self._tiering(prices, months)
        billed, more = self.billed(storage_class)
        standard = _price(prices, "STANDARD", careful) * more if more else 0.0
        return [(_price(prices, storage_class, careful) * billed + standard) / GIGABYTE] * months

    def _tiering(self, prices: StoragePrices, months: int) -> list[float]:
        """Return the months of objects that nobody reads: 30 days in FREQUENT, 60 days in INFREQUENT, and then on."""
        frequent, infrequent, instant = (_price(prices, name, True) for name in (FREQUENT, INFREQUENT, INSTANT))
        if self.is_small:
            return [frequent * self.bytes / GIGABYTE] * months
        fee = (prices.monitoring or 0.0) * self.objects
        tier = [frequent, infrequent, infrequent, *[instant] * months][:months]
        return [price * self.bytes / GIGABYTE + fee for price in tier]


def _price(prices: StoragePrices, storage_class: str, careful: bool) -> float:
    return (max if careful else min)(price for _, price in prices.tiers[storage_class])


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
    if _lacking(prices, cell.storage_class) or _lacking(prices, to):
        return None
    before = cell.months(cell.storage_class, prices, months, careful=False)
    after = [*before[:wait], *cell.months(to, prices, months, careful=True)][:months]
    # An inventory does not say since when an object is in its class.
    (early,) = cell.months(cell.storage_class, prices, 1, careful=True)
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
