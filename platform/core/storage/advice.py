"""Which objects would cost less in another storage class: with everything that a transition makes one pay.

Advice is a lifecycle rule of S3, and is worth what the rule does. A rule moves all objects below a prefix that are as
old as its days, whatever their class is, and each object that becomes so old later. So a rule is advised only if the
objects below its prefix demonstrably stay, and noncurrent versions have a rule of their own. The computation is
careful: what leaves a class is worth the lowest price of its tiers, and what enters one costs the highest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tidegate.platform.core.storage.cost import AGES, ENDS, NONCURRENT, OLDER, SIZES, UNKNOWN, StoredSum
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

#: Dimensions of the sums that advice is made of.
OF = ("bucket", "prefix", "storage_class", "age", "size", "version", "ends")

#: All classes that a rule can move objects into.
Target = Literal["STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER", "DEEP_ARCHIVE"]
#: Classes from which an object can be read at once.
IMMEDIATE_CLASSES: tuple[Target, ...] = ("STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING")
_SMALL, _LARGE, _DEEP = SIZES[0][1], "128 KiB and more", "DEEP_ARCHIVE"
_DAYS_A_MONTH = 30
#: Days of the youngest object of each class of age, from which on a rule can move the class as a whole.
_FIRST_DAYS = {name: days for (days, _), name in zip(AGES, [*(name for _, name in AGES[1:]), OLDER], strict=True)}
#: Classes of age whose objects show whether those of the class before stay, with the days that each of them has.
_BEFORE, _AFTER = 60, 275
_MONTH_OLD, _QUARTER_OLD = AGES[1][1], AGES[2][1]
#: Objects stay if a day of the older class has at least this part of the bytes of a day of the younger class.
_MIN_STAYING_SHARE = 0.5
TARGETS: tuple[Target, ...] = get_args(Target)
#: The classes that a rule can move objects of a class into.
TRANSITIONS: Mapping[str, frozenset[str]] = {
    "STANDARD": frozenset(TARGETS),
    "STANDARD_IA": frozenset({"INTELLIGENT_TIERING", "ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"}),
    "INTELLIGENT_TIERING": frozenset({"ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"}),
    "ONEZONE_IA": frozenset({"GLACIER", "DEEP_ARCHIVE"}),
    "GLACIER_IR": frozenset({"GLACIER", "DEEP_ARCHIVE"}),
    "GLACIER": frozenset({"DEEP_ARCHIVE"}),
}


@dataclass(frozen=True)
class Advice:
    """A lifecycle rule that makes objects cost less.

    Attributes:
        storage_class: the classes that objects leave, separated by commas.
        days: age from which on the rule moves objects, or days since which a version is noncurrent.
        size: `under 128 KiB`, or `128 KiB and more`.
        version: `current` or `noncurrent`.
        objects: that the rule moves now.
        once: what their transition costs: its requests, the minimum duration of the class that they leave in the worst
            case, and the minimum duration of objects that another rule deletes soon.
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
    days: int
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
    def rule(self) -> str:
        """The action of a lifecycle rule that makes the transition."""
        return "NoncurrentVersionTransition" if self.version == NONCURRENT else "Transition"


def advice_for(
    sums: Iterable[StoredSum], prices: StoragePrices, months: int, targets: Sequence[str] = IMMEDIATE_CLASSES
) -> list[Advice]:
    """Return the rules that save something, the largest saving first. No object is moved by two of them.

    Args:
        sums: by the dimensions `OF`.
        prices: of the region.
        months: for which the objects stay and are not read. Advice saves more than it costs within them.
        targets: of `TARGETS`.
    """
    scopes: dict[tuple[str, str, str], dict[str, list[_Cell]]] = defaultdict(lambda: defaultdict(list))
    for stored_sum in sums:
        bucket, prefix, _, age, size, version, ends = stored_sum.group
        size = size if size in (_SMALL, UNKNOWN) else _LARGE
        cell = _Cell(stored_sum.storage_class, age, size, ends == ENDS, stored_sum.objects, stored_sum.size)
        scopes[bucket, size, version][prefix].append(cell)
    found: list[Advice] = []
    for (bucket, size, version), cells in scopes.items():
        scope = _Scope(bucket, size, version, prices, months, tuple(targets))
        found += scope.advice(cells)
    return sorted(found, key=lambda advice: (-advice.net, advice.bucket, advice.prefix, advice.size, advice.version))


def without_price(
    sums: Iterable[StoredSum], prices: StoragePrices, targets: Sequence[str] = IMMEDIATE_CLASSES
) -> list[str]:
    """Return the classes of which a price is missing that advice on some objects needs, by name.

    For these classes there is no advice, whether or not a transition would save something.

    Args:
        sums: by the dimensions `OF`.
        prices: of the region.
        targets: of `TARGETS`.
    """
    found: set[str] = set()
    for storage_class in {stored_sum.storage_class for stored_sum in sums}:
        possible = [to for to in targets if to in TRANSITIONS.get(_kind(storage_class), ())]
        found.update(*(_classes_without_price(prices, name) for name in (storage_class, *possible) if possible))
        found.update(to for to in possible if to not in prices.transitions)
    return sorted(found)


