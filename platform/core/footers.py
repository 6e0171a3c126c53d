"""Parquet footers: the schema, row count and statistics of a file that is registered where it lies."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAGIC = b"PAR1"
_TRAILER = 8

#: Delta keeps at most 32 characters of a string bound; longer ones are omitted, for a writer may have cut them.
_STRING_BOUND_BYTES = 32


class BadParquet(ValueError):
    """The object is not a Parquet file that can be registered; the message is the reason."""


@dataclass(frozen=True)
class FooterField:
    """A top-level column: its name and Spark type (the ``type`` of Spark's schema JSON)."""

    name: str
    type: Any


@dataclass(frozen=True)
class Footer:
    """What a footer says.

    Attributes:
        rows: number of rows.
        fields: top-level columns, in file order.
        minimum: lower bounds by column, as Delta writes them.
        maximum: upper bounds by column.
        nulls: null counts by column.
    """

    rows: int
    fields: tuple[FooterField, ...]
    minimum: dict[str, Any]
    maximum: dict[str, Any]
    nulls: dict[str, int]

    def stats(self, spelling: dict[str, str]) -> str:
        """Delta's statistics JSON, with columns spelled as the table spells them.

        Args:
            spelling: the table's spelling by lower-case name; columns that are not in it are left out.
        """

        def spelled(values: dict[str, Any]) -> dict[str, Any]:
            return {spelling[name.lower()]: value for name, value in values.items() if name.lower() in spelling}

        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": spelled(self.minimum),
                "maxValues": spelled(self.maximum),
                "nullCount": spelled(self.nulls),
            },
            separators=(",", ":"),
        )


def footer_bytes(tail: bytes, size: int) -> int:
    """How many bytes at the object's end hold the whole footer.

    Args:
        tail: the object's last bytes, at least 8 unless the object is smaller.
        size: the object's size in bytes.

    Raises:
        BadParquet: empty, truncated, encrypted or no Parquet.
    """
    if size == 0:
        raise BadParquet("empty file")
    if size < _TRAILER + len(MAGIC) or tail[-4:] != MAGIC:
        kind = "its footer is encrypted" if tail[-4:] == b"PARE" else "no Parquet footer at its end"
        raise BadParquet(f"truncated or not Parquet: {kind}")
    length = int.from_bytes(tail[-8:-4], "little") + _TRAILER
    if length + len(MAGIC) > size:
        raise BadParquet(f"truncated or not Parquet: its footer claims {length} bytes of {size}")
    return length


def read_footer(tail: bytes, size: int) -> Footer:
    """Parse the footer at the end of ``tail``.

    Args:
        tail: the object's last bytes, at least ``footer_bytes`` of them.
        size: the object's size in bytes.

    Raises:
        BadParquet: the footer cannot be read, points past the file's end, or has a type that Spark cannot read.

    Some corrupt footers make Arrow abort the process: ``tidegate.resources.footer_reader`` calls this in a child.
    """
    length = footer_bytes(tail, size)
    try:
        return _parse(tail[-length:], data_end=size - length)
    except BadParquet:
        raise
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        raise BadParquet(f"truncated or not Parquet: {str(error).splitlines()[0]}") from error


def _parse(footer: bytes, *, data_end: int) -> Footer:
    metadata = pq.read_metadata(pa.BufferReader(MAGIC + footer))
    schema = metadata.schema.to_arrow_schema()
    int96 = {
        metadata.schema.column(i).path
        for i in range(len(metadata.schema))
        if metadata.schema.column(i).physical_type == "INT96"
    }
    fields = tuple(
        FooterField(field.name, "timestamp" if field.name in int96 else spark_type(field.type, field.name))
        for field in schema
    )
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise BadParquet(f"two columns differ by case only: {field.name}")
        seen.add(field.name.lower())
    return Footer(metadata.num_rows, fields, *_statistics(metadata, data_end, fields, int96))


_SIMPLE: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
}


