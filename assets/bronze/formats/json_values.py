"""JSON values that a column's type would change without a word."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

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


def rounded(value: Column, text: Column) -> Column:
    """Whether a double is not the whole number that its text says."""
    exact = text.try_cast("decimal(38,0)")
    kept = value.try_cast("decimal(38,0)").eqNullSafe(exact) & exact.isNotNull()
    return F.coalesce(text.rlike("^-?[0-9]{16,}$") & ~kept, F.lit(False))
