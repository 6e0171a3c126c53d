"""Tidegate's own columns of a silver table."""

from __future__ import annotations

from tidegate.platform.core.config.silver import SilverSpec

#: Tidegate's own columns: whether the key is deleted, and the batch and the time that last changed the row.
DELETED, CHANGED_BATCH, CHANGED_AT = SILVER_COLUMNS = ("_deleted", "_changed_batch", "_changed_at")
#: Tidegate's own columns of a table whose rows alone do not show their key or their order.
KEY, ORDER = "_key", "_order"


def own_columns(silver: SilverSpec | None) -> tuple[str, ...]:
    """Returns the names of Tidegate's own columns in a silver table."""
    if silver is None:
        return SILVER_COLUMNS
    kept = ((KEY, silver.keeps_keys), (ORDER, silver.keeps_order))
    return (*SILVER_COLUMNS, *(name for name, is_kept in kept if is_kept))
