"""Which buckets of a table of inventories are late, for its page."""

from __future__ import annotations

from itertools import chain

from tidegate.platform.bronze.prepare.inventories.newest import newest_deliveries
from tidegate.platform.core.inventory.late import LateInventory, late_inventories
from tidegate.platform.lake.lake import Table


def find_late_inventories(table: Table) -> list[LateInventory] | None:
    """Return the buckets of a table whose newest inventory is too old. None if it is no table of inventories."""
    if not table.spec.has_inventories:
        return None
    deliveries = chain.from_iterable(newest_deliveries(table, 3).values())
    found = late_inventories(deliveries, spec=table.spec.inventories)
    # The destination lists other buckets, and never itself.
    return [one for one in found if one.subject.bucket != table.key.bucket]
