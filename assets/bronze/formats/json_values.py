"""JSON values that a column's type would change without a word."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidegate.platform.core.schema.column_types import Array, Decimal, Field, Map, Simple, Struct, Type

_TEXT = Simple("string")
#: Spark takes a number in such a column for seconds, or days, since 1970: milliseconds would become the year 56,000.
_TIMES = {"timestamp", "timestamp_ntz", "date"}
_FLOATING = {"float", "double"}


def texts(kind: Type) -> Type | None:
    """The type that keeps, as text, what the type could change; None where it changes nothing."""
    match kind:
        case Decimal():
            return _TEXT
        case Simple(name) if name in _TIMES or name in _FLOATING:
            return _TEXT
        case Array(element) if (inner := texts(element)) is not None:
            return Array(inner)
        case Map(key, value) if (inner := texts(value)) is not None:
            return Map(key, inner)
        case Struct(fields):
            kept = [Field(field.name, inner) for field in fields if (inner := texts(field.type)) is not None]
            return Struct(tuple(kept)) if kept else None
    return None


def misread(value: Column, text: Column, kind: Type) -> Column:
    """Whether a value, anywhere in it, is not what its text says.

    Args:
        value: the value as its column's type has it.
        text: the same by ``texts``.
        kind: the column's type, of which ``texts`` is not None.
    """
    match kind:
        case Decimal(_, scale):
            more = text.rlike(rf"\.[0-9]{{{scale}}}[0-9]*[1-9]")
            return _holds(more | (text.rlike("[eE]") & (text.try_cast("double") != value.cast("double"))))
        case Simple(name) if name in _FLOATING:
            exact = text.try_cast("decimal(38,0)")
            kept = value.try_cast("decimal(38,0)").eqNullSafe(exact) & exact.isNotNull()
            return _holds(text.rlike("^-?[0-9]{16,}$") & ~kept)
        case Simple():
            dated = text.rlike(r"^\s*[0-9]{4}-[0-9]{2}")
            return _holds(~dated | text.rlike(r"\.[0-9]{6}0*[1-9]"))
        case Array(element):
            pairs = F.arrays_zip(value.alias("v"), text.alias("t"))
            return _holds(F.exists(pairs, lambda pair: misread(pair["v"], pair["t"], element)))
        case Map(_, inner):
            pairs = F.arrays_zip(F.map_values(value).alias("v"), F.map_values(text).alias("t"))
            return _holds(F.exists(pairs, lambda pair: misread(pair["v"], pair["t"], inner)))
        case Struct(fields):
            found = F.lit(False)
            for field in fields:
                if texts(field.type) is not None:
                    found = found | misread(value[field.name], text[field.name], field.type)
            return found
    return F.lit(False)


def _holds(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))
