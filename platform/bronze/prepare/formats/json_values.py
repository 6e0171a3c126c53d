"""Types of columns whose values JSON cannot hold."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct
from tidegate.platform.core.schema.misfit import Misfit


def check_keys(field: Field) -> None:
    """Check that names of JSON can be the keys of a column's maps, at every depth. Spark reads names as text.

    Raises:
        Misfit: they cannot.
    """
    todo = [field.type]
    while todo:
        match todo.pop():
            case Map(key, value):
                if key != Simple("string"):
                    problem = f"column {field.name} has a map by {key.sql()}, and names of JSON are text"
                    raise Misfit(f"{problem}; say `map<string, …>` in `columns` of lake.yaml")
                todo.append(value)
            case Array(element):
                todo.append(element)
            case Struct(fields):
                todo += [child.type for child in fields]
