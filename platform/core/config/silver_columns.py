"""Tidegate's own columns of a silver table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field, Map, Simple, fold_name
from tidegate.platform.core.schema.names import OWN_NAME_PREFIX

#: Tidegate's own columns: whether the key is deleted, and the batch and the time that last changed the row.
DELETED, CHANGED_BATCH, CHANGED_AT = SILVER_COLUMNS = ("_deleted", "_changed_batch", "_changed_at")
#: Tidegate's own columns of a table whose rows alone do not show their key or their order.
KEY, ORDER = "_key", "_order"
#: Of a history: from where and to where in the order of its key a row holds, and whether it still does.
VALID_FROM, VALID_TO, IS_CURRENT = HISTORY_COLUMNS = ("valid_from", "valid_to", "is_current")
#: Tidegate's own column of a history: whether the next change of the key continues the row, so that the view does not
#: show it.
JOINED = "_joined"
#: Tidegate's own column of a table whose rows may leave values as they are. In a history it has the names of the
#: columns that the change left. Of the newest rows it has, by column, the order of the older row that gave the value,
#: as JSON, or that of the last delete of the key if no row did. With `GIVERS`. NULL where a row has all of its values
#: itself.
LEFT = "_left"
#: The entry of `LEFT` with the order of the last delete before the row. It is for columns that the table did not have
#: yet, so only tables have it that ignore NULLs. No column has this name.
LAST_DELETE = ""
LEFT_TYPE = Map(Simple("string"), Simple("string"))
#: The field of an entry of `LEFT` with the identities of the persons of the row that gave the value. Of a table with
#: `personal.subject`, every entry of this version has it.
GIVERS = "by"
#: Columns that Delta's change data feed, of which exports are made, adds to those of silver.
CHANGE_COLUMNS = CHANGE_TYPE, COMMIT_VERSION, _ = "_change_type", "_commit_version", "_commit_timestamp"
#: Suffix of the SQL name of the silver table itself. The view has the name without it.
WITH_TOMBSTONES = "_with_tombstones"


def own_columns(silver: SilverSpec | None, have: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the names of Tidegate's own columns in a silver table.

    Args:
        silver: the options of the table.
        have: the columns of the table. One that an older version made does not have `LEFT` before its next merge. None:
            those of a table that this version made.
    """
    if silver is None:
        return SILVER_COLUMNS
    kept = (
        (KEY, silver.keeps_keys),
        (ORDER, silver.keeps_order),
        (JOINED, silver.is_history),
        (LEFT, silver.leaves_values and (silver.is_history or have is None or LEFT in have)),
    )
    return (*SILVER_COLUMNS, *(name for name, is_kept in kept if is_kept))


def hiding_columns(own: Collection[str]) -> tuple[str, ...]:
    """Return those of Tidegate's own columns that hide a row from the view where they are true."""
    return (DELETED, JOINED) if JOINED in own else (DELETED,)


def taken_names(silver: SilverSpec) -> frozenset[str]:
    """Return the names that a column of silver that comes from bronze cannot have."""
    of_history = HISTORY_COLUMNS if silver.is_history else ()
    # A merge computes the key in this column, also if silver does not have it.
    return frozenset((*own_columns(silver), KEY, *of_history, *(CHANGE_COLUMNS if silver.export else ())))


def is_own(name: str, silver: SilverSpec) -> bool:
    """Return whether no column of silver that comes from bronze can have a folded name."""
    return name in taken_names(silver) or name.startswith(OWN_NAME_PREFIX)


def left_out_names(silver: SilverSpec, fields: Sequence[Field], given: Sequence[str]) -> tuple[str, ...]:
    """Return the fields of `row` that cannot be columns of silver, because columns of its own have their names.

    The writer of a change would stop all merges by such a field. Bronze refuses it only as a column.

    Args:
        fields: the columns that silver would have.
        given: those that rows have. A column that lake.yaml names belongs to nobody else.
    """
    chosen = {fold_name(name) for name in (*silver.columns, *silver.derive)}
    theirs = set(given) if silver.row is not None else set()
    return tuple(
        field.name
        for field in fields
        if field.name in theirs and (name := fold_name(field.name)) not in chosen and is_own(name, silver)
    )


def reserved_in_bronze(silver: SilverSpec | None) -> frozenset[str]:
    """Return the folded names that a new column of bronze cannot have, because silver could not take it.

    A column that silver renames, or leaves out, may have any name. With `row` silver has other columns than bronze.
    """
    if silver is None or silver.row is not None:
        return frozenset()
    apart = {fold_name(name) for name in (*silver.except_columns, *silver.rename)}
    chosen = {fold_name(name) for name in silver.columns}
    return frozenset(name for name in taken_names(silver) - apart if not chosen or name in chosen)


def shown_rows_condition(own: Collection[str], quoted: Callable[[str], str] = str) -> str:
    """Return the condition of the rows that the view of a silver table shows.

    Args:
        own: Tidegate's own columns in the table.
        quoted: writes a name as the SQL of the view's engine wants it. Spark needs no quotes.
    """
    return " AND ".join(f"NOT {quoted(name)}" for name in hiding_columns(own))


def silver_query(relation: str, own: Sequence[str]) -> str:
    """Return the query that hides a silver table's tombstones, joined rows and bookkeeping.

    Args:
        relation: the silver table.
        own: Tidegate's own columns in it.
    """
    return f"SELECT * EXCEPT ({', '.join(own)}) FROM {relation} WHERE {shown_rows_condition(own)}"
