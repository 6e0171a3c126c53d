"""Which buckets of a table of inventories are late, for its page."""

from __future__ import annotations

from tidegate.platform.core.inventory.delivery import Delivery
from tidegate.platform.core.inventory.late import LateInventory, late_inventories
from tidegate.resources.lake import Table


def late_in(table: Table) -> list[LateInventory] | None:
    """Return the buckets of a table whose newest inventory is too old. None if it is no table of inventories."""
    if not table.spec.has_inventories:
        return None
    keys = table.ledger.last_of_folders(table.ledger.clock().version, 2)
    deliveries = (Delivery.of(key, table.key.prefix) for key in keys)
    return late_inventories(delivery for delivery in deliveries if delivery)
