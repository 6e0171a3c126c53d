"""A value of bronze as silver has its column: the fields within it by name, at every depth."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type, quoted


def aligned(given: Type, wanted: Type, value: str, kept: str | None = None, *, level: int = 0) -> str:
    """SQL of a value in another type that has the same fields, or more, in any order.

    Delta's MERGE matches fields by name where a column is a struct, or an array or a map of structs; deeper, it casts
    by place, so that two fields of one type change their values (`castIfNeeded` in Delta 4.4's
    `UpdateExpressionsSupport`).

    Args:
        given: the type of the value.
        wanted: the type to give it. Types without parts stay as they are: Delta casts them, or refuses.
        value: SQL of the value.
        kept: SQL of the value that is replaced, in the type that is wanted. Fields that the value lacks are taken from
            it, as whole columns that bronze lacks stay as they are in silver. Within arrays and maps they are NULL, as
            they are without it.
        level: how many arrays and maps are around it.
    """
    if is_same(given, wanted):
        return value
    one = f"v{level}"
    match given, wanted:
        case Struct(fields), Struct(wanted_fields):
            own = {field.name.lower(): field for field in fields}

            def part(field: Field) -> str:
                old = kept and f"{kept}.{quoted(field.name)}"
                found = own.get(field.name.lower())
                if found is None:
                    return old or f"CAST(NULL AS {field.type.sql()})"
                return aligned(found.type, field.type, f"{value}.{quoted(found.name)}", old, level=level)

            parts = ", ".join(f"{part(field)} AS {quoted(field.name)}" for field in wanted_fields)
            return f"if({value} IS NULL, NULL, struct({parts}))"
        case Array(element), Array(wanted_element):
            return f"transform({value}, {one} -> {aligned(element, wanted_element, one, level=level + 1)})"
        case Map(key, item), Map(wanted_key, wanted_item):
            if not is_same(item, wanted_item):
                inner = aligned(item, wanted_item, one, level=level + 1)
                value = f"transform_values({value}, (k{level}, {one}) -> {inner})"
            if not is_same(key, wanted_key):
                inner = aligned(key, wanted_key, one, level=level + 1)
                value = f"transform_keys({value}, ({one}, i{level}) -> {inner})"
    return value


def is_same(given: Type, wanted: Type) -> bool:
    """Whether two types have the same fields in the same order, at every depth."""
    match given, wanted:
        case Struct(fields), Struct(wanted_fields):
            return len(fields) == len(wanted_fields) and all(
                one.name == other.name and is_same(one.type, other.type)
                for one, other in zip(fields, wanted_fields, strict=True)
            )
        case Array(element), Array(wanted_element):
            return is_same(element, wanted_element)
        case Map(key, item), Map(wanted_key, wanted_item):
            return is_same(key, wanted_key) and is_same(item, wanted_item)
    return True
