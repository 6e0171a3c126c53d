"""A table's columns, as Dagster shows them, and how they differ from those that it showed before."""

from __future__ import annotations

import dagster as dg

from tidegate.platform.core.schema.table_schema import TableSchema


def column_schema(schema: TableSchema) -> dg.TableSchema:
    """A table's columns and their types, for the metadata ``dagster/column_schema``."""
    return dg.TableSchema([dg.TableColumn(field.name, field.type.sql()) for field in schema.fields])


def column_changes(before: dg.TableSchema | None, now: dg.TableSchema | None) -> list[str]:
    """What became of the columns, a line for each change; nothing where one of the two is unknown.

    Args:
        before: as they were shown last.
        now: as they are.
    """
    if before is None or now is None:
        return []
    old, new = ({column.name: column.type for column in one.columns} for one in (before, now))
    return [
        *(f"{name} {kind} is new" for name, kind in new.items() if name not in old),
        *(f"{name} {kind} is gone" for name, kind in old.items() if name not in new),
        *(f"{name} was {old[name]} and is {kind}" for name, kind in new.items() if old.get(name, kind) != kind),
    ]
