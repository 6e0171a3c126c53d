"""The merge of new changes into a history."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.history_rows import HistoryQuery, StoredRows
from tidegate.assets.silver.merge_sql import mode_of, rows_that_stay, types_of
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.columns import CHANGED_BATCH, own_columns
from tidegate.platform.core.silver.merge_mode import MergeMode
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.resources.spark.results import Merging


def build_history_merge(
    work: PendingMerge,
    changes: Changes,
    rules: MergeRules,
    silver: TableSchema,
    *,
    truncates: Sequence[str] = (),
    is_truncated: bool = False,
) -> Merging:
    """Build a merge of a history, whose rows have distinct pairs of key and order.

    Its source has every row that changes, or in other modes than `UPSERT` every row of the table afterwards.

    Args:
        work: what is pending.
        changes: the rows to merge.
        rules: what a row of bronze is in silver.
        silver: the columns of the silver table, after it was created or widened.
        truncates: the orders of all truncates, as JSON of structs.
        is_truncated: the rows to merge have a truncate, which may end a row of any key.
    """
    mode = mode_of(work, changes)
    is_bounded = changes.why_full is None
    rows = int(changes.volume["rows"])
    max_rows = rows if is_bounded else None
    query = HistoryQuery(f"silver.{work.table.spec.name}", rules, types_of(rules, silver), truncates)
    stored = _stored(mode, f"delta.`{work.location}`", is_empty=work.silver.files == 0, is_tail=not is_truncated)
    source = query.sql(changes.view, stored, max_rows=max_rows)
    names = [quoted(name) for name in (*(field.name for field in rules.stored), *own_columns(work.spec))]
    names = list(dict.fromkeys(names))
    keys = [part.path for part in (*rules.keys, *rules.order)]
    same = " AND ".join(f"t.{path} <=> s.{path}" for path in keys)
    clauses = (MergeMode.UPSERT if mode is MergeMode.UPSERT else MergeMode.FULL).clauses(
        newer="true",
        update=", ".join(f"t.{name} = s.{name}" for name in names),
        insert=f"({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})",
    )
    statement = f"MERGE INTO delta.`{work.location}` t USING ({source}) s ON {same} {clauses}"
    # An empty table takes any number of rows by the keyed merge.
    is_keyed = mode is MergeMode.UPSERT and (is_bounded or work.silver.files == 0)
    if not is_keyed:
        return Merging(source, keys, None, rows, statement)
    view = f"stored_{changes.view}"
    placed = query.sql(changes.view, StoredRows(view, is_tail=not is_truncated, has_places=True), max_rows=max_rows)
    return Merging(placed, keys, "true", rows, statement, view)


def _stored(mode: MergeMode, table: str, *, is_empty: bool, is_tail: bool) -> StoredRows:
    """Returns the rows of silver that stay, as the clauses of the mode say it of rows without a history."""
    stays = rows_that_stay(mode, is_empty=is_empty)
    if stays is None:
        return StoredRows(None)
    batch = "0" if mode is MergeMode.AFTER_RESET else f"t.{CHANGED_BATCH}"
    return StoredRows(table, is_tail=is_tail and mode is MergeMode.UPSERT, where=stays, batch=batch)
