"""Truncates of a silver table: the rows that are older than a truncate are deleted, and stay deleted."""

from __future__ import annotations

from tidegate.assets.silver.newest_rows import before_truncate, order_from_json
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.silver.columns import ORDER
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.resources.lake import Lake
from tidegate.resources.spark.session import command

#: Property of a silver table: the order of its newest truncate, as JSON.
TRUNCATED = "tidegate.silver_truncated"


def truncate_table(lake: Lake, work: PendingMerge, rules: MergeRules, found: str | None) -> tuple[str | None, int]:
    """Delete the rows that are older than a truncate, and record its order in a property of the table.

    Both are commits before that of the merge, and repeating them changes nothing: a merge that fails afterwards finds
    the truncate again. Later merges leave out rows that are older than the recorded order, however late they come.

    Args:
        lake: has the table.
        work: what is pending.
        rules: what a row of bronze is in silver.
        found: the order of the newest truncate in the rows to merge. None if there is none.

    Returns:
        The order of the table's newest truncate, None if it has none, and the number of deleted rows.
    """
    if rules.truncated is None:
        return None, 0
    known = work.silver.properties.get(TRUNCATED)
    if found is None or found == known:
        return known, 0
    session = lake.delta.session
    if known is not None:
        order = order_from_json(rules, found)
        if session.sql(f"SELECT {before_truncate(rules, order, known)}").collect()[0][0]:
            return known, 0
    (row,) = command(session, f"DELETE FROM delta.`{work.location}` WHERE {before_truncate(rules, ORDER, found)}")
    command(session, f"ALTER TABLE delta.`{work.location}` SET TBLPROPERTIES ({literal(TRUNCATED)} = {literal(found)})")
    return found, int(row[0])
