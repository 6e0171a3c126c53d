"""Which deliveries of inventories Spark reads at once."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.bronze.prepare.inventories.entry import Entry
from tidegate.platform.core.keys.s3_address import plain_address

#: A delivery up to this size is read with others. A larger one has a read of its own, because rows that are read with
#: those of others are joined with what is known of their file.
SMALL_BYTES = 4 << 20


def alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Divide deliveries into those that Spark reads at once: small ones of one format, with the same columns.

    A union of hundreds of reads takes Spark longer to plan than to run.
    """
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        inventory = entry.inventory
        small = 0 < entry.size <= SMALL_BYTES and all(map(plain_address, inventory.addresses))
        group = (inventory.format, tuple(inventory.columns.items())) if small else entry.delivery
        groups.setdefault(group, []).append(entry)
    return list(groups.values())
