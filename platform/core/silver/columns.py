"""The columns of a silver table: Tidegate's own, and those of bronze that a silver table requires."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_reference import path_of
from tidegate.platform.core.schema.column_types import Field

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


def missing_columns(silver: SilverSpec, columns: Sequence[Field]) -> list[str]:
    """Returns the columns and nested fields of keys and order that bronze lacks. Case does not matter."""
    return [name for name in silver.named if path_of(name, columns) is None]
