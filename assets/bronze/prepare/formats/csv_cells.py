"""Cells of CSV as values. `Cell` of platform/jvm defines what each type accepts."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Decimal, Simple, Type
from tidegate.platform.core.schema.misfit import Misfit

_CELL_TYPES = {
    "string", "binary", "byte", "short", "integer", "long", "float", "double", "boolean", "date", "timestamp",
    "timestamp_ntz",
}  # fmt: skip


def check_type(kind: Type) -> None:
    """Check that cells can hold values of a type.

    Raises:
        Misfit: they cannot.
    """
    match kind:
        case Decimal():
            return
        case Simple(name) if name in _CELL_TYPES:
            return
    raise Misfit(f"a cell of a CSV file cannot hold {kind.sql()}; change the column's type in lake.yaml")
