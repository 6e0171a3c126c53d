"""The merge of new changes into a history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tidegate.platform.core.config.silver_columns import CHANGED_BATCH, LEFT, hiding_columns, own_columns
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.schema.sql_literal import delta_table, literal
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.merge_mode import MergeMode
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.spark.results import Merging
from tidegate.platform.silver.changes import Changes
from tidegate.platform.silver.history_rows import HistoryQuery, StoredRows
from tidegate.platform.silver.merge_sql import (
    chosen_rows,
    mode_of,
    replacement_condition,
    rows_that_stay,
    stored_table,
    types_of,
    without_values,
)
from tidegate.platform.silver.pending_merge import PendingMerge
from tidegate.platform.silver.unchanged_values import kept_value

#: Whether a row of the source is a stored row that leaves the table.
_LEAVES = "_tidegate_leaves"


def build_history_merge(
    work: PendingMerge,
    changes: Changes,
    rules: MergeRules,
    silver: TableSchema,
    *,
    truncates: Sequence[str] = (),
    is_truncated: bool = False,
    has_copies: bool = False,
) -> Merging:
    """Build a merge of a history, whose rows have distinct pairs of key and order.

    Its source has every row that changes, or in other modes than `UPSERT` every row of the table afterwards. In the
    mode `SINCE` it has every row of the chosen keys, also those that leave the table.

    Args:
        silver: the columns of the silver table, after it was created or widened.
        truncates: the orders of all truncates, as JSON of structs.
        is_truncated: the rows to merge have a truncate, which may end a row of any key.
        has_copies: silver has two rows of a key and an order. Only a rebuild of the whole table is asked.
    """
    mode = mode_of(work.spec, work.silver, work.mark, work.aim, changes)
    rows, hidden = changes.rows, hiding_columns(own_columns(work.spec))
    is_bounded = changes.why_full is None and not rules.is_list
    # However few rows of dumps there are, the deletes that they imply may be as many as the keys of silver.
    max_rows = rows if is_bounded and not rules.are_dumps else None
    query = HistoryQuery(f"silver.{work.table.spec.name}", rules, types_of(rules, silver), truncates, changes.dumps)
    table = delta_table(work.location)
    is_empty, is_tail = work.silver.files == 0, not is_truncated
    stored = _staying_rows(mode, stored_table(work.location, changes), is_empty=is_empty, is_tail=is_tail)
    names = list(dict.fromkeys(map(quote_name, (*(field.name for field in rules.stored), *own_columns(work.spec)))))
    keys = [part.path for part in (*rules.keys, *rules.order)]
    same = replacement_condition(" AND ".join(f"t.{path} <=> s.{path}" for path in keys), has_copies)
    if work.since is None:
        source = query.sql(changes.view, stored, max_rows=max_rows)
    else:
        chosen = partial(
            chosen_rows, location=work.location, changes=changes, rules=rules, since=work.since, batch=CHANGED_BATCH
        )
        source = _with_leaving_rows(query.sql(changes.view, stored, chosen=chosen), rules, table, work.since, names)
    update = [f"t.{name} = s.{name}" for name in names]
    update += [f"t.{quote_name(name)} = {value}" for name, value in _unassigned_values(rules, silver, mode).items()]
    clauses = (MergeMode.UPSERT if mode in (MergeMode.UPSERT, MergeMode.SINCE) else MergeMode.FULL).clauses(
        newer="true",
        update=", ".join(update),
        insert=f"({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})",
    )
    if mode is MergeMode.SINCE:
        clauses = f"WHEN MATCHED AND s.{_LEAVES} THEN DELETE {clauses}"
    statement = f"MERGE INTO {table} t USING ({source}) s ON {same} {clauses}"
    # An empty table takes any number.
    is_keyed = mode is MergeMode.UPSERT and (is_bounded or is_empty)
    if not is_keyed:
        return Merging(source, keys, hidden, None, rows, statement)
    view = f"stored_{changes.view}"
    placed = query.sql(changes.view, StoredRows(view, is_tail=is_tail, has_places=True), max_rows=max_rows)
    return Merging(placed, keys, hidden, "true", rows, statement, view)


def _unassigned_values(rules: MergeRules, silver: TableSchema, mode: MergeMode) -> dict[str, str]:
    """Return SQL of what the columns become that no row of bronze gives, when a row `s` replaces a row `t`."""
    own = {name: _own_value(rules, name) for name in without_values(rules, silver)}
    if mode in (MergeMode.FULL, MergeMode.SINCE):
        # Bronze does not have the rows from before a reset, whose batch is 0.
        return {name: f"if(s.{CHANGED_BATCH} > 0, NULL, {value})" for name, value in own.items()}
    return {} if rules.persons is None else own


def _own_value(rules: MergeRules, column: str) -> str:
    """Return SQL of what a row `s` keeps of the row `t` that it replaces in a column that no row gives any more.

    In a table of persons it is what `t` gave itself: a value that it left is of the change before it, whose person may
    be another one, and is not computed again. And a row with an equal order may be of another person.
    """
    kept = kept_value(rules, column, has_left=False)
    if rules.persons is None or rules.history is None or not rules.history.leaves_values:
        return kept
    return f"if(coalesce(array_contains(t.{LEFT}, {literal(column)}), false), NULL, {kept})"


def _with_leaving_rows(rows: str, rules: MergeRules, table: str, since: int, names: Sequence[str]) -> str:
    """Return the rows of a query, and the stored rows of its keys that it does not have.

    Stored rows of batch `since` or later leave even if the query does not have their key.

    Args:
        rows: a query of all rows that the chosen keys have.
        table: the silver table.
        since: the first batch of the merge.
        names: the columns of the table.
    """
    keys = ", ".join(part.path for part in rules.keys)
    order = ", ".join(part.path for part in rules.order)
    columns = ", ".join(names)
    every = f"SELECT {columns}, false AS {_LEAVES} FROM ({rows}) UNION ALL SELECT {columns}, true FROM {table}"
    is_chosen = f"max(NOT {_LEAVES} OR {CHANGED_BATCH} >= {since}) OVER (PARTITION BY {keys})"
    # A row of the query comes before the stored row that it replaces.
    place = f"row_number() OVER (PARTITION BY {keys}, {order} ORDER BY {_LEAVES})"
    ranked = f"SELECT *, {is_chosen} AS _tidegate_chosen, {place} AS _tidegate_place FROM ({every})"
    return f"SELECT {columns}, {_LEAVES} FROM ({ranked}) WHERE _tidegate_chosen AND _tidegate_place = 1"


def _staying_rows(mode: MergeMode, table: str, *, is_empty: bool, is_tail: bool) -> StoredRows:
    """Return the rows of silver that stay, as the clauses of the mode say it of rows without a history."""
    stays = rows_that_stay(mode, is_empty=is_empty)
    if stays is None:
        return StoredRows(None)
    batch = "0" if mode is MergeMode.AFTER_RESET else f"t.{CHANGED_BATCH}"
    return StoredRows(table, is_tail=is_tail and mode is MergeMode.UPSERT, where=stays, batch=batch)