def spark_type(kind: pa.DataType, column: str) -> Any:
    """The Spark type, as in Spark's schema JSON, that reads a Parquet column.

    Raises:
        BadParquet: Spark has no lossless reading of the type.
    """
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type, column)
    if pa.types.is_decimal(kind) and kind.precision <= 38:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind) and kind.unit in ("ms", "us"):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "elementType": spark_type(kind.value_type, column), "containsNull": True}
    if pa.types.is_map(kind):
        return {
            "type": "map",
            "keyType": spark_type(kind.key_type, column),
            "valueType": spark_type(kind.item_type, column),
            "valueContainsNull": True,
        }
    if pa.types.is_struct(kind):
        return {
            "type": "struct",
            "fields": [struct_field(child.name, spark_type(child.type, column)) for child in kind],
        }
    raise BadParquet(
        f"column {column} has type {kind}, which Spark cannot read without loss; load the table "
        "instead of registering it, or change the writer"
    )


def struct_field(name: str, kind: Any) -> dict[str, Any]:
    """A nullable field of Spark's schema JSON."""
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _statistics(
    metadata: pq.FileMetaData, data_end: int, fields: tuple[FooterField, ...], int96: set[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    kinds = {field.name: field.type for field in fields}
    low: dict[str, list[Any]] = {}
    high: dict[str, list[Any]] = {}
    nulls: dict[str, list[int | None]] = {}
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for index in range(row_group.num_columns):
            column = row_group.column(index)
            if (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size > data_end:
                raise BadParquet(f"truncated: column {column.path_in_schema} lies past the end of the data")
            name = column.path_in_schema
            if name not in kinds:
                continue
            stats: Any = column.statistics  # the stubs misspell has_null_count
            nulls.setdefault(name, []).append(stats.null_count if stats and stats.has_null_count else None)
            if stats and stats.has_null_count and stats.null_count == row_group.num_rows:
                continue
            bounded = stats is not None and stats.has_min_max and name not in int96
            low.setdefault(name, []).append(_bound(kinds[name], _read(stats, "min"), upper=False) if bounded else None)
            high.setdefault(name, []).append(_bound(kinds[name], _read(stats, "max"), upper=True) if bounded else None)
    # A bound of the file needs a bound of every row group that has values.
    minimum = {name: min(values) for name, values in low.items() if None not in values}
    maximum = {name: max(values) for name, values in high.items() if None not in values}
    counts = {
        name: sum(known)
        for name, values in nulls.items()
        if len(known := [value for value in values if value is not None]) == len(values)
    }
    return minimum, maximum, counts


def _read(stats: Any, which: str) -> Any:
    """A bound as a Python value; None where Python has none for it (the year 10000, a string that was cut)."""
    try:
        return getattr(stats, which)
    except (ValueError, OverflowError, pa.ArrowException):
        return None


def _bound(kind: Any, value: Any, *, upper: bool) -> Any:
    """A bound as Delta's statistics hold it, or None unless the type is on the proven list.

    A wrong bound makes rows vanish from selective queries, so every doubt ends in None. Floating point has no upper
    bound: Parquet's statistics leave out NaN, which Spark sorts above every number.
    """
    if kind in ("byte", "short", "integer", "long") and isinstance(value, int):
        return value
    if kind == "date" and isinstance(value, date):
        return value.isoformat()
    if kind in ("float", "double") and isinstance(value, float):
        return None if upper or not math.isfinite(value) else value
    if kind in ("timestamp", "timestamp_ntz") and isinstance(value, datetime):
        return _millis(value, upper=upper, zoned=kind == "timestamp")
    if kind == "string" and isinstance(value, str) and len(value.encode()) <= _STRING_BOUND_BYTES:
        return value
    return None


def _millis(value: datetime, *, upper: bool, zoned: bool) -> str | None:
    """Milliseconds are all that Delta keeps: an upper bound is rounded up to the next one."""
    if value.year < 1900 or value.year > 9990:
        return None
    if zoned:
        value = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if upper and value.microsecond % 1000:
        value += timedelta(milliseconds=1)
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}" + ("Z" if zoned else "")
