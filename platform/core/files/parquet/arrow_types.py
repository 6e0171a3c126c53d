"""Arrow's types and ours: what a Parquet column becomes in a table, and what a copy must turn it into first."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.schema.column_types import MAX_DIGITS, Array, Decimal, Field, Map, Simple, Struct, Type
from tidegate.platform.core.schema.untyped_parts import UNTYPED, typed_part

_SIMPLE: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
    pa.date64(): "date",
}
#: Digits of the largest unsigned 64-bit number.
_UINT64 = Decimal(20, 0)


def table_type(kind: Any, column: str) -> Type:
    """Return the type of a table's column for a Parquet column, of the file itself or of its copy.

    Nulls have the type `UNTYPED`.

    Raises:
        BadParquet: no type of a table holds its values.
    """
    if kind in _SIMPLE:
        return Simple(_SIMPLE[kind])
    if pa.types.is_dictionary(kind):
        return table_type(kind.value_type, column)
    if pa.types.is_decimal(kind) and kind.precision <= MAX_DIGITS and 0 <= kind.scale <= kind.precision:
        return Decimal(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return Simple("timestamp" if kind.tz else "timestamp_ntz")
    if pa.types.is_fixed_size_binary(kind):
        return Simple("binary")
    if pa.types.is_null(kind):
        return UNTYPED
    if pa.types.is_time(kind) or is_uuid(kind):
        return Simple("string")
    if pa.types.is_uint64(kind):
        return _UINT64
    if pa.types.is_float16(kind):
        return Simple("float")
    if is_list(kind):
        return Array(table_type(kind.value_type, f"{column}[]"))
    if pa.types.is_map(kind):
        return Map(table_type(kind.key_type, f"{column} (key)"), table_type(kind.item_type, f"{column}[]"))
    if pa.types.is_struct(kind):
        return Struct(tuple(Field(child.name, table_type(child.type, f"{column}.{child.name}")) for child in kind))
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "parquet.variant":
        return table_type(kind.storage_type, column)
    raise BadParquet(
        f"column {column} has the type {kind}, whose values no type of a Delta table holds; write it as text or as a "
        "number"
    )


def copied_type(kind: Any) -> Any:
    """Return the Arrow type of the column in a copy that Spark reads correctly. Unchanged if Spark needs no copy."""
    if pa.types.is_dictionary(kind):
        return copied_type(kind.value_type)
    if is_uuid(kind) or pa.types.is_time(kind) or pa.types.is_null(kind):
        return pa.string()
    if isinstance(kind, pa.BaseExtensionType):
        return copied_type(kind.storage_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_uint64(kind):
        return pa.decimal128(_UINT64.precision, _UINT64.scale)
    if pa.types.is_uint32(kind):
        return pa.int64()
    if pa.types.is_uint16(kind):
        return pa.int32()
    if pa.types.is_uint8(kind):
        return pa.int16()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_date64(kind):
        return pa.date32()
    if is_list(kind):
        return pa.list_(copied_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(copied_type(kind.key_type), copied_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind[place].name, copied_type(kind[place].type)) for place in typed_places(kind)])
    return kind


@functools.cache  # each level of a column asks for all that is below it
def has_type(kind: Any) -> bool:
    """Return whether an Arrow type is more than nulls, and lists and structs of them (`untyped_parts.py`)."""
    return typed_part(table_type(kind, "")) is not None


def typed_places(kind: Any) -> list[int]:
    """Return the places of the fields of a struct that its copy has. If none has a type, nulls are of text."""
    return [place for place, child in enumerate(kind) if has_type(child.type)] or list(range(kind.num_fields))


def is_list(kind: pa.DataType) -> bool:
    """Return whether it is a list, of whatever layout."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_uuid(kind: pa.DataType) -> bool:
    """Return whether it is Arrow's canonical type of UUIDs."""
    return isinstance(kind, pa.UuidType)


def leaf_paths(kind: Any, path: str) -> list[str]:
    """Return where the Parquet columns of a column are if its nesting is written as the format's standard says."""
    if pa.types.is_dictionary(kind):
        return leaf_paths(kind.value_type, path)
    if isinstance(kind, pa.BaseExtensionType):
        return leaf_paths(kind.storage_type, path)
    if is_list(kind):
        return leaf_paths(kind.value_type, f"{path}.list.element")
    if pa.types.is_map(kind):
        entry = f"{path}.key_value"
        return [*leaf_paths(kind.key_type, f"{entry}.key"), *leaf_paths(kind.item_type, f"{entry}.value")]
    if pa.types.is_struct(kind):
        return [leaf for child in kind for leaf in leaf_paths(child.type, f"{path}.{child.name}")]
    return [path]
