"""Tidegate's own columns of a silver table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tidegate.platform.core.config.silver import SilverSpec

#: Tidegate's own columns: whether the key is deleted, and the batch and the time that last changed the row.
DELETED, CHANGED_BATCH, CHANGED_AT = SILVER_COLUMNS = ("_deleted", "_changed_batch", "_changed_at")
#: Tidegate's own columns of a table whose rows alone do not show their key or their order.
KEY, ORDER = "_key", "_order"
#: Of a history: from where and to where in the order of its key a row holds, and whether it still does.
VALID_FROM, VALID_TO, IS_CURRENT = HISTORY_COLUMNS = ("valid_from", "valid_to", "is_current")
#: Tidegate's own columns of a history: whether the next change of the key continues the row, so that the view does not
#: show it, and the names of the columns that the change left as they were.
JOINED, LEFT = "_joined", "_left"
#: Suffix of the SQL name of the silver table itself. The view has the name without it.
WITH_TOMBSTONES = "_with_tombstones"


def own_columns(silver: SilverSpec | None) -> tuple[str, ...]:
    """Returns the names of Tidegate's own columns in a silver table."""
    if silver is None:
        return SILVER_COLUMNS
    kept = (
        (KEY, silver.keeps_keys),
        (ORDER, silver.keeps_order),
        (JOINED, silver.is_history),
        (LEFT, silver.is_history and silver.leaves_values),
    )
    return (*SILVER_COLUMNS, *(name for name, is_kept in kept if is_kept))


def hiding(own: Collection[str]) -> tuple[str, ...]:
    """Returns those of Tidegate's own columns that hide a row from the view where they are true."""
    return (DELETED, JOINED) if JOINED in own else (DELETED,)


def shown(own: Collection[str], quoted: Callable[[str], str] = str) -> str:
    """Returns the condition of the rows that the view of a silver table shows.

    Args:
        own: Tidegate's own columns in the table.
        quoted: writes a name as the SQL of the view's engine wants it. Spark needs no quotes.
    """
    return " AND ".join(f"NOT {quoted(name)}" for name in hiding(own))


def silver_query(relation: str, own: Sequence[str]) -> str:
    """Returns the query that hides a silver table's tombstones, joined rows and bookkeeping.

    Args:
        relation: the silver table.
        own: Tidegate's own columns in it.
    """
    return f"SELECT * EXCEPT ({', '.join(own)}) FROM {relation} WHERE {shown(own)}"
