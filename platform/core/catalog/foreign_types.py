"""The types of columns as Hive and Trino write them."""

from __future__ import annotations

import re

from tidegate.platform.core.schema.column_types import Array, Decimal, Field, Map, Simple, Struct, Type

#: Hive has one timestamp. Engines take what it means from the Delta log.
_HIVE = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}
#: Trino's connector of Delta reads a timestamp in milliseconds with its zone.
_TRINO = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "integer",
    "long": "bigint",
    "float": "real",
    "double": "double",
    "boolean": "boolean",
    "string": "varchar",
    "binary": "varbinary",
    "date": "date",
    "timestamp": "timestamp(3) with time zone",
    "timestamp_ntz": "timestamp(6)",
    "variant": "json",
}
#: Names that Hive's text of a struct can have. It has no way to quote others.
_PLAIN = re.compile(r"\w+")


def hive_type(kind: Type) -> str | None:
    """Return a type as the Glue Data Catalog has it. None if Hive has no such type, as of VARIANT."""
    match kind:
        case Simple(name):
            return _HIVE.get(name)
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Array(element):
            return _translate_type("array<{}>", hive_type(element))
        case Map(key, value):
            return _translate_type("map<{},{}>", hive_type(key), hive_type(value))
        case Struct(fields):
            return _translate_type(f"struct<{','.join('{}' for _ in fields)}>", *map(_hive_field, fields))


def trino_type(kind: Type) -> str | None:
    """Return a type as Trino and Athena write it. None if they have no such type."""
    match kind:
        case Simple(name):
            return _TRINO.get(name)
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Array(element):
            return _translate_type("array({})", trino_type(element))
        case Map(key, value):
            return _translate_type("map({}, {})", trino_type(key), trino_type(value))
        case Struct(fields):
            return _translate_type(f"row({', '.join('{}' for _ in fields)})", *map(_trino_field, fields))


def trino_name(name: str) -> str:
    """Return a name as a quoted identifier of standard SQL, in the case that Trino gives to columns."""
    return '"' + name.lower().replace('"', '""') + '"'


def _hive_field(field: Field) -> str | None:
    kind = hive_type(field.type)
    return f"{field.name.lower()}:{kind}" if kind and _PLAIN.fullmatch(field.name) else None


def _trino_field(field: Field) -> str | None:
    kind = trino_type(field.type)
    return f"{trino_name(field.name)} {kind}" if kind else None


def _translate_type(form: str, *parts: str | None) -> str | None:
    known = [part for part in parts if part is not None]
    return form.format(*known) if len(known) == len(parts) else None
