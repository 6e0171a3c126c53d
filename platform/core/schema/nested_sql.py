"""Nested types as SQL writes them; apart, because it needs a parser that takes a while to import."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, Type, simple_type


def nested_type(sql: str) -> Type:
    """The type that a SQL type names.

    Raises:
        ValueError: not a type of Spark SQL.
    """
    try:
        return _converted(exp.DataType.build(sql, dialect="databricks"))
    except (SqlglotError, ValueError) as error:
        raise ValueError(
            f"{sql!r} is not a type of Spark SQL: a nested one is array<…>, map<…,…> or struct<…> of simple ones"
        ) from error


def _converted(parsed: exp.DataType) -> Type:
    inner = parsed.expressions
    match parsed.this, len(inner):
        case exp.DType.ARRAY, 1:
            return Array(_converted(inner[0]))
        case exp.DType.MAP, 2:
            return Map(_converted(inner[0]), _converted(inner[1]))
        case exp.DType.STRUCT, n if n:
            return Struct(tuple(Field(one.this.name, _converted(one.kind)) for one in inner))
        case exp.DType.VARIANT, _:
            return Simple("variant")
        case _:
            return simple_type(parsed.sql("databricks"))
