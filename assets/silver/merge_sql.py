"""The SQL of a merge: the newest row of each key, and what it changes in the silver table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidegate.assets.silver.aligned import aligned
from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field, Type, quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.columns import CHANGED_AT, CHANGED_BATCH, DELETED, SILVER_COLUMNS
from tidegate.platform.core.silver.merge_mode import MergeMode, merge_mode
from tidegate.resources.spark.results import Merging

#: Types of a column: in bronze, and in silver.
_Types = Mapping[str, tuple[Type, Type]]


def build_merge(work: PendingMerge, changes: Changes, columns: Sequence[Field], silver: TableSchema) -> Merging:
    """Build a merge in both of its forms: as Delta's MERGE and, where it is allowed, as the keyed merge.

    Args:
        work: what is pending.
        changes: the rows to merge.
        columns: bronze's columns that silver takes.
        silver: the columns of the silver table, after it was created or widened.
    """
    mode = merge_mode(
        is_full=changes.why_full is not None,
        is_reread=changes.is_reread,
        has_other_rows=work.mark is None and work.silver.files > 0,
        mirrors_removals=work.spec.on_removed == "full",
    )
    # A new silver table has bronze's types.
    types = {field.name: (field.type, (silver.named(field.name) or field).type) for field in columns}
    newer = mode.newer(quoted(work.spec.order))
    rows = _newest_rows(work.spec, changes.view, [f"{_value(types, name)} AS {quoted(name)}" for name in types])
    unaligned = _newest_rows(work.spec, changes.view, [quoted(name) for name in types])
    same_key = " AND ".join(f"t.{quoted(key)} <=> s.{quoted(key)}" for key in work.spec.keys)
    clauses = mode.clauses(newer=newer, update=_assignments(types), insert=_new_row(types))
    statement = f"MERGE INTO delta.`{work.location}` t USING ({unaligned}) s ON {same_key} {clauses}"
    # The number of rows in a merge of all of bronze is unknown. An empty table takes any number by the keyed merge.
    is_bounded = changes.why_full is None or work.silver.files == 0
    # A field that bronze lacks keeps the value of the replaced row, which only the MERGE can do.
    shared = (Field(name, in_silver) for name, (_, in_silver) in types.items())
    is_keyed = mode is MergeMode.UPSERT and is_bounded and not any(TableSchema(tuple(columns)).missing(shared))
    return Merging(rows, work.spec.keys, newer if is_keyed else None, int(changes.volume["rows"]), statement)


def _newest_rows(spec: SilverSpec, view: str, values: Iterable[str]) -> str:
    """Returns a query of these values and silver's own columns, of the newest row of each key."""
    keys = ", ".join(quoted(key) for key in spec.keys)
    # On lines of its own: the condition may end in a comment.
    deleted = f"coalesce((\n{spec.delete_when}\n), false)" if spec.delete_when else "false"
    places = (
        f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {quoted(spec.order)} DESC NULLS LAST, "
        f"_tidegate_n DESC, _tidegate_path DESC, _tidegate_row DESC) AS _tidegate_place FROM {view}"
    )
    own = (
        f"{deleted} AS {DELETED}",
        f"_tidegate_n AS {CHANGED_BATCH}",
        f"current_timestamp() AS {CHANGED_AT}",
    )
    return f"SELECT {', '.join([*values, *own])} FROM ({places}) WHERE _tidegate_place = 1"


def _value(types: _Types, name: str, side: str = "", replaced: str | None = None) -> str:
    """Returns the value of a column in silver's type."""
    return aligned(*types[name], f"{side}{quoted(name)}", replaced)


def _assignments(types: _Types) -> str:
    given = (f"t.{quoted(name)} = {_value(types, name, 's.', f't.{quoted(name)}')}" for name in types)
    return ", ".join([*given, *(f"t.{name} = s.{name}" for name in SILVER_COLUMNS)])


def _new_row(types: _Types) -> str:
    names = ", ".join(quoted(name) for name in (*types, *SILVER_COLUMNS))
    values = ", ".join([*(_value(types, name, "s.") for name in types), *(f"s.{name}" for name in SILVER_COLUMNS)])
    return f"({names}) VALUES ({values})"
