"""Which columns of bronze a silver table cannot do without."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.platform.core.config.table import SilverSpec


def missing_columns(silver: SilverSpec, columns: Collection[str]) -> list[str]:
    """Those of silver's keys, and its order, that are none of bronze's columns, in whatever case.

    A field within a column is no column.
    """
    known = {name.lower() for name in columns}
    return [name for name in (*silver.keys, silver.order) if name.lower() not in known]
