"""A report of what the objects of all inventories cost a month, by several dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.core.storage.cost import CostLine, StoredSum, cost_lines, roll_up
from tidegate.platform.core.storage.prices import StoragePrices

#: Dimensions of the sums that a report is made of.
OF = ("bucket", "prefix", "storage_class", "age", "size")
#: What the lines of a report are by.
BY: Sequence[tuple[str, ...]] = (("bucket",), ("bucket", "prefix"), ("storage_class",), ("age",), ("size",))


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
    def of(cls, sums: Sequence[StoredSum], prices: StoragePrices) -> CostReport:
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
