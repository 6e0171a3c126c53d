"""The columns of a silver table: Tidegate's own, and those of bronze that a silver table requires."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.platform.core.config.silver import SilverSpec

#: Tidegate's own columns: whether the key is deleted, and the batch and the time that last changed the row.
DELETED, CHANGED_BATCH, CHANGED_AT = SILVER_COLUMNS = ("_deleted", "_changed_batch", "_changed_at")


def missing_columns(silver: SilverSpec, columns: Collection[str]) -> list[str]:
    """Returns the key columns and the order column that bronze lacks. Case does not matter.

    A field within a column is no column.
    """
    known = {name.lower() for name in columns}
    return [name for name in (*silver.keys, silver.order) if name.lower() not in known]