def describe_missing_prices(classes: Sequence[str]) -> str:
    """Return for people which classes lack a price. Empty if none does."""
    deep = ". The prices of DEEP_ARCHIVE are in the list of AmazonS3GlacierDeepArchive" if _DEEP in classes else ""
    return f"the price lists lack a price of {', '.join(classes)}: there is no advice for it{deep}" if classes else ""


def _kind(storage_class: str) -> str:
    """Return a storage class without the tier of access."""
    return storage_class.partition(" ")[0]


def _classes_without_price(prices: StoragePrices, storage_class: str) -> set[str]:
    """Return the classes of which a price is missing that objects in a class need."""
    if storage_class == TIERING:
        tiers = all(prices.tiers.get(name) for name in (FREQUENT, INFREQUENT, INSTANT))
        return set() if tiers and prices.monitoring is not None else {TIERING}
    needed = {storage_class}
    needed |= {"STANDARD"} if storage_class in ARCHIVE_CLASSES else set()
    needed |= {INSTANT} if _kind(storage_class) == TIERING else set()
    return {_kind(name) for name in needed if not prices.tiers.get(name)}


@dataclass(frozen=True)
class _Cell:
    """Objects that are alike.

    Attributes:
        storage_class: with the tier of access, if it has some.
        ends: whether a lifecycle rule deletes them within the months.
    """

    storage_class: str
    age: str
    size: str
    ends: bool
    objects: int
    bytes: int

    @property
    def kind(self) -> str:
        return _kind(self.storage_class)

    @property
    def is_known(self) -> bool:
        return UNKNOWN not in (self.storage_class, self.age, self.size)

    @property
    def is_small(self) -> bool:
        return self.size == _SMALL

    def billed_bytes(self, storage_class: str) -> tuple[int, int]:
        """Return the bytes that are billed in a class, and those in STANDARD in addition."""
        if storage_class in MIN_BILLED_CLASSES and self.is_small:
            return self.objects * MIN_BILLED, 0
        if storage_class in ARCHIVE_CLASSES:
            return self.bytes + self.objects * ARCHIVE_OVERHEAD, self.objects * STANDARD_OVERHEAD
        return self.bytes, 0

    def remaining_cost(self, prices: StoragePrices, *, careful: bool) -> float:
        """Return what a month in the present class costs at least, or at most if `careful`."""
        if self.kind == TIERING:
            # Nobody may have read them: then they move to cheaper tiers by themselves. The fee is not counted.
            names = {self.storage_class, INSTANT}
            return min(_price(prices, name, careful) for name in names) * self.bytes / GIGABYTE
        return self.storage_cost(self.storage_class, prices, careful=careful)

    def storage_cost(self, storage_class: str, prices: StoragePrices, *, careful: bool) -> float:
        """Return what a month in a class costs.

        Args:
            storage_class: the class, which lacks no price.
            prices: of the region.
            careful: whether each price is the highest.
        """
        billed, more = self.billed_bytes(storage_class)
        standard = _price(prices, "STANDARD", careful) * more if more else 0.0
        return (_price(prices, storage_class, careful) * billed + standard) / GIGABYTE

    def costs_after_transition(self, to: str, prices: StoragePrices, months: int) -> list[float]:
        """Return what each month costs after a transition into a class, if nobody reads the objects."""
        if to != TIERING:
            return [self.storage_cost(to, prices, careful=True)] * months
        frequent, infrequent, instant = (_price(prices, name, True) for name in (FREQUENT, INFREQUENT, INSTANT))
        if self.is_small:
            return [frequent * self.bytes / GIGABYTE] * months
        fee = (prices.monitoring or 0.0) * self.objects
        # 30 days in FREQUENT, 60 days in INFREQUENT, and then on.
        tiers = [frequent, infrequent, infrequent, *[instant] * months][:months]
        return [price * self.bytes / GIGABYTE + fee for price in tiers]


def _price(prices: StoragePrices, storage_class: str, careful: bool) -> float:
    return (max if careful else min)(price for _, price in prices.tiers[storage_class])


