"""The types of JSON columns, by the objects of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.schema.digits import MAX_LENGTH, keeps

#: A simple type by name, numbers, a struct by its fields, or an array by its elements.
_Kind: TypeAlias = "str | _Numbers | dict[str, _Kind] | list[_Kind]"
_NOTHING = "void"
#: Digits of a decimal that takes every `bigint`, and of the widest one.
_WHOLE_DIGITS, _MAX_DIGITS = 20, 38


class Written(float):
    """A number with a point or an exponent, or of very many digits, and the text that it is in its file."""

    def __new__(cls, text: str) -> Written:
        """Return the double of a text."""
        self = super().__new__(cls, text)
        self.text = text
        return self

    text: str


def whole_number(text: str) -> int | Written:
    """Return a number without a point and an exponent. One of too many digits is not an `int` for Python."""
    return int(text) if len(text) <= MAX_LENGTH else Written(text)


@dataclass(frozen=True)
class _Numbers:
    """What numbers of a column have shown.

    Attributes:
        digits: of the narrowest decimal that takes those that are whole; 0 if `bigint` does.
        is_whole: whether all are.
        is_kept: whether a double keeps each of them.
    """

    digits: int
    is_whole: bool
    is_kept: bool

    def __or__(self, other: _Numbers) -> _Numbers:
        digits = max(self.digits or _WHOLE_DIGITS, other.digits or _WHOLE_DIGITS)
        wide = digits if self.digits or other.digits else 0
        return _Numbers(wide, self.is_whole and other.is_whole, self.is_kept and other.is_kept)

    def sql(self) -> str:
        if self.is_whole and self.digits <= _MAX_DIGITS:
            return f"decimal({self.digits},0)" if self.digits else "bigint"
        return "double" if self.is_kept else "string"


class JsonTypes:
    """The type of each column, which all objects so far have in common.

    A field that is null, `{}` or `[]` in every object is not a column, as in the table that the file would become.
    """

    def __init__(self) -> None:
        self._columns: dict[str, _Kind] = {}

    def take(self, record: Mapping[str, Any]) -> None:
        """Add an object: its new fields, at every depth, and wider types."""
        self._columns = _struct_of_both(self._columns, {name: _kind(value) for name, value in record.items()})

    def sql(self) -> dict[str, str]:
        """Return SQL types by name, in the order in which the columns came."""
        return _group_by_name(self._columns)


def _kind(value: Any) -> _Kind:
    match value:
        case None:
            return _NOTHING
        case bool():
            return "boolean"
        case int():
            digits = 0 if -(2**63) <= value < 2**63 else len(str(abs(value)))
            return _Numbers(digits, True, keeps(str(value)))
        case float():
            return _Numbers(0, False, keeps(getattr(value, "text", repr(value))))
        case dict():
            return {name: _kind(inner) for name, inner in value.items()}
        case list():
            element: _Kind = _NOTHING
            for inner in value:
                element = _common_kind(element, _kind(inner))
            return [element]
    return "string"


def _common_kind(left: _Kind, right: _Kind) -> _Kind:
    """Return the type that takes values of both."""
    if left in (right, _NOTHING):
        return right
    match left, right:
        case dict(), dict():
            return _struct_of_both(left, right)
        case [inner], [another]:
            return [_common_kind(inner, another)]
        case _Numbers(), _Numbers():
            return left | right
    return left if right == _NOTHING else "string"


def _struct_of_both(left: dict[str, _Kind], right: dict[str, _Kind]) -> dict[str, _Kind]:
    return {**left, **{name: _common_kind(left.get(name, _NOTHING), kind) for name, kind in right.items()}}


def _group_by_name(fields: dict[str, _Kind]) -> dict[str, str]:
    kinds = {name: _sql(kind) for name, kind in fields.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _sql(kind: _Kind) -> str | None:
    """Return the type as SQL; none if no object has a value of it."""
    match kind:
        case dict():
            inner = ", ".join(f"{quote_name(name)}: {field}" for name, field in _group_by_name(kind).items())
            return f"struct<{inner}>" if inner else None
        case [inner]:
            element = _sql(inner)
            return element and f"array<{element}>"
        case _Numbers():
            return kind.sql()
    return kind if isinstance(kind, str) and kind != _NOTHING else None
