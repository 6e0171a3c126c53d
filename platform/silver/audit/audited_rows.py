"""The rows of some keys, read from bronze and from silver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import Row

from tidegate.platform.core.config.silver_columns import (
    CHANGED_AT,
    CHANGED_BATCH,
    DELETED,
    IS_CURRENT,
    JOINED,
    VALID_FROM,
    VALID_TO,
)
from tidegate.platform.core.keys.log_paths import COPIES
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.silver.audit.intervals import Interval, json_values
from tidegate.platform.core.silver.audit.key_row import KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import SilverRow
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.ledger import Decision
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import select
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.silver.audit.key_rows import (
    BLOCK,
    DATA_FILE,
    FILE,
    LEFT,
    SKIPPED,
    TRUNCATES,
    VIOLATED,
    KeyRows,
    N,
)

#: Rows of one key that are read, the newest first.
MAX_ROWS = 1_000
#: Rows of a history of one key that are read. It has no more of them than bronze, but for dumps and after a reset.
MAX_TIMES = 3 * MAX_ROWS


@dataclass(frozen=True)
class BronzeRow:
    """A row of bronze, the address of its file, and the decision that brought it if it is known.

    The delete that a full dump implies has no file.
    """

    row: KeyRow
    address: str | None = None
    decision: Decision | None = None


@dataclass(frozen=True)
class FoundRow:
    """A row of silver, the batch that brought it, and when it was merged, as SQL prints a time."""

    row: SilverRow
    changed_batch: int
    changed_at: str


@dataclass(frozen=True)
class FoundTime:
    """A row of a history, its values as JSON, and when it was merged, as SQL prints a time."""

    interval: Interval
    values: str
    changed_at: str


def bronze_rows(
    delta: Delta, rows: KeyRows, condition: str, version: int | None = None, *, is_one: bool = False
) -> dict[str, list[BronzeRow]]:
    """Return the newest `MAX_ROWS` + 1 rows of bronze of each key, by the key as JSON.

    Args:
        condition: over the columns of silver, true for the wanted keys.
        version: Delta version of bronze. None: the newest.
        is_one: the condition is true for one key, whose rows need no window.
    """
    # Equal orders may have several texts, as 0.0 and -0.0 have, so Spark ranks them.
    ranked = f"PARTITION BY {', '.join(part.path for part in rows.rules.keys)} ORDER BY {rows.rules.newest_first}"
    columns = (
        f"{N}, {FILE}, {DATA_FILE}, {BLOCK}, {SKIPPED}, {TRUNCATES}, {VIOLATED}, {DELETED}, {LEFT}, _row, "
        f"{rows.is_truncated()} AS _truncated, {rows.key} AS _key_json, {rows.order} AS _order_json, "
        f"dense_rank() OVER ({ranked}) AS _rank, {rows.common_values(silver=False)} AS _values"
    )

    def newest_rows(bronze: str) -> str:
        every = f"SELECT *, monotonically_increasing_id() AS _row FROM ({bronze}) WHERE {condition}"
        order = f"{rows.rules.newest_first}, {N} DESC NULLS LAST"
        return _first_rows(columns, every, order, MAX_ROWS + 1, None if is_one else rows)

    found = _query_rows(delta, rows, newest_rows, version)
    decisions = _decisions(rows, [row[FILE] for row in found])
    by_key: dict[str, list[BronzeRow]] = {}
    for row in found:
        by_key.setdefault(row["_key_json"], []).append(_bronze_row(rows, row, decisions))
    for each in by_key.values():
        each.sort(key=lambda row: (-row.row.rank, row.row.arrival), reverse=True)
    return by_key


def _first_rows(columns: str, every: str, order: str, limit: int, keys: KeyRows | None) -> str:
    """Return a query of the first rows of each key.

    Args:
        columns: to select.
        every: a query of all rows.
        order: SQL of the order.
        limit: number of rows of each key.
        keys: has the parts of the key. None: all rows have one key, and the result is sorted.
    """
    if keys is None:
        return f"SELECT {columns} FROM (SELECT * FROM ({every}) ORDER BY {order} LIMIT {limit})"
    parts = ", ".join(part.path for part in keys.rules.keys)
    placed = f"SELECT *, row_number() OVER (PARTITION BY {parts} ORDER BY {order}) AS _position FROM ({every})"
    return f"SELECT {columns}, _position FROM ({placed}) WHERE _position <= {limit}"


def _sort_rows(found: Sequence[Row], *, is_one: bool) -> Sequence[Row]:
    return found if is_one else sorted(found, key=lambda row: int(row["_position"]))


def dump_orders(lake: Lake, rows: KeyRows, mark: int, version: int | None = None) -> list[str]:
    """Return the order of each full dump that silver holds and that implies deletes, as JSON.

    Args:
        lake: reads bronze.
        mark: last batch that silver holds.
        version: Delta version of bronze. None: the newest.
    """
    merged = f"NOT {TRUNCATES} AND coalesce({N}, 0) <= {mark}"
    select = f"SELECT DISTINCT {rows.order} AS _order FROM"
    found = _query_rows(lake.delta, rows, lambda bronze: f"{select} ({bronze}) WHERE {merged}", version)
    incomplete = {dump.order for dump in rows.incomplete_dumps(lake, mark, version)}
    return [row["_order"] for row in found if row["_order"] not in incomplete]


def _query_rows(delta: Delta, rows: KeyRows, query: Callable[[str], str], version: int | None) -> list[Row]:
    """Return the rows of a query over bronze, without those of persons who were forgotten."""
    session = delta.session
    past = "" if version is None else f" VERSION AS OF {version}"
    bronze = select(session, rows.view(f"{delta_table(rows.work.bronze_location)}{past}"))
    if rows.suppression is not None:
        bronze = rows.suppression.exclude_suppressed(bronze, rows.work.bronze.schema.fields)
    with temporary_view(session, "key", bronze) as view:
        return select(session, query(rows.bronze(view))).collect()


def _bronze_row(rows: KeyRows, row: Row, decisions: Mapping[tuple[str, int | None], Decision]) -> BronzeRow:
    n, file = row[N], row[FILE]
    if n is None and (last := decisions.get((file, None))):
        n = last.stamp.n
    place = (file, row[DATA_FILE], row[BLOCK] or 0, row["_row"])
    key_row = KeyRow(
        row["_rank"],
        n,
        place,
        row["_values"],
        deletes=row[DELETED],
        skipped=row[SKIPPED],
        truncates=row[TRUNCATES],
        is_truncated=row["_truncated"],
        violated=row[VIOLATED],
        order=row["_order_json"],
        left=frozenset(row[LEFT]),
    )
    return BronzeRow(key_row, _address(rows, file), decisions.get((file, n)))


def silver_rows(delta: Delta, rows: KeyRows, condition: str) -> dict[str, FoundRow]:
    """Return the rows of silver, tombstones too, by the key as JSON.

    Args:
        condition: over the columns of silver, true for the wanted keys.
    """
    if not rows.work.silver.exists:
        return {}
    found = select(
        delta.session,
        f"SELECT {rows.key} AS _key, {DELETED}, {CHANGED_BATCH}, CAST({CHANGED_AT} AS STRING) AS {CHANGED_AT}, "
        f"{rows.common_values(silver=True)} AS _values FROM {delta_table(rows.work.location)} WHERE {condition}",
    ).collect()
    times = Counter(row["_key"] for row in found)
    return {
        row["_key"]: FoundRow(
            SilverRow(row["_values"], row[DELETED], of_dumps=rows.rules.are_dumps, rows=times[row["_key"]]),
            row[CHANGED_BATCH],
            row[CHANGED_AT],
        )
        for row in found
    }


def silver_times(delta: Delta, rows: KeyRows, condition: str, *, is_one: bool = False) -> dict[str, list[FoundTime]]:
    """Return the newest `MAX_TIMES` + 1 rows of a history of each key, the newest first, by the key as JSON.

    Ranks are not known yet. The arguments are those of `bronze_rows`.
    """
    if not rows.work.silver.exists:
        return {}
    columns = (
        f"{rows.key} AS _key_json, {rows.order} AS _order_json, {rows.common_values(silver=True)} AS _values, "
        f"{DELETED}, {CHANGED_BATCH}, CAST({CHANGED_AT} AS STRING) AS {CHANGED_AT}, {rows.order_of_time(VALID_FROM)} "
        f"AS _from, {rows.order_of_time(VALID_TO)} AS _to, {IS_CURRENT}, {JOINED}"
    )
    every = f"SELECT * FROM {delta_table(rows.work.location)} WHERE {condition}"
    query = _first_rows(columns, every, rows.rules.newest_first, MAX_TIMES + 1, None if is_one else rows)
    by_key: dict[str, list[FoundTime]] = {}
    for row in _sort_rows(select(delta.session, query).collect(), is_one=is_one):
        interval = Interval(
            0,
            row["_order_json"],
            json_values(row["_values"]),
            row[DELETED],
            row["_from"],
            row["_to"],
            row[IS_CURRENT],
            row[JOINED],
            row[CHANGED_BATCH],
        )
        by_key.setdefault(row["_key_json"], []).append(FoundTime(interval, row["_values"], row[CHANGED_AT]))
    return by_key


def _decisions(rows: KeyRows, files: Sequence[str]) -> Mapping[tuple[str, int | None], Decision]:
    """Return the decisions by which some files entered, by file and batch."""
    table, work = rows.work.table, rows.work
    keys = {file: S3Address.parse(_address(rows, file)).key for file in dict.fromkeys(files)}
    by_key: dict[str, list[Decision]] = {}
    for decision in table.ledger.history(work.ledger.version, *dict.fromkeys(keys.values())):
        if decision.row.entered:
            by_key.setdefault(decision.row.key, []).append(decision)
    found: dict[tuple[str, int | None], Decision] = {}
    for file, key in keys.items():
        for decision in by_key.get(key, ()):
            found[file, decision.stamp.n] = decision
            if rows.is_registered:
                found[file, None] = decision  # the last one: rows of such a table do not have their batch
    return found


def _address(rows: KeyRows, file: str) -> str:
    """Return the address of the producer's file: for a copy, of the object that it was made of."""
    if not rows.is_registered:
        return file
    path = unquote(file).removeprefix(rows.work.bronze_location).lstrip("/")
    if path.startswith(f"{COPIES}/"):
        path = path.removeprefix(f"{COPIES}/").rpartition("/")[0]
    return S3Address(rows.work.table.key.bucket, f"{rows.work.table.key.prefix}{path}").s3
