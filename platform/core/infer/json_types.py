"""The types of JSON columns, by the objects of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from tidegate.platform.core.schema.column_types import quoted

#: A simple type by name, a struct by its fields, or an array by its elements.
_Kind: TypeAlias = "str | dict[str, _Kind] | list[_Kind]"
_NOTHING = "void"


class JsonTypes:
    """The type of each column, which all objects so far have in common.

    A field that is null, `{}` or `[]` in every object is no column, as in the table that the file would become.
    """

    def __init__(self) -> None:
        self._columns: dict[str, _Kind] = {}

    def take(self, record: Mapping[str, Any]) -> None:
        """Add an object: its new fields, at every depth, and wider types."""
        self._columns = _struct_of_both(self._columns, {name: _kind(value) for name, value in record.items()})

    def sql(self) -> dict[str, str]:
        """Returns SQL types by name, in the order in which the columns came."""
        return _by_name(self._columns)


def _kind(value: Any) -> _Kind:
    match value:
        case None:
            return _NOTHING
        case bool():
            return "boolean"
        case int():
            return "bigint" if -(2**63) <= value < 2**63 else "string"
        case float():
            return "double"
        case dict():
            return {name: _kind(inner) for name, inner in value.items()}
        case list():
            element: _Kind = _NOTHING
            for inner in value:
                element = _both(element, _kind(inner))
            return [element]
    return "string"


def _both(one: _Kind, other: _Kind) -> _Kind:
    """Returns the type that takes values of both."""
    if one in (other, _NOTHING):
        return other
    match one, other:
        case dict(), dict():
            return _struct_of_both(one, other)
        case [inner], [another]:
            return [_both(inner, another)]
        case ("bigint", "double") | ("double", "bigint"):
            return "double"
    return one if other == _NOTHING else "string"


def _struct_of_both(one: dict[str, _Kind], other: dict[str, _Kind]) -> dict[str, _Kind]:
    return {**one, **{name: _both(one.get(name, _NOTHING), kind) for name, kind in other.items()}}


def _by_name(fields: dict[str, _Kind]) -> dict[str, str]:
    kinds = {name: _sql(kind) for name, kind in fields.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _sql(kind: _Kind) -> str | None:
    """Returns the type as SQL; none if no object has a value of it."""
    match kind:
        case dict():
            inner = ", ".join(f"{quoted(name)}: {field}" for name, field in _by_name(kind).items())
            return f"struct<{inner}>" if inner else None
        case [inner]:
            element = _sql(inner)
            return element and f"array<{element}>"
    return kind if isinstance(kind, str) and kind != _NOTHING else None
