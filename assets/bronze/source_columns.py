"""The columns that Tidegate adds to the rows of loaded tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.assets.bronze.formats.format import BAD, IN_FILE, PATH, RAW, SUSPECT, UNKNOWN, SourceFile
from tidegate.platform.core.object_key import partition_values
from tidegate.platform.core.schema.column_types import Field, quoted, simple_type
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import Table

#: Their types, in the order of ``SOURCE_COLUMNS``.
SOURCE_FIELDS = tuple(
    Field(name, simple_type(kind))
    for name, kind in zip(SOURCE_COLUMNS, ("string", "string", "timestamp", "timestamp", "bigint"), strict=True)
)


def with_source_columns(
    session: SparkSession, rows: DataFrame, files: Sequence[SourceFile], table: Table, schema: TableSchema, n: int
) -> DataFrame:
    """Rows with the columns of their path and the source columns, in the table's order.

    Args:
        session: Spark.
        rows: what the formats read.
        files: the files that they were read from.
        table: the table.
        schema: its columns.
        n: the batch's number.
    """
    paths = schema.partition_fields
    joined = rows.join(F.broadcast(session.createDataFrame(_sources(files, table, paths))), PATH, "left").drop(PATH)
    typed = {field.name: F.col(f"_p_{index}").cast(field.type.sql()) for index, field in enumerate(paths)}
    order = [*(field.name for field in schema.fields), BAD, RAW, SUSPECT, UNKNOWN]
    differing = [_differing(index, field) for index, field in enumerate(paths)]
    return joined.withColumns(
        {
            **typed,
            "_ingested_at": F.current_timestamp(),
            "_batch": F.lit(n).cast("bigint"),
            BAD: F.coalesce(F.col(BAD), *differing),
        }
    ).select(*[quoted(name) for name in order])


def _differing(index: int, field: Field) -> Column:
    """Why a row is bad that has another value of a column than its path has."""
    given, path = F.col(f"{IN_FILE}{index}"), F.col(f"_p_{index}")
    same = given.try_cast(field.type.sql()).eqNullSafe(path.try_cast(field.type.sql()))
    text = F.concat(F.lit(f"column {field.name} says "), given, F.lit(", its path "), F.coalesce(path, F.lit("null")))
    return F.when(given.isNotNull() & ~same, text)


def _sources(files: Sequence[SourceFile], table: Table, paths: Sequence[Field]) -> pa.Table:
    rows = []
    for file in files:
        candidate = file.candidate
        time = candidate.taken.hint.event_time
        values = {name.lower(): value for name, value in partition_values(candidate.key, table.key.prefix).items()}
        rows.append(
            {
                PATH: file.path,
                "_source_path": f"s3://{table.key.bucket}/{candidate.key}",
                "_source_etag": candidate.found.etag,
                "_source_event_time": datetime.fromisoformat(time) if time else None,
                **{f"_p_{index}": values[field.name.lower()] for index, field in enumerate(paths)},
            }
        )
    columns: list[tuple[str, Any]] = [
        (PATH, pa.string()),
        ("_source_path", pa.string()),
        ("_source_etag", pa.string()),
        ("_source_event_time", pa.timestamp("us", "UTC")),
        *((f"_p_{index}", pa.string()) for index in range(len(paths))),
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(columns))
