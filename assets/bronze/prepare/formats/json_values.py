"""What no JSON can hold of a column's type."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct
from tidegate.platform.core.schema.misfit import Misfit


def check_keys(field: Field) -> None:
    """Check that names of JSON can be the keys of a column's maps, at every depth: Spark takes them for text.

    Raises:
        Misfit: they cannot.
    """
    todo = [field.type]
    while todo:
        match todo.pop():
            case Map(key, value):
                if key != Simple("string"):
                    told = f"column {field.name} has a map by {key.sql()}, and names of JSON are text"
                    raise Misfit(f"{told}; say `map<string, …>` in `columns` of lake.yaml")
                todo.append(value)
            case Array(element):
                todo.append(element)
            case Struct(fields):
                todo += [one.type for one in fields]