@dataclass(frozen=True)
class _Scope:
    """The objects of a bucket that a rule can choose by size and version."""

    bucket: str
    size: str
    version: str
    prices: StoragePrices
    months: int
    targets: tuple[str, ...]

    def advice(self, cells: Mapping[str, Sequence[_Cell]]) -> list[Advice]:
        """Return the rules that save most. A rule of a prefix moves the objects of all prefixes below, too.

        Args:
            cells: the objects by prefix.
        """
        under = {prefix: list(some) for prefix, some in cells.items()}
        below: dict[str, list[Advice]] = {prefix: [] for prefix in cells}
        found: list[Advice] = []
        for prefix in sorted(cells, key=lambda prefix: (-prefix.count("/"), prefix)):
            own = self._cheapest_advice(prefix, under[prefix])
            chosen = [own] if own and own.net > sum(advice.net for advice in below[prefix]) else below[prefix]
            above = _longest_enclosing_prefix(prefix, cells)
            if above is None:
                found += chosen
            else:
                under[above] += under[prefix]
                below[above] += chosen
        return found

    def _cheapest_advice(self, prefix: str, cells: Sequence[_Cell]) -> Advice | None:
        if not all(cell.is_known for cell in cells):
            return None
        choices = [
            advice
            for days in ((_FIRST_DAYS[_MONTH_OLD],) if self._is_noncurrent else _FIRST_DAYS.values())
            if self._objects_stay(cells, days)
            for to in self.targets
            if (advice := self._rule(prefix, cells, to, days))
        ]
        # Of rules that move the same objects now, the one that waits longest risks least.
        return max(choices, key=lambda advice: (advice.net, advice.days), default=None)

    @property
    def _is_noncurrent(self) -> bool:
        return self.version == NONCURRENT

    def _objects_stay(self, cells: Iterable[_Cell], days: int) -> bool:
        """Return whether objects that reach an age demonstrably stay for months after it."""
        sizes: dict[str, int] = defaultdict(int)
        for cell in cells:
            if not cell.ends:
                sizes[cell.age] += cell.bytes
        before, after = sizes[_MONTH_OLD] / _BEFORE, sizes[_QUARTER_OLD] / _AFTER
        if self._is_noncurrent:
            young = sizes[AGES[0][1]] / _DAYS_A_MONTH
            return before >= young * _MIN_STAYING_SHARE and after >= before * _MIN_STAYING_SHARE
        return days > _FIRST_DAYS[_QUARTER_OLD] or after >= before * _MIN_STAYING_SHARE

    def _rule(self, prefix: str, cells: Iterable[_Cell], to: str, days: int) -> Advice | None:
        """Return the advice to move objects into a class. None if that saves nothing, or is not possible."""
        stay = -(-MIN_DAYS.get(to, 0) // _DAYS_A_MONTH)
        request = self.prices.transitions.get(to)
        # An inventory does not say since when a version is noncurrent, so the days of the rule may begin now.
        wait = 1 if self._is_noncurrent else 0
        moved = [cell for cell in cells if to in TRANSITIONS.get(cell.kind, ()) and self._is_moved_at(cell, days)]
        staying = [cell for cell in moved if not cell.ends]
        if request is None or self.months < max(stay, 1) + wait or not staying:
            return None
        if any(_classes_without_price(self.prices, name) for name in {to, *(cell.storage_class for cell in moved)}):
            return None
        before, after = [0.0] * self.months, [0.0] * self.months
        once = sum(request * cell.objects + self._early_removal_cost(cell) for cell in moved)
        for cell in moved:
            entered = cell.costs_after_transition(to, self.prices, self.months)
            if cell.ends:
                once += sum(entered[: max(stay, 1)])
                continue
            left = [cell.remaining_cost(self.prices, careful=False)] * self.months
            for month, (old, new) in enumerate(zip(left, [*left[:wait], *entered], strict=False)):
                before[month] += old
                after[month] += new
        net, break_even = -once, 0
        for month in range(self.months):
            net += before[month] - after[month]
            break_even = month + 1 if net < 0 else break_even
        saving = before[-1] - after[-1]
        if net <= 0:
            return None
        objects, size = sum(cell.objects for cell in staying), sum(cell.bytes for cell in staying)
        return Advice(
            bucket=self.bucket,
            prefix=prefix,
            storage_class=", ".join(sorted({cell.kind for cell in staying})),
            days=days,
            size=self.size,
            version=self.version,
            to=to,
            objects=objects,
            bytes=size,
            once=once,
            saving=saving,
            break_even=break_even + 1,
            stay=stay + wait,
            net=net,
            readable=_readable_share(objects, size, to, self.prices, saving),
        )

    def _is_moved_at(self, cell: _Cell, days: int) -> bool:
        """Return whether a rule of some days moves objects, now or when they are noncurrent for so long."""
        return self._is_noncurrent or _FIRST_DAYS.get(cell.age, 0) >= days

    def _early_removal_cost(self, cell: _Cell) -> float:
        """Return what the minimum duration of the class that objects leave costs at most."""
        # An inventory does not say since when an object is in its class.
        days = MIN_DAYS.get(cell.kind, 0)
        return cell.remaining_cost(self.prices, careful=True) * days / _DAYS_A_MONTH if days else 0.0


def _longest_enclosing_prefix(prefix: str, prefixes: Mapping[str, object]) -> str | None:
    """Return the longest of some prefixes that another one begins with. None if there is none."""
    while prefix:
        head, _, _ = prefix.rstrip("/").rpartition("/")
        prefix = f"{head}/" if head else ""
        if prefix in prefixes:
            return prefix
    return None


def _readable_share(objects: int, size: int, to: str, prices: StoragePrices, saving: float) -> float | None:
    if to in ARCHIVE_CLASSES:
        return 0.0
    requests = max(0.0, prices.reads.get(to, 0.0) - prices.reads.get("STANDARD", 0.0)) * objects
    reading = prices.retrievals.get(to, 0.0) * size / GIGABYTE + requests
    return saving / reading if reading else None
