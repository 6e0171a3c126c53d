"""Which buckets of a table of inventories are late, for its page."""

from __future__ import annotations

from tidegate.platform.core.inventory.delivery import Delivery
from tidegate.platform.core.inventory.late import LateInventory, late_inventories
from tidegate.resources.lake import Table


def late_in(table: Table) -> list[LateInventory] | None:
    """Return the buckets of a table whose newest inventory is too old. None if it is no table of inventories."""
    if not table.spec.has_inventories:
        return None
    keys = table.ledger.last_of_folders(table.ledger.clock().version, 3)
    deliveries = (Delivery.of(key, table.key.prefix) for key in keys)
    found = late_inventories((delivery for delivery in deliveries if delivery), spec=table.spec.inventories)
    # The destination lists other buckets, and never itself.
    return [one for one in found if one.subject.bucket != table.key.bucket]
