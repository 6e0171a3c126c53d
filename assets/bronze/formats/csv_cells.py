"""Cells of CSV as values: which type fits a column, and which cell its column's type would change."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidegate.platform.core.schema.column_types import Decimal, Simple, Type
from tidegate.platform.core.schema.misfit import Misfit

_WHOLE = r"[+-]?[0-9]+"
#: What begins with a zero or a plus sign is a name: 00123 is not 123.
_PADDED = r"^([+-]?0[0-9]|\+|-0$)"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?"
_ZONE = r" ?(Z|[+-][0-9]{2}:?[0-9]{2})"
_FLOATING = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Inf(inity)?"
#: Significant digits that a double keeps.
_DIGITS = 17

_SHAPE = {
    "byte": f"^{_WHOLE}$",
    "short": f"^{_WHOLE}$",
    "integer": f"^{_WHOLE}$",
    "long": f"^{_WHOLE}$",
    "float": f"^({_FLOATING})$",
    "double": f"^({_FLOATING})$",
    "boolean": "(?i)^(true|false)$",
    "date": f"^{_DAY}$",
    "timestamp": f"^{_DAY}([ T]{_TIME}({_ZONE})?)?$",
    "timestamp_ntz": f"^{_DAY}([ T]{_TIME})?$",
}
#: Inferred types, the narrowest first, and the cells that they hold as they stand.
INFERRED = {
    "boolean": _SHAPE["boolean"],
    "long": "^(0|-?[1-9][0-9]*)$",
    "double": rf"^(?!-0+$)(?!(?:[^0-9]*[0-9]){{{_DIGITS + 1}}})-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "date": _SHAPE["date"],
    "timestamp": _SHAPE["timestamp"],
}


def inferred(cell: Column, decimal: str) -> dict[str, Column]:
    """For each type that is inferred, the narrowest first, an aggregate: whether it holds every cell of a column."""
    return {
        kind: F.bool_and(
            F.when(
                cell.isNotNull(),
                F.coalesce(_plain(cell, kind, decimal).rlike(shape), F.lit(False))
                & value(cell, Simple(kind), decimal).isNotNull(),
            )
        )
        for kind, shape in INFERRED.items()
    }


def value(cell: Column, kind: Type, decimal: str) -> Column:
    """The cell as a value; null where it is none.

    Raises:
        Misfit: no cell holds a value of that type.
    """
    match kind:
        case Simple("string"):
            return cell
        case Simple("binary"):
            return cell.cast("binary")
        case Simple(name) if name in _SHAPE:
            return _plain(cell, name, decimal).try_cast(kind.sql())
        case Decimal():
            return _plain(cell, "decimal", decimal).try_cast(kind.sql())
    raise Misfit(f"a cell of a CSV file cannot hold {kind.sql()}; change the column's type in lake.yaml")


def misread(cell: Column, kind: Type, decimal: str, *, padded: bool) -> Column:
    """Whether a cell that is not null says something else than its value.

    Args:
        cell: the cell's text.
        kind: its column's type.
        decimal: the character before the decimals of a number.
        padded: whether a number that begins with a zero is no number.
    """
    match kind:
        case Decimal(_, scale):
            plain, shape = _plain(cell, "decimal", decimal), r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$"
            lost = plain.rlike(rf"\.[0-9]{{{scale}}}[0-9]*[1-9]")
        case Simple(name) if name in _SHAPE:
            plain, shape = _plain(cell, name, decimal), _SHAPE[name]
            lost = _rounded(plain, name) if name in ("float", "double") else F.lit(False)
        case _:
            return F.lit(False)
    wrong = value(cell, kind, decimal).isNull() | ~plain.rlike(shape) | lost
    if padded and not (isinstance(kind, Simple) and kind.name in ("date", "timestamp", "timestamp_ntz", "boolean")):
        wrong = wrong | plain.rlike(_PADDED)
    return cell.isNotNull() & wrong


def _rounded(plain: Column, kind: str) -> Column:
    """Whether a whole number is too long for a floating-point one."""
    exact = plain.try_cast("decimal(38,0)")
    return plain.rlike(f"^{_WHOLE}$") & exact.isNotNull() & (plain.try_cast(kind).try_cast("decimal(38,0)") != exact)


def _plain(cell: Column, kind: str, decimal: str) -> Column:
    """The cell with a point before its decimals."""
    if decimal == "." or kind not in ("float", "double", "decimal"):
        return cell
    # A point in such a file is no decimal point: the text must not become a number by it.
    return F.when(~cell.contains("."), F.replace(cell, F.lit(decimal), F.lit(".")))
