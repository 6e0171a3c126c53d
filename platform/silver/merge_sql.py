"""The SQL of a merge: what the newest row of each key changes in the silver table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import (
    CHANGED_BATCH,
    DELETED,
    JOINED,
    KEY,
    LEFT,
    ORDER,
    SILVER_COLUMNS,
    hiding_columns,
    own_columns,
)
from tidegate.platform.core.schema.column_types import Field, fold_name, quote_name
from tidegate.platform.core.schema.comparable_values import comparable_value
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.merge_mode import MergeMode, merge_mode
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.spark.results import TIED, Merging, TableState
from tidegate.platform.silver.changes import Changes
from tidegate.platform.silver.dumps.snapshot_rows import with_deletes
from tidegate.platform.silver.newest_rows import (
    forgotten_rows,
    key_text,
    newest_rows,
    older_than_truncate,
    rows_of_keys_since,
    tie_error,
)
from tidegate.platform.silver.pending_merge import Aim, PendingMerge
from tidegate.platform.silver.truncate import Truncate
from tidegate.platform.silver.unchanged_values import ColumnTypes, LeftValues, kept_value, value_in_silver


def build_merge(
    work: PendingMerge,
    changes: Changes,
    rules: MergeRules,
    silver: TableSchema,
    *,
    is_partial: bool = False,
    truncate: Truncate | None = None,
    has_copies: bool = False,
) -> Merging:
    """Build a merge in both of its forms: as Delta's MERGE and, where it is allowed, as the keyed merge.

    Args:
        silver: the columns of the silver table, after it was created or widened.
        is_partial: whether some rows leave the value of a column as it is. Only the MERGE can keep that of silver.
        truncate: rows that are older are left out, and deleted if it is due. Only the MERGE can do that.
        has_copies: silver has two rows of a key. Only a rebuild of the whole table is asked.
    """
    mode = mode_of(work.spec, work.silver, work.mark, work.aim, changes)
    types = types_of(rules, silver)
    name = f"silver.{work.table.spec.name}"
    tie = "true" if rules.on_tie == "last" else _untied_condition(name, rules, types)
    newer = mode.newer_condition([part.path for part in rules.order], tie)
    is_empty = work.silver.files == 0
    stays = rows_that_stay(mode, is_empty=is_empty)
    table = stays and stored_table(work.location, changes)

    def complete_rows(rows: str) -> str:
        if rules.are_dumps:
            rows = with_deletes(rows, rules, table, stays or "true", view=changes.view, dumps=changes.dumps)
        return rows if work.since is None else chosen_rows(rows, work.location, changes, rules, work.since)

    order = truncate.order if truncate else None
    source = newest_rows(name, rules, changes.view, is_partial=is_partial, truncate=order, complete=complete_rows)
    same_key = " AND ".join(f"t.{part.path} <=> s.{part.path}" for part in rules.keys)
    truncated = older_than_truncate(rules, f"t.{ORDER}", truncate.order) if truncate and truncate.is_due else None
    left, own = LeftValues(rules, types, silver, mode, is_partial=is_partial, truncate=order), _own_columns(rules)
    late, emptied = left.clauses(is_truncated=truncated is not None)
    empties, gone = mode in (MergeMode.FULL, MergeMode.SINCE), _unassigned_values(rules, silver, mode)
    update = _assignments(rules, types, left.newer_row_assignments(), gone, own, empties=empties)
    clauses = mode.clauses(
        newer=newer, update=update, insert=_new_row(types, own), truncated=truncated, since=work.since, late=late,
        emptied=emptied,
    )  # fmt: skip
    same = replacement_condition(same_key, has_copies)
    statement = f"MERGE INTO {delta_table(work.location)} t USING ({source}) s ON {same} {clauses}"
    is_plain = not is_partial and truncated is None
    is_keyed = _is_keyed(mode, changes, rules, types, is_plain=is_plain, is_empty=is_empty)
    return Merging(
        f"SELECT {', '.join([*_values(types), *own, TIED])} FROM ({source})",
        [part.path for part in rules.keys],
        hiding_columns(own_columns(work.spec)),
        newer if is_keyed else None,
        changes.rows,
        statement,
        mixed=left.mixed_condition(newer) if rules.records_left else None,
    )


def stored_table(location: str, changes: Changes) -> str:
    """Return the rows of silver that a merge reads: of a rebuild from a batch, without those of forgotten persons."""
    return changes.stored.others if changes.stored else delta_table(location)


def chosen_rows(
    rows: str, location: str, changes: Changes, rules: MergeRules, since: int, *, batch: str = "_tidegate_n"
) -> str:
    """Return the rows of the keys that a rebuild from a batch computes again (`rows_of_keys_since`)."""
    forgotten = forgotten_rows(rules, changes.with_forgotten)
    stored = changes.stored.theirs if changes.stored else None
    table = delta_table(location)
    return rows_of_keys_since(rows, rules, table, since, batch=batch, forgotten=forgotten, stored=stored)


def _is_keyed(
    mode: MergeMode, changes: Changes, rules: MergeRules, types: ColumnTypes, *, is_plain: bool, is_empty: bool
) -> bool:
    """Return whether the keyed merge can do a merge."""
    # The number of rows in a merge of all of bronze is unknown. An empty table takes any number by the keyed merge.
    is_bounded = changes.why_full is None and not rules.is_list
    # A field that bronze lacks keeps the value of the replaced row, which only the MERGE can do.
    shared = (Field(column, in_silver) for column, (_, in_silver) in types.items())
    if mode is not MergeMode.UPSERT or any(TableSchema(rules.columns).missing_fields(shared)):
        return False
    return (is_bounded and is_plain) or is_empty


def _values(types: ColumnTypes) -> Iterator[str]:
    return (f"{value_in_silver(types, name)} AS {quote_name(name)}" for name in types)


def _own_columns(rules: MergeRules) -> tuple[str, ...]:
    """Return Tidegate's own columns that the source of a merge has."""
    return (*SILVER_COLUMNS, LEFT) if rules.records_left else SILVER_COLUMNS


