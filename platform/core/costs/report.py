"""The cost of the tables of a lake, by table and month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.platform.core.costs.replay import Timing
from tidegate.platform.core.costs.table_cost import MonthCost, Remedy


@dataclass(frozen=True)
class TableReport:
    """What one table costs.

    Attributes:
        table: SQL name.
        table_key: key of the table.
        timing: its settings.
        months: the last month first.
        remedy: for the last month. None if no setting saves enough.
    """

    table: str
    table_key: str
    timing: Timing
    months: Sequence[MonthCost]
    remedy: Remedy | None

    @property
    def advice(self) -> str:
        """The remedy as a sentence; empty if there is none."""
        return self.remedy.text(self.timing) if self.remedy else ""


@dataclass(frozen=True)
class LakeCosts:
    """What the tables of a lake cost.

    Attributes:
        tables: the most expensive first.
        unread: why tables are not among them, by key: their birth record or a log cannot be read.
    """

    tables: Sequence[TableReport]
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each table that is left out."""
        return [f"{key} is not in the costs, because it cannot be read: {why}" for key, why in self.unread.items()]


def most_expensive_first(tables: Sequence[TableReport]) -> list[TableReport]:
    """Return the tables in the order of what their last month cost."""
    return sorted(tables, key=lambda table: (-table.months[0].total if table.months else 0.0, table.table))
