"""Values of bronze in the types of silver, with nested fields matched by name at every depth."""

from __future__ import annotations

from tidegate.platform.core.schema.casts import becomes_decimal, decimal_text
from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type, fold_name, quote_name


def align_value(given: Type, wanted: Type, value: str, kept: str | None = None, *, level: int = 0) -> str:
    """Return SQL that gives a value another type: one that has the same fields, or more, in any order.

    Delta's MERGE matches fields by name where a column is a struct, or an array or a map of structs. Deeper, it casts
    by position, so two fields of the same type can exchange their values (`castIfNeeded` in Delta 4.4's
    `UpdateExpressionsSupport`).

    Args:
        given: the type of the value.
        wanted: the type to give it. Types without parts are not converted here: Delta casts them, or refuses. A text
            that becomes a decimal is bounded.
        value: SQL of the value.
        kept: SQL of the replaced value, in the wanted type. Fields that `value` lacks keep their value from `kept`, as
            whole columns do that bronze lacks. Without `kept`, and within arrays and maps, they become NULL.
        level: number of arrays and maps around the value.
    """
    if is_same(given, wanted):
        return value
    item = f"v{level}"
    match given, wanted:
        case Struct(fields), Struct(wanted_fields):
            own = {fold_name(field.name): field for field in fields}

            def part(field: Field) -> str:
                old = kept and f"{kept}.{quote_name(field.name)}"
                source = own.get(fold_name(field.name))
                if source is None:
                    return old or f"CAST(NULL AS {field.type.sql()})"
                return align_value(source.type, field.type, f"{value}.{quote_name(source.name)}", old, level=level)

            parts = ", ".join(f"{part(field)} AS {quote_name(field.name)}" for field in wanted_fields)
            return f"if({value} IS NULL, NULL, struct({parts}))"
        case Array(element), Array(wanted_element):
            return f"transform({value}, {item} -> {align_value(element, wanted_element, item, level=level + 1)})"
        case Map(key, map_value), Map(wanted_key, wanted_value):
            if not is_same(map_value, wanted_value):
                inner = align_value(map_value, wanted_value, item, level=level + 1)
                value = f"transform_values({value}, (k{level}, {item}) -> {inner})"
            if not is_same(key, wanted_key):
                inner = align_value(key, wanted_key, item, level=level + 1)
                value = f"transform_keys({value}, ({item}, i{level}) -> {inner})"
    return decimal_text(value) if becomes_decimal(given, wanted) else value


def is_same(given: Type, wanted: Type) -> bool:
    """Return whether two types have the same fields in the same order, at every depth, and no text
    becomes a decimal.
    """
    match given, wanted:
        case Struct(fields), Struct(wanted_fields):
            return len(fields) == len(wanted_fields) and all(
                field.name == wanted_field.name and is_same(field.type, wanted_field.type)
                for field, wanted_field in zip(fields, wanted_fields, strict=True)
            )
        case Array(element), Array(wanted_element):
            return is_same(element, wanted_element)
        case Map(key, map_value), Map(wanted_key, wanted_value):
            return is_same(key, wanted_key) and is_same(map_value, wanted_value)
    return not becomes_decimal(given, wanted)
