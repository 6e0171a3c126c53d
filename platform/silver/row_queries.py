"""Queries of bronze's rows before a merge: the types of expressions, and what kinds of rows there are.

A key that a feed inserts several times without a delete between is not a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.silver_columns import KEY, ORDER
from tidegate.platform.core.files.misread_text import misread_sql
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type, quote_name
from tidegate.platform.core.schema.comparable_values import comparable_value
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.expression_types import UnfitExpression
from tidegate.platform.core.silver.row_value import BRONZE
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.spark.session import select
from tidegate.platform.silver.changes import Changes
from tidegate.platform.silver.newest_rows import order_struct
from tidegate.platform.silver.truncate import MAX_TRUNCATES

_FIRST_PART = re.compile("`((?:[^`]|``)+)`")

#: Up to so many rows, each key is compared. Of more, keys are a sample of about so many rows.
_SAMPLED_ROWS = 10_000
#: A key has at most so many entries of inserts, and as many of rows of snapshots, whatever its rows are.
_INSERTS, _POSITIONS, _ROWS_AT_ONE = 1 << 15, 1 << 9, 1 << 6
_DELETE = -1


@dataclass(frozen=True)
class RowCounts:
    """The rows of a merge, before they are reduced to one for each key.

    Attributes:
        unordered: rows with a NULL in a part of their order.
        newest: the newest time in the order, in seconds since 1970. None if the order does not begin with a column of
            times, or if no statistics have it.
        skipped: rows that are not changes.
        partial: rows that leave the value of a column as it is, or delete a key whose last delete silver records.
        truncate: the newest order of a row that deletes all older rows, as JSON of a struct. None without such a row.
        truncates: the orders of up to `MAX_TRUNCATES` + 1 such rows, in a history.
        null_keys: rows with a NULL in their key, at least. Silver keeps one row of such a key. 0 if it is not known.
        reinserted: keys with several different inserts and no delete, at least. 0 if it is not known which rows insert.
        misread: rows of text that was read in another encoding than its own. 0 if files state their encoding.
    """

    unordered: int = 0
    newest: float | None = None
    skipped: int = 0
    partial: int = 0
    truncate: str | None = None
    truncates: tuple[str, ...] = ()
    null_keys: int = 0
    reinserted: int = 0
    misread: int = 0


def has_copies(session: SparkSession, location: str, rules: MergeRules) -> bool:
    """Return whether silver has two rows of a key, or of a key and an order in a history. No merge writes them.

    Args:
        session: runs the query.
        location: `s3a://` URI of the silver table.
    """
    parts = (*rules.keys, *rules.order) if rules.history else rules.keys
    own = ", ".join(part.path for part in parts)
    query = f"SELECT 1 FROM {delta_table(location)} GROUP BY {own} HAVING count(*) > 1 LIMIT 1"
    return bool(select(session, query).collect())


def expression_types(session: SparkSession, location: str, expressions: Sequence[str], relation: str) -> list[Type]:
    """Return the types of expressions over a relation of bronze's rows. They are only analyzed, no row is read.

    Args:
        location: `s3a://` URI of the bronze table.
        expressions: SQL.
        relation: of bronze's rows, which are `BRONZE` in it.

    Raises:
        UnfitExpression: bronze lacks a column of an expression, or it is not an expression.
    """
    selected = ", ".join(f"{sql} AS e{place}" for place, sql in enumerate(expressions))
    bronze = relation.replace(BRONZE, delta_table(location))
    try:
        schema = select(session, f"SELECT {selected} FROM {bronze}").schema
    except AnalysisException as error:
        raise UnfitExpression(explain_refusal(error), _find_missing_column(error)) from error
    return [field.type for field in TableSchema.from_spark(json.loads(schema.json()), ()).fields]


def explain_refusal(error: AnalysisException) -> str:
    """Return why Spark refuses an expression over bronze's rows."""
    found = error.getMessageParameters() or {}
    if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN") or "objectName" not in found:
        return first_line(error)
    near = f"; the nearest names are {found['proposal']}" if found.get("proposal") else ""
    return f"there is no column {found['objectName']}{near}"


