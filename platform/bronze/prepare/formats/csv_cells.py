"""Cells of CSV as values. `Cell` of platform/jvm defines what each type accepts."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Decimal, Simple, Type
from tidegate.platform.core.schema.misfit import Misfit

_CELL_TYPES = {
    "string", "binary", "byte", "short", "integer", "long", "float", "double", "boolean", "date", "timestamp",
    "timestamp_ntz",
}  # fmt: skip


def has_cells(kind: Type) -> bool:
    """Return whether cells can hold values of a type."""
    match kind:
        case Decimal():
            return True
        case Simple(name):
            return name in _CELL_TYPES
    return False


def check_type(kind: Type) -> None:
    """Check that cells can hold values of a type.

    Raises:
        Misfit: they cannot.
    """
    if not has_cells(kind):
        raise Misfit(f"a cell of a CSV file cannot hold {kind.sql()}; change the column's type in lake.yaml")
