"""The columns that a table has before a batch."""

from __future__ import annotations

from tidegate.assets.bronze.look import Work
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import Lake


def present_schema(lake: Lake, work: Work) -> TableSchema | None:
    """The table's columns; None where this batch is to give it the first ones.

    A table that lies at the place although no batch has made it is not looked at: the commit refuses it.
    """
    if work.after_version < 0:
        return None
    schema = lake.delta.table_state(work.birth.location).schema
    # A table that was reset has no columns until its first file.
    return schema if schema.fields else None
