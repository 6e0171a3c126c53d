"""The types, encodings and codecs of Parquet that Spark is proven to read correctly."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.arrow_types import leaf_paths

#: Logical types by physical type, as PyArrow names both.
_READ = {
    "BOOLEAN": {"NONE"},
    "INT32": {"NONE", "INT", "DATE", "DECIMAL"},
    "INT64": {"NONE", "INT", "TIMESTAMP", "DECIMAL"},
    "INT96": {"NONE"},
    "FLOAT": {"NONE"},
    "DOUBLE": {"NONE"},
    "BYTE_ARRAY": {"NONE", "STRING", "JSON", "ENUM", "BSON"},
    "FIXED_LEN_BYTE_ARRAY": {"NONE", "DECIMAL"},
}
#: Spark's mark of a file that it wrote: its timestamps have microseconds, in INT96 too.
_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_CODECS = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"}
_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
#: Encodings that Spark's vectorized reader knows for some physical types only.
_DELTA_ENCODINGS = {
    "INT32": {"DELTA_BINARY_PACKED"},
    "INT64": {"DELTA_BINARY_PACKED"},
    "BYTE_ARRAY": {"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"},
}
#: Bytes of a value that is written as it is.
_WIDTHS = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
#: Bytes of a row, as in formats of text: a column of so many fits into memory, however it is divided into pages.
MAX_ROW_BYTES = 64 << 20
#: A column of one such row, with what its page has around it.
_MAX_CHUNK_BYTES = MAX_ROW_BYTES + (1 << 20)
#: A column that unpacks to more, and to so many times its bytes, may be one page, which a reader unpacks whole.
_MAX_UNPACKED = 100
#: Other names than the standard's `list.element` that writers use for the levels of a list. Spark knows them all.
_LIST = re.compile(r"\.(?:list\.(?:item|array|array_element)|bag\.array_element|bag\.array)(?=\.|$)")


def why_copied(metadata: pq.FileMetaData, schema: pa.Schema) -> str | None:
    """Return why Spark might misread the file, so that a copy has to enter the table; None if Spark reads it correctly.

    Raises:
        BadParquet: no copy helps.
    """
    if "Variant(" in str(metadata.schema):
        raise BadParquet("it has a column of the type VARIANT; write the column as JSON text")
    columns = [metadata.schema.column(index) for index in range(len(metadata.schema))]
    flat = {field.name for field in schema if not pa.types.is_nested(field.type)}
    by_spark = _SPARK in (metadata.metadata or {})
    for column in columns:
        if "INTERVAL" in (column.converted_type, column.logical_type.type):
            raise BadParquet(
                f"column {column.path} is an interval, which no type of a Delta table holds; write it as text"
            )
        if column.physical_type == "INT96" and column.path not in flat and not by_spark:
            raise BadParquet(
                f"column {column.path} has timestamps in nanoseconds (INT96) inside of another type; write it with "
                "microseconds"
            )
    for column in columns:
        if column.physical_type == "INT96" and not by_spark:
            return f"column {column.path} has the Parquet type INT96, which may hold nanoseconds"
        if reason := _type_problem(column):
            return reason
    expected = [path for field in schema for path in leaf_paths(field.type, field.name)]
    for column, path in zip(columns, expected, strict=False):
        if _LIST.sub(".list.element", column.path) != _LIST.sub(".list.element", path):
            return f"column {column.path} is not nested as the format's standard says"
    if len(columns) != len(expected):
        return "its columns are not nested as the format's standard says"
    if _miscounts(metadata.created_by or ""):
        return f"it was written by {metadata.created_by}, which counts the bytes of dictionaries wrongly"
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for column, index in zip(columns, range(row_group.num_columns), strict=False):
            if reason := _chunk_problem(row_group.column(index), column):
                return reason
    return None


def _miscounts(writer: str) -> bool:
    """Return whether it is Parquet's Java library before 1.2.9.

    That leaves a dictionary's header out of a column's bytes. Arrow knows; Spark comes to the end too early.
    """
    found = re.match(r"parquet-mr(?: version (\d+)\.(\d+)(?:\.(\d+))?|$)", writer)
    return found is not None and tuple(int(group or 0) for group in found.groups()) < (1, 2, 9)


def _type_problem(column: Any) -> str | None:
    logical = column.logical_type
    read = logical.type in _READ.get(column.physical_type, ())
    nanos = logical.type == "TIMESTAMP" and "nanoseconds" in str(logical)
    wide = logical.type == "INT" and "bitWidth=64, isSigned=false" in str(logical)
    if read and not nanos and not wide:
        return None
    shown = column.physical_type if logical.type == "NONE" else str(logical)
    return f"column {column.path} has the Parquet type {shown}"


def _chunk_problem(chunk: Any, column: Any) -> str | None:
    if chunk.compression not in _CODECS:
        return f"column {chunk.path_in_schema} is compressed with {chunk.compression}"
    unknown = set(chunk.encodings) - _ENCODINGS - _DELTA_ENCODINGS.get(column.physical_type, set())
    if unknown:
        return f"column {chunk.path_in_schema} is encoded with {min(unknown)}"
    width = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(column.physical_type, 0)
    as_they_are = column.max_definition_level == 0 and set(chunk.encodings) <= {"PLAIN", "RLE", "BIT_PACKED"}
    if as_they_are and chunk.total_uncompressed_size < chunk.num_values * width:
        return f"column {chunk.path_in_schema} has fewer bytes than its {chunk.num_values} values take"
    unpacked, packed = chunk.total_uncompressed_size, chunk.total_compressed_size
    if unpacked > max(_MAX_CHUNK_BYTES, _MAX_UNPACKED * packed):
        return f"column {chunk.path_in_schema} unpacks {packed:,} bytes to {unpacked:,}, which may be one page"
    return None
