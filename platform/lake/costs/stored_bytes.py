"""The bytes of the live files of Delta tables."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import command


def stored_bytes(delta: Delta, locations: Iterable[str]) -> int:
    """Return the bytes of the live files of tables. Tables that do not exist have none.

    Args:
        delta: the handle on Delta tables.
        locations: `s3a://` URIs.
    """
    found = 0
    for location in locations:
        if delta.table_state(location).exists:
            (detail,) = command(delta.session, f"DESCRIBE DETAIL {delta_table(location)}")
            found += detail["sizeInBytes"] or 0
    return found
