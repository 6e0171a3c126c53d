"""Keys whose history may be wrong, and keys of full dumps, by the rows of some files of both tables.

The rows of the chosen keys are compared here, row by row, with hashes in place of their values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Row

from tidegate.platform.core.config.silver_columns import (
    CHANGED_BATCH,
    DELETED,
    IS_CURRENT,
    JOINED,
    VALID_FROM,
    VALID_TO,
)
from tidegate.platform.core.silver.audit.doubts import SampledTables, doubts_history, doubts_row
from tidegate.platform.core.silver.audit.dumps import Dumps
from tidegate.platform.core.silver.audit.intervals import HistoryRules, Interval, json_values
from tidegate.platform.core.silver.audit.key_row import KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import SilverRow
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.session import select
from tidegate.platform.silver.audit.audited_keys import convert_orders, history_rules, keeps_lost
from tidegate.platform.silver.audit.key_rows import LEFT, SKIPPED, TRUNCATES, KeyRows, N
from tidegate.platform.silver.audit.key_selection import Limits, SampledRows
from tidegate.platform.silver.audit.orders import Orders
from tidegate.platform.silver.truncate import recorded_truncates

#: Rows of the compared keys, in both tables together.
MAX_REPLAYED = Limits(rows=20_000, rows_of_a_key=1_000)
#: Full dumps that are known at most.
_MAX_DUMPS = 10_000


@dataclass
class _Key:
    """The rows of a key: of bronze, and of silver with their orders as they were given."""

    rows: list[KeyRow] = field(default_factory=list)
    stored: list[Interval] = field(default_factory=list)
    silver: tuple[SilverRow, int] | None = None


def find_doubted_keys(
    lake: Lake, rows: KeyRows, mark: int, chosen: str, bronze: SampledRows, silver: SampledRows
) -> tuple[int, list[str]]:
    """Return the number of compared keys, and those that may be wrong, each as JSON of a list.

    Args:
        mark: last batch that silver holds.
        chosen: a view with the hashes of the keys to compare.
        bronze: the rows of some files of bronze.
        silver: the rows of some files of silver.
    """
    session = lake.delta.session
    # A row of a dump that is not a change shows that the dump has the key.
    is_change = "true" if rows.rules.are_dumps else f"NOT {SKIPPED}"
    counts = f"WHERE {is_change} AND NOT {TRUNCATES} AND coalesce({N}, 0) <= {mark}"
    sampled_rows = f"({rows.sample_bronze(bronze.view)})"
    changes = f"({rows.select_keys(sampled_rows, chosen, mark)}) {counts}"
    found = select(session, _rows(rows, changes, rows.select_keys(silver.view, chosen, mark))).collect()
    dumps = []
    if rows.rules.are_dumps:
        query = f"SELECT DISTINCT {rows.order} AS o FROM {sampled_rows} {counts} LIMIT {_MAX_DUMPS}"
        incomplete = {dump.order for dump in rows.incomplete_dumps(lake, mark)}
        dumps = [row["o"] for row in select(session, query).collect() if row["o"] not in incomplete]
    given = [row[name] for row in found for name in ("o", "valid_from", "valid_to") if row[name] is not None]
    orders = Orders.from_values(session, rows.order_type, [*given, *dumps, *recorded_truncates(rows.work.silver)])
    sampled = SampledTables(
        bronze.files.is_whole,
        silver.files.is_whole,
        Dumps.from_found((orders.rank(order), orders.texts[order]) for order in dumps),
        mark,
        keeps_lost(rows.work.spec, rows.work.table.birth),
    )
    rules = None if rows.rules.history is None else history_rules(rows, orders, mark, lambda n: sampled.keeps_lost)
    keys: dict[str, _Key] = {}
    for row in found:
        _take(keys.setdefault(row["key"], _Key()), row, orders, is_history=rules is not None)
    return len(keys), [text for text, key in keys.items() if _is_doubtful(key, rules, sampled)]


def _rows(rows: KeyRows, changes: str, silver: str) -> str:
    """Return a query of changes, and of rows of silver."""
    own = {"valid_from": "STRING", "valid_to": "STRING", "is_current": "BOOLEAN", "joined": "BOOLEAN"}
    nothing = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in own.items())
    times = nothing
    if rows.rules.history is not None:
        columns = (rows.order_of_time(VALID_FROM), rows.order_of_time(VALID_TO), IS_CURRENT, JOINED)
        times = ", ".join(f"{column} AS {name}" for column, name in zip(columns, own, strict=True))

    def sample_values(values: str, n: str, left: str, skipped: str) -> str:
        own = f"{rows.key} AS key, {rows.order} AS o, {values} AS v, {DELETED} AS d"
        return f"{own}, {n} AS n, {left} AS l, {skipped} AS s"

    own_rows = sample_values(rows.common_values(silver=False, is_hashed=True), N, LEFT, SKIPPED)
    theirs = sample_values(
        rows.common_values(silver=True, is_hashed=True), CHANGED_BATCH, "CAST(array() AS array<string>)", "false"
    )
    return (
        f"SELECT true AS is_bronze, {own_rows}, {nothing} FROM {changes} "
        f"UNION ALL SELECT false, {theirs}, {times} FROM ({silver})"
    )


def _take(key: _Key, row: Row, orders: Orders, *, is_history: bool) -> None:
    """Add a row of the query to its key."""
    order, rank = orders.texts[row["o"]], orders.rank(row["o"])
    if row["is_bronze"]:
        left = frozenset(row["l"])
        place = ("", "", 0, len(key.rows))
        own = KeyRow(rank, row["n"], place, row["v"], deletes=row["d"], skipped=row["s"], order=order, left=left)
        key.rows.append(own)
    elif is_history:
        times = (row["valid_from"], row["valid_to"], row["is_current"], row["joined"])
        interval = Interval(0, row["o"], json_values(row["v"]), row["d"], *times, row["n"])
        key.stored.append(convert_orders(interval, orders))
    else:
        before = 0 if key.silver is None else key.silver[0].rows
        key.silver = (SilverRow(row["v"], row["d"], of_dumps=True, rows=before + 1), rank)


def _is_doubtful(key: _Key, rules: HistoryRules | None, sampled: SampledTables) -> bool:
    if rules is None:
        silver, rank = key.silver or (None, None)
        return doubts_row(key.rows, silver, rank, sampled)
    return doubts_history(key.rows, key.stored, rules, sampled)
