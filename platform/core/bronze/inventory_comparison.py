"""The result of comparing a table with its S3 Inventory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InventoryComparison:
    """The result of comparing a table's ledger with an inventory.

    Attributes:
        uri: address of the inventory's manifest.
        created: when S3 began to write the inventory, in epoch seconds.
        keys: number of keys under the table's prefix in the inventory.
        differing: number of hints written for keys that differ.
    """

    uri: str
    created: float
    keys: int
    differing: int
