"""Prices of S3 in one region, and what objects are billed as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: S3 bills storage by this many bytes.
GIGABYTE = 1 << 30
#: Bytes that a small object is billed as in these classes. INTELLIGENT_TIERING does not monitor smaller objects.
MIN_BILLED = 128 << 10
MIN_BILLED_CLASSES = ("STANDARD_IA", "ONEZONE_IA", "GLACIER_IR")
#: Archived objects have this many bytes more in their own class, and these in STANDARD, for their index and name.
ARCHIVE_OVERHEAD, STANDARD_OVERHEAD = 32 << 10, 8 << 10
ARCHIVE_CLASSES = ("GLACIER", "DEEP_ARCHIVE")
ARCHIVE_TIERS = ("ARCHIVE", "DEEP_ARCHIVE")
#: Days of storage that are billed at least, also for an object that is deleted, overwritten or moved before.
MIN_DAYS: Mapping[str, int] = {
    "STANDARD_IA": 30,
    "ONEZONE_IA": 30,
    "GLACIER_IR": 90,
    "GLACIER": 90,
    "DEEP_ARCHIVE": 180,
}
TIERING = "INTELLIGENT_TIERING"
#: That class with the tier of access, as S3 Inventory names it, without `_ACCESS`.
FREQUENT, INFREQUENT, INSTANT = (f"{TIERING} {tier}" for tier in ("FREQUENT", "INFREQUENT", "ARCHIVE_INSTANT"))


@dataclass(frozen=True)
class StoragePrices:
    """Prices of one region.

    Attributes:
        effective: date from which the prices are valid, the newest of the list.
        tiers: for each class, the gigabytes from which on a price per gigabyte and month is valid, in order. A class
            with tiers of access has prices for each of them.
        transitions: price of a lifecycle transition of an object into a class.
        retrievals: price of a gigabyte that is read from a class.
        writes: price of a PUT into a class.
        reads: price of a GET from a class.
        monitoring: price of a month of an object that INTELLIGENT_TIERING monitors.
    """

    currency: str
    effective: str
    tiers: Mapping[str, tuple[tuple[float, float], ...]]
    transitions: Mapping[str, float] = field(default_factory=dict)
    retrievals: Mapping[str, float] = field(default_factory=dict)
    writes: Mapping[str, float] = field(default_factory=dict)
    reads: Mapping[str, float] = field(default_factory=dict)
    monitoring: float | None = None

    def monthly(self, storage_class: str, billed: float) -> float | None:
        """Return the price of a month. None if the list has no price of the class.

        Args:
            storage_class: the class, with the tier of access if it has some.
            billed: bytes that are billed, of everything that the account has in the class.
        """
        tiers = self.tiers.get(storage_class)
        if tiers is None:
            return None
        gigabytes, total = billed / GIGABYTE, 0.0
        for index, (start, price) in enumerate(tiers):
            end = tiers[index + 1][0] if index + 1 < len(tiers) else gigabytes
            total += max(0.0, min(gigabytes, end) - start) * price
        return total
