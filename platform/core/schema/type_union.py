"""Types that have the fields of two types, and types that hold the values of two types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidegate.platform.core.schema.column_types import (
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
    field_from_json,
    fold_name,
    strip_ids,
    type_from_json,
)
from tidegate.platform.core.schema.untyped_parts import UNTYPED

#: Metadata of a column that the server shows: a double would change one of its numbers.
_EXACT = "tidegate.exact"

_TEXT = Simple("string")
_WHOLE, _FLOATING = Simple("long"), Simple("double")
#: Digits of the largest `long`, and of the largest decimal.
_WHOLE_DIGITS, _MAX_DIGITS = 19, 38


@dataclass(frozen=True)
class ExactNumber(Simple):
    """The type of numbers of which a double would change one. `name` is the type without this."""


def parse_shown_field(body: Mapping[str, Any]) -> Field:
    """Return a column that the server shows of the files of a format."""
    field = field_from_json(body)
    return replace(field, type=_mark_exact(field.type)) if (body.get("metadata") or {}).get(_EXACT) else field


def add_missing_fields(known: Type, given: Type, *, fixed: bool = False) -> Type:
    """Return a type with the fields of the other type that it lacks, at every depth. Its other parts stay.

    Args:
        given: the other type.
        fixed: whether structs that are in no array or map take no fields.
    """
    match known, given:
        case Struct(fields), Struct(others) if not fixed:
            found = {fold_name(field.name): field for field in fields}
            for field in others:
                name = fold_name(field.name)
                there = found.get(name)
                kind = add_missing_fields(there.type, field.type, fixed=False) if there else strip_ids(field.type)
                found[name] = replace(there, type=kind) if there else Field(field.name, kind)
            return Struct(tuple(found.values()))
        case Array(element), Array(other):
            return Array(add_missing_fields(element, other, fixed=fixed))
        case Map(key, value), Map(_, other):
            return Map(key, add_missing_fields(value, other, fixed=fixed))
    return known


def narrowest_columns(shown: Iterable[Iterable[Field]]) -> list[Field]:
    """Return the columns that several formats show, each once, in the order of their first one.

    The types do not depend on the order: each is the narrowest that holds the values of all, or text without values.
    """
    columns = [replace(field, type=_plain_type(field.type)) for field in _join_repeated_fields(shown)]
    return [replace(field, type=_TEXT) if field.type == UNTYPED else field for field in columns]


def _join_repeated_fields(shown: Iterable[Iterable[Field]]) -> list[Field]:
    found: dict[str, Field] = {}
    for fields in shown:
        for field in fields:
            known = found.get(fold_name(field.name))
            kind = common_type(known.type, field.type) if known else field.type
            found[fold_name(field.name)] = replace(known or field, type=kind)
    return list(found.values())


def common_type(left: Type, right: Type) -> Type:
    """Return the narrowest type that holds the values of two inferred types, at every depth; text if no other does."""
    if left == right:
        return left
    if isinstance(left, ExactNumber) or isinstance(right, ExactNumber):
        kind = common_type(_plain_type(left), _plain_type(right))
        # One of the numbers would be another one as a double, and none is one as text.
        return _mark_exact(kind) if kind != _FLOATING and _is_number(kind) else _TEXT
    if UNTYPED in (left, right):
        other = right if left == UNTYPED else left
        return other if isinstance(other, Simple | Decimal) else _TEXT  # a cell holds no other value
    match left, right:
        case Struct(fields), Struct(others):
            return Struct(tuple(sorted(_join_repeated_fields((fields, others)), key=lambda field: field.name)))
        case Array(element), Array(other):
            return Array(common_type(element, other))
        case Map(Simple("string"), value), Map(Simple("string"), other):
            return Map(_TEXT, common_type(value, other))
    kinds = {left, right}
    if kinds == {Simple("date"), Simple("timestamp")}:
        return Simple("timestamp")
    return _number(left, right) if all(map(_is_number, kinds)) else _TEXT


def _mark_exact(kind: Type) -> Type:
    return ExactNumber(str(kind.json()))


def _plain_type(kind: Type) -> Type:
    return type_from_json(kind.name) if isinstance(kind, ExactNumber) else kind


def _is_number(kind: Type) -> bool:
    return kind in (_WHOLE, _FLOATING) or isinstance(kind, Decimal)


def _number(left: Type, right: Type) -> Type:
    if _FLOATING in (left, right):
        return _FLOATING
    decimals = [kind if isinstance(kind, Decimal) else Decimal(_WHOLE_DIGITS, 0) for kind in (left, right)]
    scale = max(kind.scale for kind in decimals)
    digits = max(kind.precision - kind.scale for kind in decimals) + scale
    return Decimal(digits, scale) if digits <= _MAX_DIGITS else _TEXT
