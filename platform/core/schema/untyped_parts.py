"""What a file says nothing of: columns, and parts of columns, that have no type.

Nulls have no type, and neither have lists and structs of nothing else. Such a column is NULL, and waits for a file that
says its type. `TypedColumns` of platform/jvm has the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, Type

#: The type of NULL.
UNTYPED = Simple("void")


def typed_fields(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields that have a type, without the parts that have none."""
    typed = ((field, typed_part(field.type)) for field in fields)
    return tuple(replace(field, type=kind) for field, kind in typed if kind is not None)


def typed_part(kind: Type) -> Type | None:
    """Return a type without its parts that have none. None if nothing is left."""
    match kind:
        case Array(element):
            inner = typed_part(element)
            return None if inner is None else Array(inner)
        case Map(key, value):
            return Map(typed_or_text(key), typed_or_text(value))
        case Struct(fields):
            inner_fields = typed_fields(fields)
            return Struct(inner_fields) if inner_fields else None
    return None if kind == UNTYPED else kind


def typed_or_text(kind: Type) -> Type:
    """Return a type without its parts that have none. If nothing is left, nulls are of text.

    It is for a type next to which something is a value: the keys of a map, or the choice among the types of a union.
    """
    return typed_part(kind) or _text(kind)


def _text(kind: Type) -> Type:
    match kind:
        case Array(element):
            return Array(_text(element))
        case Struct(fields) if fields:  # Delta refuses a struct without any
            return Struct(tuple(replace(field, type=_text(field.type)) for field in fields))
    return Simple("string")
