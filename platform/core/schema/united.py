"""Types that have the fields of two types."""

from __future__ import annotations

from dataclasses import replace

from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type, folded, unmapped


def united(known: Type, given: Type, *, fixed: bool = False) -> Type:
    """Returns a type with the fields of the other type that it lacks, at every depth. Its other parts stay.

    Args:
        known: the type.
        given: the other type.
        fixed: whether structs that are in no array or map take no fields.
    """
    match known, given:
        case Struct(fields), Struct(others) if not fixed:
            found = {folded(field.name): field for field in fields}
            for field in others:
                name = folded(field.name)
                there = found.get(name)
                kind = united(there.type, field.type, fixed=False) if there else unmapped(field.type)
                found[name] = replace(there, type=kind) if there else Field(field.name, kind)
            return Struct(tuple(found.values()))
        case Array(element), Array(other):
            return Array(united(element, other, fixed=fixed))
        case Map(key, value), Map(_, other):
            return Map(key, united(value, other, fixed=fixed))
    return known
