"""The types of columns: read from Spark's schema JSON, written as that and as SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

#: SQL name by the name in Spark's schema JSON, where they differ.
_SQL_NAME = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
#: Digits of the longest decimal of Spark SQL.
MAX_DIGITS = 38
DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")

#: Wider types into which Spark reads a Parquet column without a rewrite.
_WIDENS = {
    "byte": ("short", "integer", "long", "double"),
    "short": ("integer", "long", "double"),
    "integer": ("long", "double"),
    "float": ("double",),
}

#: Maximum depth of nesting of structs, arrays and maps. From 32 levels on, Spark Connect's client cannot read a
#: schema (protobuf's limit); some hundreds take the server down.
MAX_LEVELS = 30

#: Letters of two cases that Java 17, whose Unicode is 13, does not have. It compares them as they are. Each
#: Python knows others: 3.11 has Unicode 14, and 3.14 has 16.
_NEWER_LETTERS = (
    ("\u1c89", "\u1c89"),
    ("\u2c2f", "\u2c2f"),
    ("\ua7c0", "\ua7c0"),
    ("\ua7cb", "\ua7dc"),
    ("\U00010570", "\U00010595"),
    ("\U00010d50", "\U00010d65"),
    ("\U00016ea0", "\U00016eb8"),
)

_ID = "delta.columnMapping.id"
_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class Simple:
    """A type without parts, by its name in Spark's schema JSON: `long`, `string`, `timestamp_ntz` …"""

    name: str

    def json(self) -> Any:
        """Return the type in Spark's schema JSON."""
        return self.name

    def sql(self) -> str:
        """Return the type in SQL."""
        return _SQL_NAME.get(self.name, self.name)


#: Types of whole numbers.
WHOLE = tuple(Simple(name) for name in ("byte", "short", "integer", "long"))


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal of `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def json(self) -> Any:
        """Return the type in Spark's schema JSON."""
        return f"decimal({self.precision},{self.scale})"

    def sql(self) -> str:
        """Return the type in SQL."""
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    """A list of one type."""

    element: Type

    def json(self) -> Any:
        """Return the type in Spark's schema JSON."""
        return {"type": "array", "elementType": self.element.json(), "containsNull": True}

    def sql(self) -> str:
        """Return the type in SQL."""
        return f"array<{self.element.sql()}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Keys and their values."""

    key: Type
    value: Type

    def json(self) -> Any:
        """Return the type in Spark's schema JSON."""
        return {
            "type": "map",
            "keyType": self.key.json(),
            "valueType": self.value.json(),
            "valueContainsNull": True,
        }

    def sql(self) -> str:
        """Return the type in SQL."""
        return f"map<{self.key.sql()},{self.value.sql()}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields."""

    fields: tuple[Field, ...]

    def json(self) -> Any:
        """Return the type in Spark's schema JSON."""
        return {"type": "struct", "fields": [field.json() for field in self.fields]}

    def sql(self) -> str:
        """Return the type in SQL."""
        return f"struct<{','.join(f'{quote_name(field.name)}:{field.type.sql()}' for field in self.fields)}>"


Type = Simple | Decimal | Array | Map | Struct


@dataclass(frozen=True, slots=True)
class Field:
    """A nullable column, or a field of a struct.

    Attributes:
        id: Delta's column id, in a table that maps its columns; else None.
        physical: the column's name in the data files of such a table; else None.
    """

    name: str
    type: Type
    id: int | None = None
    physical: str | None = None

    def json(self) -> dict[str, Any]:
        """Return the field in Spark's schema JSON."""
        mapping = {_ID: self.id, _PHYSICAL: self.physical} if self.id is not None else {}
        return {"name": self.name, "type": self.type.json(), "nullable": True, "metadata": mapping}


def type_from_json(body: Any) -> Type:
    """Return the type that Spark's schema JSON describes, without nullability and comments."""
    if isinstance(body, str):
        found = DECIMAL.fullmatch(body)
        return Decimal(int(found[1]), int(found[2])) if found else Simple(body)
    match body["type"]:
        case "array":
            return Array(type_from_json(body["elementType"]))
        case "map":
            return Map(type_from_json(body["keyType"]), type_from_json(body["valueType"]))
        case "struct":
            return Struct(tuple(field_from_json(field) for field in body["fields"]))
        case other:
            return Simple(str(other))


def field_from_json(body: Mapping[str, Any]) -> Field:
    """Return a field of Spark's schema JSON."""
    mapping = body.get("metadata") or {}
    return Field(body["name"], type_from_json(body["type"]), mapping.get(_ID), mapping.get(_PHYSICAL))


def widens(narrow: Type, wide: Type) -> bool:
    """Return whether Spark reads a Parquet column of one type as the other without a rewrite and without loss."""
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        more = wide.scale - narrow.scale
        return more >= 0 and wide.precision - narrow.precision >= more and wide != narrow
    return isinstance(narrow, Simple) and isinstance(wide, Simple) and wide.name in _WIDENS.get(narrow.name, ())


def grows(narrow: Type, wide: Type) -> bool:
    """Return whether a column of one type can become one of the other, without loss and without a rewrite
    of its files.
    """
    return widens(narrow, wide) or (narrow, wide) == (Simple("date"), Simple("timestamp_ntz"))


def inner_fields(kind: Type) -> Iterator[Field]:
    """Yield the fields of the structs in a type, at every depth."""
    match kind:
        case Struct(fields):
            for field in fields:
                yield field
                yield from inner_fields(field.type)
        case Array(element):
            yield from inner_fields(element)
        case Map(key, value):
            yield from inner_fields(key)
            yield from inner_fields(value)


def levels(kind: Type) -> int:
    """Return the depth of nesting of structs, arrays and maps in a type."""
    match kind:
        case Struct(fields):
            return 1 + max((levels(field.type) for field in fields), default=0)
        case Array(element):
            return 1 + levels(element)
        case Map(key, value):
            return 1 + max(levels(key), levels(value))
    return 0


def strip_ids(kind: Type) -> Type:
    """Return the type without the ids and physical names that a table gives its fields."""
    match kind:
        case Struct(fields):
            return Struct(tuple(replace(field, type=strip_ids(field.type), id=None, physical=None) for field in fields))
        case Array(element):
            return Array(strip_ids(element))
        case Map(key, value):
            return Map(strip_ids(key), strip_ids(value))
        case _:
            return kind


def quote_name(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return f"`{name.replace('`', '``')}`"


def fold_name(name: str) -> str:
    """Return the form in which names are compared: Spark takes two names for one if their forms are equal.

    It is Java's `String.equalsIgnoreCase`: each character becomes upper case and then lower case. `str.lower` differs:
    for Spark the micro sign is the Greek letter mu, and the Turkish letters İ and ı are an i. `Names` of platform/jvm
    has the same function.
    """
    return name.lower() if name.isascii() else "".join(map(_fold_letter, name))


@cache
def _fold_letter(letter: str) -> str:
    if letter == "İ":
        return "i"
    if any(first <= letter <= last for first, last in _NEWER_LETTERS):
        return letter
    upper = letter.upper() if len(letter.upper()) == 1 else letter
    return upper.lower() if len(upper.lower()) == 1 else upper
