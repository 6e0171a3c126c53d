"""Queries of bronze's rows before a merge: the types of expressions, and how many rows have no order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.schema.column_types import Field, Struct, Type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.rules import MergeRules


def expression_types(session: SparkSession, work: PendingMerge, expressions: Sequence[str]) -> list[Type]:
    """Returns the types of expressions over a row of bronze. They are only analyzed, no row is read.

    Raises:
        ValueError: bronze lacks a column of an expression, or it is no expression.
    """
    birth = work.table.birth
    if birth is None:
        raise AssertionError("a table with batches has been born")
    selected = ", ".join(f"{sql} AS e{place}" for place, sql in enumerate(expressions))
    try:
        schema = session.sql(f"SELECT {selected} FROM delta.`{birth.location}`").schema
    except AnalysisException as error:
        raise ValueError(
            f"silver.{work.table.spec.name}: an expression of `silver` in lake.yaml does not fit bronze's rows: "
            f"{first_line(error)}"
        ) from error
    return [field.type for field in TableSchema.from_spark(json.loads(schema.json()), ()).fields]


def rows_without_order(session: SparkSession, changes: Changes, rules: MergeRules, bronze: TableSchema) -> int:
    """Returns the number of rows with a NULL in a part of their order.

    The statistics of the files mostly rule such rows out. Otherwise the rows are counted.
    """
    if changes.statistics is not None:
        counts = [json.loads(text).get("nullCount") for text in changes.statistics]
        if all(_nulls(count, part.column, bronze.fields) == 0 for count in counts for part in rules.order):
            return 0
    condition = " OR ".join(f"{part.sql} IS NULL" for part in rules.order)
    return int(session.sql(f"SELECT count(*) FROM {changes.view} WHERE {condition}").collect()[0][0])


def _nulls(counts: Any, path: Sequence[str], fields: Sequence[Field]) -> int | None:
    """Returns the number of NULL values of a column or nested field in a file; None if it is not known."""
    field = next((field for field in fields if path and field.name == path[0]), None)
    if field is None or not isinstance(counts, dict):
        return None
    found = counts.get(field.physical or field.name)
    if isinstance(field.type, Struct):
        return _nulls(found, path[1:], field.type.fields)
    return found if isinstance(found, int) else None
