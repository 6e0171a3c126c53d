"""Which values Spark compares, and SQL of values that can be compared although they have maps."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.platform.core.schema.column_types import Array, Map, Simple, Struct, Type, quote_name
from tidegate.platform.core.schema.exact_json import exact_json


def is_comparable(kind: Type) -> bool:
    """Return whether Spark compares values of a type as they are. It compares no map and no variant."""
    return not _contains_type(kind, lambda part: isinstance(part, Map) or part == Simple("variant"))


def comparable_value(kind: Type, value: str, *, level: int = 0) -> str:
    """Return SQL of a value with each of its maps as a list of entries by key. Other values stay as they are.

    Two maps are equal if they have the same entries. As JSON, they would differ by the order of these entries.

    Args:
        kind: the type of the value.
        value: SQL of the value.
        level: number of lists and maps around the value.
    """
    if not _contains_type(kind, lambda part: isinstance(part, Map)):
        return value
    item = f"_tidegate_item{level}"  # a variable hides a column of its name
    match kind:
        case Struct(fields):
            parts = (
                f"{comparable_value(field.type, f'{value}.{quote_name(field.name)}', level=level)} AS "
                f"{quote_name(field.name)}"
                for field in fields
            )
            return f"if({value} IS NULL, NULL, struct({', '.join(parts)}))"
        case Array(element):
            return f"transform({value}, {item} -> {comparable_value(element, item, level=level + 1)})"
        case Map(_, map_value):
            # Spark sorts only what it can compare, so the value of an entry is its JSON.
            inner = exact_json(f"struct({comparable_value(map_value, f'{item}.value', level=level + 1)} AS value)")
            entry = f"struct({item}.key AS key, {inner} AS value)"
            return f"array_sort(transform(map_entries({value}), {item} -> {entry}))"
    return value


def _contains_type(kind: Type, is_one: Callable[[Type], bool]) -> bool:
    """Return whether a type is one of those that are looked for, or a list or a struct with such a type in it."""
    match kind:
        case Array(element):
            return _contains_type(element, is_one)
        case Struct(fields):
            return any(_contains_type(field.type, is_one) for field in fields)
    return is_one(kind)
