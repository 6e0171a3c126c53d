"""Values in rows of silver that rows of other persons gave, who may be forgotten. `LEFT` says whose they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.config.silver_columns import CHANGED_AT, JOINED, KEY, LEFT, LEFT_TYPE, ORDER, SILVER_COLUMNS
from tidegate.platform.core.schema.column_types import Field, fold_name, quote_name
from tidegate.platform.core.schema.sql_literal import delta_table, literal
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import command
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.suppression import Suppression
from tidegate.platform.silver.unchanged_values import recorded_givers

#: The column of a view of one row: the identities of the forgotten persons whose values silver has.
_HELD = "_tidegate_held"
_NO_VALUES = {*map(fold_name, (*SILVER_COLUMNS, KEY, ORDER, JOINED, LEFT))}


def records_givers(silver: TableState) -> bool:
    """Return whether a silver table has the newest row of each key, and records whose values a row has."""
    return silver.exists and _records_givers(silver.schema.fields)


def _records_givers(fields: Sequence[Field]) -> bool:
    return any(field.name == LEFT and field.type == LEFT_TYPE for field in fields)


def rows_with_others_values(
    session: SparkSession, location: str, silver: TableState, suppression: Suppression, *, unknown: bool
) -> DataFrame:
    """Return the rows of silver that have a value of a forgotten person's row.

    Args:
        session: reads the table.
        location: of the silver table.
        silver: its state. It records whose values a row has.
        suppression: the list of the silver table.
        unknown: also rows with a value of which an older version did not record whose it is.
    """
    rows = session.read.format("delta").load(location)
    conditions = _conditions(silver.schema.fields, unknown=unknown)
    return _join_held_identities(rows, suppression).where(" OR ".join(conditions.values()) or "false").select("t.*")


def without_others_values(rows: DataFrame, fields: Sequence[Field], suppression: Suppression) -> DataFrame:
    """Return rows of versions of silver with NULL in place of each value of a forgotten person's row.

    A value of which an older version did not record whose it is becomes NULL, too.

    Args:
        rows: with these columns, and perhaps others. Rows without `LEFT` do not record whose their values are.
        fields: the columns of the table that they have.
        suppression: the list of the silver table.
    """
    if not _records_givers(fields):
        return rows
    conditions = _conditions(fields, unknown=True)
    values = [
        f"if({condition}, NULL, t.{name}) AS {name}" if (condition := conditions.get(column)) else f"t.{name}"
        for column in rows.columns
        for name in [quote_name(column)]
    ]
    return _join_held_identities(rows, suppression).selectExpr(*values)


def empty_others_values(session: SparkSession, location: str, silver: TableState, suppression: Suppression) -> int:
    """Let every value of a forgotten person's row, or of nobody knows whose row, become NULL. Returns their rows.

    As after a row that leaves a column which no row before it has, a late row of another person may give it a value.
    The arguments are as for `rows_with_others_values`.
    """
    conditions = _conditions(silver.schema.fields, unknown=True)
    if not conditions:
        return 0
    emptied = [f"if({condition}, {literal(column)}, NULL)" for column, condition in conditions.items()]
    names = f"array_compact(CAST(array({', '.join(emptied)}) AS array<string>))"
    # Not one of the conditions is over a value that another assignment changes: all are over the row as it was.
    values = [
        f"t.{quote_name(name)} = if({condition}, NULL, t.{quote_name(name)})" for name, condition in conditions.items()
    ]
    left = f"transform_values(t.{LEFT}, (name, entry) -> if(array_contains({names}, name), NULL, entry))"
    update = ", ".join([*values, f"t.{LEFT} = {left}", f"t.{CHANGED_AT} = current_timestamp()"])
    # A join with a view: the condition of an UPDATE would be in the log, with the identities.
    held = _held_identities(session.read.format("delta").load(location), suppression)
    with temporary_view(session, "held", held) as view:
        on = " OR ".join(f"({condition})" for condition in conditions.values())
        merge = f"MERGE INTO {delta_table(location)} t USING {view} s ON {on} WHEN MATCHED THEN UPDATE SET {update}"
        (row,) = command(session, merge)
    return int(row["num_updated_rows"])


def _join_held_identities(rows: DataFrame, suppression: Suppression) -> DataFrame:
    """Return rows as `t`, each with the row of `_held_identities` as `s`."""
    return rows.alias("t").crossJoin(F.broadcast(_held_identities(rows, suppression)).alias("s"))


def _held_identities(rows: DataFrame, suppression: Suppression) -> DataFrame:
    """Return a row with the identities on the list that `LEFT` of any row has."""
    entries = rows.where(f"size({LEFT}) > 0").selectExpr(f"explode(map_values({LEFT})) AS entry")
    texts = entries.selectExpr(f"explode({recorded_givers('entry')}) AS text").distinct()
    held = [row["text"] for row in suppression.select_subjects(texts, "text").collect()]
    return rows.sparkSession.createDataFrame(pa.table({_HELD: pa.array([held], pa.list_(pa.string()))}))


def _conditions(fields: Sequence[Field], *, unknown: bool) -> Mapping[str, str]:
    """Return for each column the condition over `t` and `s` that a row has another person's value in it."""
    found = {}
    for name in (field.name for field in fields if fold_name(field.name) not in _NO_VALUES):
        entry = f"t.{LEFT}[{literal(name)}]"
        givers = recorded_givers(entry)
        theirs = f"coalesce(arrays_overlap({givers}, s.{_HELD}), {'true' if unknown else 'false'})"
        found[name] = f"(t.{quote_name(name)} IS NOT NULL AND {entry} IS NOT NULL AND {theirs})"
    return found
