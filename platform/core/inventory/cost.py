"""What the storage of an inventory costs a month, by bucket, prefix, class, age and size: from sums that Spark made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.platform.core.inventory.prices import StoragePrices

#: What a report can be divided by.
DIMENSIONS = ("bucket", "configuration", "prefix", "storage_class", "age", "size")


@dataclass(frozen=True)
class StoredSum:
    """Objects of one group of a report that are billed alike.

    Attributes:
        group: values of the report's dimensions.
        storage_class: the class, with the tier of access if it has some.
        objects: versions that have bytes or could have some: delete markers are not among them.
        size: bytes.
        billed: bytes that are billed in the class.
        billed_standard: bytes that are billed in STANDARD in addition.
    """

    group: tuple[str, ...]
    storage_class: str
    objects: int
    size: int
    billed: int
    billed_standard: int


@dataclass(frozen=True)
class CostLine:
    """One line of a report.

    Attributes:
        cost: of a month. Objects of classes without a price cost nothing in it.
        unpriced: bytes of classes without a price.
    """

    group: tuple[str, ...]
    objects: int
    size: int
    cost: float
    unpriced: int


def cost_lines(sums: Iterable[StoredSum], prices: StoragePrices) -> list[CostLine]:
    """Return the lines of a report, the most expensive first.

    Prices have tiers of the whole account. A group pays its share of what everything in its class costs.

    Args:
        sums: all objects of the account, as far as the table has them.
        prices: of the region.
    """
    sums = list(sums)
    totals: dict[str, int] = {}
    for one in sums:
        totals[one.storage_class] = totals.get(one.storage_class, 0) + one.billed
        totals["STANDARD"] = totals.get("STANDARD", 0) + one.billed_standard
    rates = {name: _rate(prices, name, total) for name, total in totals.items()}
    groups: dict[tuple[str, ...], list[StoredSum]] = {}
    for one in sums:
        groups.setdefault(one.group, []).append(one)
    lines = [_line(group, some, rates) for group, some in groups.items()]
    return sorted(lines, key=lambda line: (-line.cost, -line.size, line.group))


def _rate(prices: StoragePrices, name: str, total: int) -> float | None:
    """Return the price of a byte and month, on average over the tiers."""
    cost = prices.monthly(name, total)
    return None if cost is None else cost / total if total else 0.0


def _line(group: tuple[str, ...], sums: Sequence[StoredSum], rates: dict[str, float | None]) -> CostLine:
    standard = rates["STANDARD"] or 0.0
    cost = sum((rates[one.storage_class] or 0.0) * one.billed + standard * one.billed_standard for one in sums)
    unpriced = sum(one.size for one in sums if rates[one.storage_class] is None)
    return CostLine(group, sum(one.objects for one in sums), sum(one.size for one in sums), cost, unpriced)