def mode_of(silver_spec: SilverSpec, state: TableState, mark: int | None, aim: Aim, changes: Changes) -> MergeMode:
    """Return the mode of a merge."""
    if aim is Aim.REBUILD_SINCE:
        return MergeMode.SINCE
    return merge_mode(
        is_full=changes.why_full is not None,
        is_reread=changes.is_reread,
        has_other_rows=mark is None and state.files > 0,
        mirrors_removals=silver_spec.on_removed == "full" or aim is Aim.REBUILD,
    )


def replacement_condition(same: str, has_copies: bool) -> str:
    """Return the condition that a row `s` replaces a row `t`.

    A row `s` would replace both copies of a row. So all rows leave the table instead, and those of bronze are new ones.

    Args:
        same: condition that the rows are the same row.
        has_copies: silver has copies, and becomes what bronze gives.
    """
    return f"{same} AND s.{CHANGED_BATCH} < 0" if has_copies else same


def rows_that_stay(mode: MergeMode, *, is_empty: bool) -> str | None:
    """Return the condition of the rows `t` of silver that a merge does not replace by bronze's. None: no row stays."""
    if is_empty or mode is MergeMode.FULL:
        return None
    return f"NOT t.{CHANGED_BATCH} > 0" if mode in (MergeMode.REREAD, MergeMode.SINCE) else "true"


def types_of(rules: MergeRules, silver: TableSchema) -> ColumnTypes:
    """Return the types of each column: in bronze, and in silver. A new silver table has bronze's types."""
    return {field.name: (field.type, (silver.find_column(field.name) or field).type) for field in rules.columns}


def _untied_condition(name: str, rules: MergeRules, types: ColumnTypes) -> str:
    """Return a condition over a row `s` and a row `t` of an equal order. It raises an error if they differ."""
    ours, theirs = (
        exact_json(f"struct({', '.join([*values, f'{side}.{DELETED}'])})")
        for side, values in (
            ("s", [_comparable_value(types, column, value_in_silver(types, column, "s.")) for column in types]),
            ("t", [_comparable_value(types, column, f"t.{quote_name(column)}") for column in types]),
        )
    )
    same = f"{ours} <=> {theirs}"
    if rules.are_dumps:
        # The dump came in several batches: without this row, it implied a delete.
        same = f"t.{DELETED} OR {same}"
    return f"if({same}, true, {tie_error(name, key_text(f's.{part.path}' for part in rules.keys))})"


def _comparable_value(types: ColumnTypes, column: str, value: str) -> str:
    return f"{comparable_value(types[column][1], value)} AS {quote_name(column)}"


def without_values(rules: MergeRules, silver: TableSchema) -> list[str]:
    """Return the columns of silver that bronze gives no values of, such as those that `lake.yaml` excludes by now."""
    own = (*SILVER_COLUMNS, KEY, ORDER, JOINED, LEFT, *(field.name for field in rules.stored))
    known = {fold_name(name) for name in own}
    return [field.name for field in silver.fields if fold_name(field.name) not in known]


def _unassigned_values(rules: MergeRules, silver: TableSchema, mode: MergeMode) -> dict[str, str]:
    """Return SQL of what the columns become that no row of bronze gives, when a row `s` replaces a row `t`."""
    columns = without_values(rules, silver)
    if mode in (MergeMode.FULL, MergeMode.SINCE):
        return dict.fromkeys(columns, "NULL")
    if rules.persons is None:
        return {}
    return {name: kept_value(rules, name, has_left=rules.records_left) for name in columns}


def _assignments(
    rules: MergeRules,
    types: ColumnTypes,
    filled: Mapping[str, str],
    gone: Mapping[str, str],
    own: Sequence[str],
    *,
    empties: bool,
) -> str:
    """Return the assignments that make `t` the row `s`.

    Args:
        types: the columns of the rules.
        filled: SQL of values that may stay.
        gone: SQL of the values of columns that bronze does not give (`_unassigned_values`).
        own: Tidegate's own columns.
        empties: fields of structs that bronze lacks become NULL. They stay otherwise, as far as `kept_value` lets them.
    """

    def value(name: str) -> str:
        kept = None if empties else kept_value(rules, name, has_left=rules.records_left)
        return filled.get(name) or value_in_silver(types, name, "s.", kept)

    given = (f"t.{quote_name(name)} = {value(name)}" for name in types)
    rest = (f"t.{quote_name(name)} = {value}" for name, value in gone.items())
    return ", ".join([*given, *(f"t.{name} = {filled.get(name) or f's.{name}'}" for name in own), *rest])


def _new_row(types: ColumnTypes, own: Sequence[str]) -> str:
    names = ", ".join(quote_name(name) for name in (*types, *own))
    values = ", ".join([*(value_in_silver(types, name, "s.") for name in types), *(f"s.{name}" for name in own)])
    return f"({names}) VALUES ({values})"
