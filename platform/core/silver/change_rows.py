"""The queries of a silver table's changes, from one version to the next, as rows of an export."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.silver_columns import (
    CHANGE_COLUMNS,
    CHANGE_TYPE,
    COMMIT_VERSION,
    shown_rows_condition,
)
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, Type, inner_fields, quote_name
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.sql_literal import delta_table

#: Columns that an export has before those of the table, by the names of Delta's change data feed.
#: The values of the first, in the order of a table's life.
INSERT, BEFORE, AFTER, DELETE = ("insert", "update_preimage", "update_postimage", "delete")
#: Columns on the way: whether a row is one after the commit, and whether one or each row of its key is.
_IS, _SOME, _EVERY = "_tidegate_after", "_tidegate_some_after", "_tidegate_every_after"


def snapshot_query(location: str, version: int, own: Sequence[str]) -> str:
    """Return the query of all rows that the view has at a version, as inserts, with the columns of that version.

    Args:
        location: `s3a://` URI of the silver table.
        version: Delta version.
        own: Tidegate's own columns in the table.
    """
    return _select_change(
        f"'{INSERT}'", "", version, f"{delta_table(location)} VERSION AS OF {version} WHERE {shown_rows_condition(own)}"
    )


def changes_query(location: str, version: int, keys: Sequence[str], own: Sequence[str]) -> str:
    """Return the query of the rows of the view that the commit of a version changed.

    A tombstone is not a row of the view. So a row that becomes a tombstone is a delete, and a key that comes back is an
    insert. Tidegate's merge and Delta's write an update as different pairs of rows, and here they become one form: a
    key that has a row before and a row after is an update.

    Args:
        location: `s3a://` URI of the silver table, which has a change data feed.
        version: Delta version.
        keys: SQL of the key. A key has one row in the view.
        own: Tidegate's own columns in the table.
    """
    kind = (
        f"CASE WHEN {_IS} AND {_EVERY} THEN '{INSERT}' WHEN {_IS} THEN '{AFTER}' "
        f"WHEN {_SOME} THEN '{BEFORE}' ELSE '{DELETE}' END"
    )
    changed = (
        f"SELECT *, {CHANGE_TYPE} IN ('{INSERT}', '{AFTER}') AS {_IS} "
        f"FROM table_changes_by_path('{location}', {version}, {version}) WHERE {shown_rows_condition(own)}"
    )
    sides = (
        f"SELECT *, max({_IS}) OVER key AS {_SOME}, min({_IS}) OVER key AS {_EVERY} "
        f"FROM ({changed}) WINDOW key AS (PARTITION BY {', '.join(keys)})"
    )
    excluded = f" EXCEPT ({', '.join((*CHANGE_COLUMNS, _IS, _SOME, _EVERY))})"
    return _select_change(kind, excluded, version, f"({sides})")


def remaining_change_type(keys: Sequence[str]) -> str:
    """Return SQL of the change type of rows of which some were left out: half of an update is a delete or an insert.

    Args:
        keys: SQL of the key.
    """
    there = "max({kind} = '{side}') OVER (PARTITION BY {keys})"
    before, after = (there.format(kind=CHANGE_TYPE, side=side, keys=", ".join(keys)) for side in (BEFORE, AFTER))
    return (
        f"CASE WHEN {CHANGE_TYPE} = '{BEFORE}' AND NOT {after} THEN '{DELETE}' "
        f"WHEN {CHANGE_TYPE} = '{AFTER}' AND NOT {before} THEN '{INSERT}' ELSE {CHANGE_TYPE} END"
    )


def exported_columns(fields: Sequence[Field], own: Sequence[str], *, is_text: bool) -> list[str]:
    """Return the SQL of each column of an export.

    Args:
        fields: the columns of the silver table.
        own: Tidegate's own columns, which an export does not have.
        is_text: whether the format has only text.
    """
    return [_export_value(field, is_text=is_text) for field in fields if field.name not in own]


def _export_value(field: Field, *, is_text: bool) -> str:
    name = quote_name(field.name)
    if _has_variant(field.type) or (is_text and isinstance(field.type, Array | Map | Struct)):
        return f"{exact_json(name)} AS {name}"
    if is_text and field.type == Simple("binary"):
        return f"base64({name}) AS {name}"
    return name


def _has_variant(kind: Type) -> bool:
    if isinstance(kind, Array):
        return _has_variant(kind.element)
    if isinstance(kind, Map):
        return _has_variant(kind.value)
    return kind == Simple("variant") or any(_has_variant(field.type) for field in inner_fields(kind))


def _select_change(kind: str, excluded: str, version: int, source: str) -> str:
    return f"SELECT {kind} AS {CHANGE_TYPE}, {version}L AS {COMMIT_VERSION}, *{excluded} FROM {source}"
