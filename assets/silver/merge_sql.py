"""The SQL of a merge: the newest row of each key, and what it changes in the silver table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidegate.assets.silver.aligned import aligned
from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.schema.column_types import Field, Type, quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.columns import CHANGED_AT, CHANGED_BATCH, DELETED, SILVER_COLUMNS
from tidegate.platform.core.silver.merge_mode import MergeMode, merge_mode
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.resources.spark.results import Merging

#: Types of a column: in bronze, and in silver.
_Types = Mapping[str, tuple[Type, Type]]


def build_merge(work: PendingMerge, changes: Changes, rules: MergeRules, silver: TableSchema) -> Merging:
    """Build a merge in both of its forms: as Delta's MERGE and, where it is allowed, as the keyed merge.

    Args:
        work: what is pending.
        changes: the rows to merge.
        rules: what a row of bronze is in silver.
        silver: the columns of the silver table, after it was created or widened.
    """
    mode = merge_mode(
        is_full=changes.why_full is not None,
        is_reread=changes.is_reread,
        has_other_rows=work.mark is None and work.silver.files > 0,
        mirrors_removals=work.spec.on_removed == "full",
    )
    # A new silver table has bronze's types.
    types = {field.name: (field.type, (silver.named(field.name) or field).type) for field in rules.columns}
    name = f"silver.{work.table.spec.name}"
    tie = "true" if rules.on_tie == "last" else _no_tie(name, rules, types)
    newer = mode.newer([part.path for part in rules.order], tie)
    values = {column: aligned(*types[column], rules.values[column]) for column in types}
    rows = _newest_rows(name, rules, changes.view, values)
    unaligned = _newest_rows(name, rules, changes.view, rules.values)
    same_key = " AND ".join(f"t.{part.path} <=> s.{part.path}" for part in rules.keys)
    clauses = mode.clauses(newer=newer, update=_assignments(types), insert=_new_row(types))
    statement = f"MERGE INTO delta.`{work.location}` t USING ({unaligned}) s ON {same_key} {clauses}"
    # The number of rows in a merge of all of bronze is unknown. An empty table takes any number by the keyed merge.
    is_bounded = changes.why_full is None or work.silver.files == 0
    # A field that bronze lacks keeps the value of the replaced row, which only the MERGE can do.
    shared = (Field(column, in_silver) for column, (_, in_silver) in types.items())
    is_keyed = mode is MergeMode.UPSERT and is_bounded and not any(TableSchema(rules.columns).missing(shared))
    keys = [part.path for part in rules.keys]
    return Merging(rows, keys, newer if is_keyed else None, int(changes.volume["rows"]), statement)


def _newest_rows(name: str, rules: MergeRules, view: str, values: Mapping[str, str]) -> str:
    """Returns a query of these values and silver's own columns, of the newest row of each key."""
    keys = ", ".join(part.sql for part in rules.keys)
    order = ", ".join(f"{part.sql} DESC NULLS LAST" for part in rules.order)
    deleted, compared = rules.deleted, ""
    if rules.on_tie == "fail":
        # Rows that are alike are no tie: a producer that repeats itself says nothing new.
        row = f"to_json(struct({', '.join([*rules.values.values(), f'{rules.deleted} AS {DELETED}'])}))"
        equal = f"PARTITION BY {keys}, {', '.join(part.sql for part in rules.order)}"
        compared = f", min({row}) OVER ({equal}) AS _tidegate_first, max({row}) OVER ({equal}) AS _tidegate_last"
        key = _text(part.sql for part in rules.keys)
        deleted = f"if(_tidegate_first <> _tidegate_last, {_tie(name, key)}, {deleted})"
    places = (
        f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {order}, "
        f"_tidegate_n DESC, _tidegate_path DESC, _tidegate_row DESC) AS _tidegate_place{compared} FROM {view}"
    )
    own = (
        f"{deleted} AS {DELETED}",
        f"_tidegate_n AS {CHANGED_BATCH}",
        f"current_timestamp() AS {CHANGED_AT}",
    )
    given = [f"{value} AS {quoted(column)}" for column, value in values.items()]
    return f"SELECT {', '.join([*given, *own])} FROM ({places}) WHERE _tidegate_place = 1"


def _no_tie(name: str, rules: MergeRules, types: _Types) -> str:
    """Returns a condition over a row `s` and a row `t` of an equal order. It raises an error if they differ."""
    ours, theirs = (
        f"to_json(struct({', '.join([*values, f'{side}.{DELETED}'])}))"
        for side, values in (
            ("s", [f"{_value(types, column, 's.')} AS {quoted(column)}" for column in types]),
            ("t", [f"t.{quoted(column)}" for column in types]),
        )
    )
    return f"if({ours} <=> {theirs}, true, {_tie(name, _text(f's.{part.path}' for part in rules.keys))})"


def _text(parts: Iterable[str]) -> str:
    return f"to_json(array({', '.join(f'CAST({part} AS STRING)' for part in parts)}))"


def _tie(name: str, key: str) -> str:
    return (
        f"raise_error(concat('{name}: two different rows have the key ', {key}, ' and an equal `order`: add a column "
        "to `order` in lake.yaml that distinguishes them, or remove `on_tie`, and the last one counts'))"
    )


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
