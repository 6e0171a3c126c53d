"""The inventories of a day: of each bucket the newest that S3 began by its end, whenever it was delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.history import (
    EnteredInventory,
    KeptPast,
    following_inventories,
    lost_inventories,
)


@dataclass
class InventoriesRead:
    """A version of the table, and the inventories whose rows are read from it."""

    version: int
    inventories: list[EnteredInventory] = field(default_factory=list)


def inventories_as_of(
    entered: Sequence[EnteredInventory], day: date, kept: KeptPast, present: int
) -> list[InventoriesRead]:
    """Return which versions to read for the inventories of a day. Empty inventories need none.

    Args:
        entered: all inventories of the table, in the order of their batches.
        day: in UTC. An inventory that S3 began on this day belongs to it.
        kept: which versions can be read.
        present: Delta version that has the newest inventory of each subject.

    Raises:
        InventoryError: the table has no inventory of that day, or its files may be deleted.
    """
    newest = {one.subject: one for one in entered if one.day <= day}  # later batches have later inventories
    if not newest:
        first = min((one.day for one in entered), default=None)
        raise InventoryError(
            f"no inventory of {day} or before is known" + (f": ask for {first} or later" if first else " yet")
        )
    following = following_inventories(entered)
    lost = lost_inventories(entered, kept)
    if some := [one for one in newest.values() if one in lost]:
        since = max(following[one].day for one in lost)
        raise InventoryError(
            f"the files of the inventory of {some[0].subject} of {some[0].day} may be deleted, because the table keeps "
            "them for delta.deletedFileRetentionDuration and delta.logRetentionDuration only: "
            f"ask for {since} or later"
        )
    last = {one: following[one].version - 1 if one in following else present for one in newest.values() if one.rows}
    reads: list[InventoriesRead] = []
    for one in sorted(last, key=lambda one: (last[one], one.n)):
        # Each version is the last that has one of its inventories, so none of the others was replaced before.
        if not reads or reads[-1].version < one.version:
            reads.append(InventoriesRead(last[one]))
        reads[-1].inventories.append(one)
    return reads
