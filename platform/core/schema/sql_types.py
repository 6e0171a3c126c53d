"""The types of columns as SQL writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.schema.column_types import (
    DECIMAL,
    MAX_DIGITS,
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
)

if TYPE_CHECKING:
    from sqlglot import exp

#: Name in Spark's schema JSON by SQL name. SQL accepts both.
_JSON_NAME = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "string": "string",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "binary": "binary",
    "byte": "byte",
    "short": "short",
    "integer": "integer",
    "long": "long",
}


def simple_type(sql: str) -> Simple | Decimal:
    """Return the type that a simple SQL type names.

    Raises:
        BadSetting: not a simple SQL type.
    """
    text = sql.strip().lower()
    if found := DECIMAL.fullmatch(text):
        precision, scale = int(found[1]), int(found[2])
        if not 1 <= precision <= MAX_DIGITS or scale > precision:
            raise BadSetting(
                f"'{sql}' is not a decimal of Spark SQL: it has 1 to {MAX_DIGITS} digits, and no more after the point"
            )
        return Decimal(precision, scale)
    if text not in _JSON_NAME:
        raise BadSetting(
            f"'{sql}' is not a simple SQL type; known are {', '.join(sorted(_JSON_NAME))} and decimal(p,s)"
        )
    return Simple(_JSON_NAME[text])


def parse_sql_type(sql: str) -> Type:
    """Return the type that a SQL type names, nested ones included.

    Raises:
        ValueError: not a type of Spark SQL.
    """
    if sql.strip().lower() == "variant":
        return Simple("variant")
    try:
        return simple_type(sql)
    except ValueError:
        return _nested_type(sql)


def _nested_type(sql: str) -> Type:
    # Imported here: each run of Dagster loads lake.yaml in a new process, and sqlglot takes 0.3 s to import.
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        return _convert_type(exp.DataType.build(sql, dialect="databricks"))
    except (SqlglotError, ValueError) as error:
        raise BadSetting(
            f"{sql!r} is not a type of Spark SQL: a nested one is array<…>, map<…,…> or struct<…> of simple ones"
        ) from error


def _convert_type(parsed: exp.DataType) -> Type:
    inner = parsed.expressions
    match parsed.this.value, len(inner):
        case "ARRAY", 1:
            return Array(_convert_type(inner[0]))
        case "MAP", 2:
            return Map(_convert_type(inner[0]), _convert_type(inner[1]))
        case "STRUCT", n if n:
            return Struct(tuple(Field(field.this.name, _convert_type(field.kind)) for field in inner))
        case "VARIANT", _:
            return Simple("variant")
        case _:
            return simple_type(parsed.sql("databricks"))
