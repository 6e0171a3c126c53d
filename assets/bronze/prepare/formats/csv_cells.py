"""Cells of CSV as values; what each type takes is told by ``Cell`` of platform/jvm."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Decimal, Simple, Type
from tidegate.platform.core.schema.misfit import Misfit

_HELD = {
    "string", "binary", "byte", "short", "integer", "long", "float", "double", "boolean", "date", "timestamp",
    "timestamp_ntz",
}  # fmt: skip


def check_type(kind: Type) -> None:
    """Check that cells hold values of a type.

    Raises:
        Misfit: they do not.
    """
    match kind:
        case Decimal():
            return
        case Simple(name) if name in _HELD:
            return
    raise Misfit(f"a cell of a CSV file cannot hold {kind.sql()}; change the column's type in lake.yaml")
