"""What the comparison of a table with its inventory found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InventoryComparison:
    """A table's comparison with an inventory.

    Attributes:
        uri: of the inventory's manifest.
        created: epoch seconds at which S3 began to look at the bucket.
        keys: how many it has below the table's prefix.
        differing: how many hints came of it.
    """

    uri: str
    created: float
    keys: int
    differing: int
