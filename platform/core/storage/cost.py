"""What the storage of an inventory costs a month, from sums that Spark made.

A line of a report is of a bucket, prefix, class, age and size. A report has such lines by several dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.core.storage.prices import StoragePrices

#: What a report can be divided by.
DIMENSIONS = ("bucket", "configuration", "prefix", "storage_class", "age", "size", "version")
#: Classes of age: days that are not reached yet, with the name. Then the name of all that are older.
AGES, OLDER = ((30, "under 30 days"), (90, "under 90 days"), (365, "under a year")), "a year and more"
#: Classes of size, as those of age. S3 bills objects below the first bound as larger in some classes.
SIZES = ((128 << 10, "under 128 KiB"), (1 << 20, "under 1 MiB"), (128 << 20, "under 128 MiB"))
LARGER = "128 MiB and more"
#: The values of the dimension `version`.
CURRENT, NONCURRENT = "current", "noncurrent"
#: A configuration without the field StorageClass, and one without Size, leave it unknown what objects cost.
UNKNOWN = "unknown"
#: Whether a lifecycle rule deletes objects soon, for advice.
STAYS, ENDS = "stays", "ends"
#: The prefix of a group that has all prefixes of its bucket. Others are empty or end in "/".
COMBINED_PREFIXES = "prefixes put together"

#: Dimensions of the sums that a report is made of.
OF = ("bucket", "prefix", "storage_class", "age", "size")
#: What the lines of a report are by.
BY: Sequence[tuple[str, ...]] = (("bucket",), ("bucket", "prefix"), ("storage_class",), ("age",), ("size",))


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
        monitored: objects that INTELLIGENT_TIERING monitors.
    """

    group: tuple[str, ...]
    storage_class: str
    objects: int
    size: int
    billed: int
    billed_standard: int
    monitored: int = 0


@dataclass(frozen=True)
class CostLine:
    """One line of a report.

    Attributes:
        cost: of a month. Objects of classes without a price cost nothing in it.
        unpriced: bytes of classes without a price.
        without_fee: objects that INTELLIGENT_TIERING monitors, if the price of that is not known. Their fee is not in
            the cost.
    """

    group: tuple[str, ...]
    objects: int
    size: int
    cost: float
    unpriced: int
    without_fee: int = 0


def cost_lines(sums: Iterable[StoredSum], prices: StoragePrices) -> list[CostLine]:
    """Return the lines of a report, the most expensive first.

    Prices have tiers of the whole account. A group pays its share of what everything in its class costs.

    Args:
        sums: all objects of the account, as far as the table has them.
        prices: of the region.
    """
    sums = list(sums)
    totals = {"STANDARD": 0}
    for stored_sum in sums:
        totals[stored_sum.storage_class] = totals.get(stored_sum.storage_class, 0) + stored_sum.billed
        totals["STANDARD"] += stored_sum.billed_standard
    rates = {name: _rate(prices, name, total) for name, total in totals.items()}
    groups: dict[tuple[str, ...], list[StoredSum]] = {}
    for stored_sum in sums:
        groups.setdefault(stored_sum.group, []).append(stored_sum)
    lines = [_line(group, some, rates, prices.monitoring) for group, some in groups.items()]
    return sorted(lines, key=lambda line: (-line.cost, -line.size, line.group))


def roll_up(sums: Iterable[StoredSum], of: Sequence[str], by: Sequence[str]) -> list[StoredSum]:
    """Return the sums by fewer dimensions.

    Args:
        sums: by the dimensions `of`.
        of: dimensions of the groups that there are.
        by: dimensions of the groups that are wanted, some of `of`.
    """
    places = [of.index(name) for name in by]
    found: dict[tuple[tuple[str, ...], str], StoredSum] = {}
    for stored_sum in sums:
        group = tuple(stored_sum.group[place] for place in places)
        known = found.get((group, stored_sum.storage_class), StoredSum(group, stored_sum.storage_class, 0, 0, 0, 0))
        found[group, stored_sum.storage_class] = StoredSum(
            group,
            stored_sum.storage_class,
            known.objects + stored_sum.objects,
            known.size + stored_sum.size,
            known.billed + stored_sum.billed,
            known.billed_standard + stored_sum.billed_standard,
            known.monitored + stored_sum.monitored,
        )
    return list(found.values())


def _rate(prices: StoragePrices, name: str, total: int) -> float | None:
    """Return the price of a byte and month, on average over the tiers."""
    cost = prices.monthly(name, total)
    return None if cost is None else cost / total if total else 0.0


def _line(
    group: tuple[str, ...], sums: Sequence[StoredSum], rates: dict[str, float | None], monitoring: float | None
) -> CostLine:
    standard = rates["STANDARD"] or 0.0
    cost = sum(
        (rates[stored_sum.storage_class] or 0.0) * stored_sum.billed + standard * stored_sum.billed_standard
        for stored_sum in sums
    )
    monitored = sum(stored_sum.monitored for stored_sum in sums)
    cost += (monitoring or 0.0) * monitored
    unpriced = sum(stored_sum.size for stored_sum in sums if rates[stored_sum.storage_class] is None)
    objects, size = sum(stored_sum.objects for stored_sum in sums), sum(stored_sum.size for stored_sum in sums)
    return CostLine(group, objects, size, cost, unpriced, monitored if monitoring is None else 0)


@dataclass(frozen=True)
class CostReport:
    """What objects cost a month.

    Attributes:
        lines: by the dimensions, the most expensive first.
        effective: date from which the prices are valid.
        unpriced: bytes of classes without a price. Their cost is not in the report.
        without_fee: objects whose fee of INTELLIGENT_TIERING is not in the report, because its price is not known.
    """

    lines: Mapping[tuple[str, ...], Sequence[CostLine]]
    currency: str
    effective: str
    objects: int
    size: int
    cost: float
    unpriced: int
    without_fee: int

    @classmethod
    def from_sums(cls, sums: Sequence[StoredSum], prices: StoragePrices) -> CostReport:
        """Make the report.

        Args:
            sums: by the dimensions `OF`.
            prices: of the region.
        """
        lines = {by: cost_lines(roll_up(sums, OF, by), prices) for by in BY}
        by_class = lines["storage_class",]
        return cls(
            lines,
            prices.currency,
            prices.effective,
            sum(line.objects for line in by_class),
            sum(line.size for line in by_class),
            sum(line.cost for line in by_class),
            sum(line.unpriced for line in by_class),
            sum(line.without_fee for line in by_class),
        )
