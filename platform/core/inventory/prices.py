"""Prices of S3's storage, from AWS's own price list of a region, and what objects are billed as."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: S3 bills storage by this many bytes.
GIGABYTE = 1 << 30
#: Bytes that a small object is billed as in these classes.
MIN_BILLED = 128 << 10
MIN_BILLED_CLASSES = ("STANDARD_IA", "ONEZONE_IA", "GLACIER_IR")
#: Archived objects have this many bytes more in their own class, and these in STANDARD, for their index and name.
ARCHIVE_OVERHEAD, STANDARD_OVERHEAD = 32 << 10, 8 << 10
ARCHIVE_CLASSES = ("GLACIER", "DEEP_ARCHIVE")
#: Usage types of AWS's price list, without the prefix of the region. A class with tiers of access has a type for each.
_USAGE = {
    "TimedStorage-ByteHrs": "STANDARD",
    "TimedStorage-SIA-ByteHrs": "STANDARD_IA",
    "TimedStorage-ZIA-ByteHrs": "ONEZONE_IA",
    "TimedStorage-GIR-ByteHrs": "GLACIER_IR",
    "TimedStorage-GlacierByteHrs": "GLACIER",
    "TimedStorage-GDA-ByteHrs": "DEEP_ARCHIVE",
    "TimedStorage-RRS-ByteHrs": "REDUCED_REDUNDANCY",
    "TimedStorage-INT-FA-ByteHrs": "INTELLIGENT_TIERING FREQUENT",
    "TimedStorage-INT-IA-ByteHrs": "INTELLIGENT_TIERING INFREQUENT",
    "TimedStorage-INT-AIA-ByteHrs": "INTELLIGENT_TIERING ARCHIVE_INSTANT_ACCESS",
    "TimedStorage-INT-AA-ByteHrs": "INTELLIGENT_TIERING ARCHIVE",
    "TimedStorage-INT-DAA-ByteHrs": "INTELLIGENT_TIERING DEEP_ARCHIVE",
}
_NEEDED = ("usageType", "StartingRange", "PricePerUnit", "Unit", "Currency", "EffectiveDate", "TermType")


@dataclass(frozen=True)
class StoragePrices:
    """Prices of one region.

    Attributes:
        effective: date from which the prices are valid, the newest of the list.
        tiers: for each class, the gigabytes from which on a price per gigabyte and month is valid, in order.
    """

    currency: str
    effective: str
    tiers: Mapping[str, tuple[tuple[float, float], ...]]

    @classmethod
    def from_price_list(cls, lines: Iterable[str], where: str) -> StoragePrices:
        """Read the CSV file of AWS's price list of Amazon S3 in a region: lines about the file, a header, and prices.

        Args:
            lines: of the file.
            where: the file, for error messages.

        Raises:
            ValueError: it is no such file. The message names it and says what to do.
        """
        rows = csv.reader(lines)
        header = next((row for row in rows if "SKU" in row), None)
        missing = [name for name in _NEEDED if name not in (header or ())]
        if header is None or missing:
            raise ValueError(
                f"{where} is no price list of AWS: it has no column {missing[0] if missing else 'SKU'}. Download "
                "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonS3/current/<region>/index.csv"
            )
        found: dict[str, dict[float, float]] = {}
        currencies, dates = set(), set()
        for row in rows:
            price = dict(zip(header, row, strict=False))
            known = _class_of(price["usageType"])
            if known is None or price["TermType"] != "OnDemand" or price["Unit"] != "GB-Mo":
                continue
            found.setdefault(known, {})[float(price["StartingRange"] or 0)] = float(price["PricePerUnit"])
            currencies.add(price["Currency"])
            dates.add(price["EffectiveDate"])
        if "STANDARD" not in found or len(currencies) != 1:
            raise ValueError(
                f"{where} has no prices of the class STANDARD in one currency: is it the list of AmazonS3?"
            )
        return cls(currencies.pop(), max(dates), {name: tuple(sorted(tiers.items())) for name, tiers in found.items()})

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


def _class_of(usage: str) -> str | None:
    """Return the class of a usage type, which has a prefix in all regions but one, such as `EUC1-`."""
    return next((name for suffix, name in _USAGE.items() if usage == suffix or usage.endswith(f"-{suffix}")), None)