def _find_missing_column(error: AnalysisException) -> str | None:
    """Return the name of the column that an expression names and bronze lacks; None if it is another error."""
    found = (error.getMessageParameters() or {}).get("objectName")
    if not found or not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        return None
    # Spark quotes each part of a path, and doubles the quotation marks in a name.
    first = _FIRST_PART.match(found)
    return first[1].replace("``", "`") if first else found.split(".")[0]


def row_counts(
    session: SparkSession, changes: Changes, rules: MergeRules, bronze: TableSchema, csv: CsvOptions | None = None
) -> RowCounts:
    """Return how many rows of each kind there are.

    Of a table whose rows are all changes of whole rows, the statistics of the files mostly answer this. They do not
    tell apart rows of one key, so rows that say which of them insert are read.

    Args:
        session: runs the query.
        bronze: bronze's columns.
        csv: the options of files of CSV; None if the files are of another format.
    """
    texts = [field.name for field in bronze.fields if field.type == Simple("string")] if csv else []
    misread = misread_sql(texts, csv.encoding) if csv and csv.may_misread else "false"
    statistics = [json.loads(text) for text in changes.statistics or ()]
    newest = _newest_time([found.get("maxValues") for found in statistics], rules.order[0].column, bronze.fields)
    if rules.is_plain and not can_count_inserts(rules) and changes.statistics is not None and misread == "false":
        counts = [found.get("nullCount") for found in statistics]
        if all(_statistic(count, part.column, bronze.fields) == 0 for count in counts for part in rules.order):
            return RowCounts(newest=newest, null_keys=_null_keys(counts, rules, bronze.fields))
    relation, rows = rules.add_row_value(changes.view), changes.rows
    skipped, truncates = (f"coalesce({condition or 'false'}, false)" for condition in (rules.skipped, rules.truncated))
    is_change = f"NOT {skipped} AND NOT {truncates}"
    unordered = " OR ".join(f"{value} IS NULL" for value in rules.required_order)
    conditions = [*rules.kept.values(), *([rules.deleted] if rules.records_deletes else [])]
    partial = " OR ".join(f"({condition})" for condition in conditions) or "false"
    order = f"if({truncates}, {order_struct(rules.order_values)}, NULL)"
    every = f"slice(collect_set({exact_json(order)}), 1, {MAX_TRUNCATES + 1})" if rules.history else "array()"
    (row,) = select(
        session,
        f"SELECT count_if({is_change} AND ({unordered})), count_if({skipped} AND NOT {truncates}), "
        f"count_if({is_change} AND ({partial})), {exact_json(f'max({order})')}, {every}, "
        f"count_if({is_change} AND ({_lacks_key(rules)})), {inserts_sql(rules, rows, is_change)}, count_if({misread}) "
        f"FROM {relation}",
    ).collect()
    unordered, skipped, partial, truncate, every_truncate, null_keys, inserts, misread_rows = row
    # After a truncate, each key may be inserted again.
    again = 0 if truncate else reinserted_keys(inserts, rows)
    orders = tuple(every_truncate)
    return RowCounts(unordered, newest, skipped, partial, truncate, orders, null_keys, again, misread_rows)


def _lacks_key(rules: MergeRules) -> str:
    """Return the condition that a row of bronze has a NULL in its key. A part that is an expression is left out."""
    parts = [".".join([f"({rules.values[root]})", *map(quote_name, rest)]) for root, *rest in _key_columns(rules)]
    return " OR ".join(f"{part} IS NULL" for part in parts) or "false"


def _key_columns(rules: MergeRules) -> list[tuple[str, ...]]:
    return [part.column for part in rules.keys if part.column]


def _null_keys(counts: Sequence[Any], rules: MergeRules, fields: Sequence[Field]) -> int:
    """Return how many rows have a NULL in the part of their key that has most of them, by the statistics of files."""
    plain = [path for path in _key_columns(rules) if rules.values[path[0]] == quote_name(path[0])]
    return max((sum(_statistic(count, path, fields) or 0 for count in counts) for path in plain), default=0)


def _newest_time(bounds: Sequence[Any], path: Sequence[str], fields: Sequence[Field]) -> float | None:
    """Return the newest time of a column in files; None if it has no times, or if a file has no bound."""
    found = [_statistic(bound, path, fields) for bound in bounds]
    try:
        times = [datetime.fromisoformat(text) for text in found]
    except (TypeError, ValueError):
        return None
    return max(((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() for at in times), default=None)


def _statistic(counts: Any, path: Sequence[str], fields: Sequence[Field]) -> Any:
    """Return the statistic of a column or nested field in a file; None if it is not known."""
    field = next((field for field in fields if path and field.name == path[0]), None)
    if field is None or not isinstance(counts, dict):
        return None
    found = counts.get(field.physical or field.name)
    return _statistic(found, path[1:], field.type.fields) if isinstance(field.type, Struct) else found


def can_count_inserts(rules: MergeRules) -> bool:
    """Return whether the rows say which of them insert a key. Keys with parts that are expressions are not compared."""
    return rules.inserts is not None and all(part.column for part in rules.keys)


def inserts_sql(rules: MergeRules, rows: int, is_change: str) -> str:
    """Return SQL of an aggregate: the distinct pairs of a key's hash and of what a row does to it, among some keys.

    The memory that it takes is bounded by the sample, and by how many entries one key has.

    Args:
        rows: number of rows, to choose the sample.
        is_change: condition that a row is a change.
    """
    if rules.inserts is None or not can_count_inserts(rules):
        return "array()"
    paths = [part.column for part in rules.keys]
    keys = ", ".join(".".join([f"({rules.values[root]})", *map(quote_name, rest)]) for root, *rest in paths)
    types = {field.name: field.type for field in rules.columns if field.name not in (KEY, ORDER)}
    values = ", ".join(
        f"{comparable_value(kind, rules.values[name])} AS {quote_name(name)}" for name, kind in types.items()
    )
    row = f"xxhash64({exact_json(f'struct({values})')})"
    position = f"pmod(xxhash64({order_struct(rules.order_values)}), {_POSITIONS})"
    new, read, deleted = rules.inserts.new, rules.inserts.read, rules.deleted
    made = (
        f"CASE WHEN {deleted} THEN {_DELETE} WHEN {new} THEN pmod({row}, {_INSERTS}) "
        f"ELSE {_INSERTS} + {position} * {_ROWS_AT_ONE} + pmod({row}, {_ROWS_AT_ONE}) END"
    )
    key = f"xxhash64({keys})"
    chosen = f"{is_change} AND pmod({key}, {_sampling_interval(rows)}) = 0 AND ({deleted} OR {new} OR {read})"
    return f"collect_set(if({chosen}, struct({key} AS key, CAST({made} AS INT) AS made), NULL))"


def reinserted_keys(entries: Iterable[tuple[int, int]], rows: int) -> int:
    """Return the number of keys with several different inserts and no delete, of a sample an estimate.

    A feed may repeat a change, and several snapshots have a row several times: a row of a snapshot differs from another
    one only if both are at one position in the log.

    Args:
        entries: what `inserts_sql` returns.
        rows: as for `inserts_sql`.
    """
    by_key: dict[int, set[int]] = {}
    for key, made in entries:
        by_key.setdefault(key, set()).add(made)
    several = sum(_is_reinserted(made) for made in by_key.values() if _DELETE not in made)
    return several * _sampling_interval(rows)


def _is_reinserted(made: set[int]) -> bool:
    inserts = [entry for entry in made if entry < _INSERTS]
    positions = {(entry - _INSERTS) // _ROWS_AT_ONE for entry in made if entry >= _INSERTS}
    reads = len(made) - len(inserts)
    return len(inserts) > 1 or (reads > 1 and len(positions) == 1)


def _sampling_interval(rows: int) -> int:
    """Return of how many keys one is in the sample."""
    return max(1, rows // _SAMPLED_ROWS)
