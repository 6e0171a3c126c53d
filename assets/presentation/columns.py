"""The columns of a table as Dagster shows them, and how they changed since they were shown last."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import dagster as dg

from tidegate.platform.core.catalog.descriptions import OWN_COLUMNS
from tidegate.platform.core.markdown import Markdown
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.table_schema import TableSchema


def column_schema(
    schema: TableSchema,
    descriptions: Mapping[str, str] = OWN_COLUMNS,
    origins: Mapping[str, Markdown] = MappingProxyType({}),
) -> dg.TableSchema:
    """Return the columns of a table and their types, for the metadata `dagster/column_schema`.

    Args:
        schema: the columns.
        descriptions: of columns, by names in lower case: Tidegate's, and those of lake.yaml, which are Markdown.
        origins: where columns come from, by name. Their descriptions end with this.
    """

    def description(name: str) -> str | None:
        return "; ".join(text for text in (descriptions.get(fold_name(name)), origins.get(name)) if text) or None

    return dg.TableSchema(
        [dg.TableColumn(field.name, field.type.sql(), description(field.name)) for field in schema.fields]
    )


def column_changes(before: dg.TableSchema | None, now: dg.TableSchema | None) -> list[str]:
    """Return a line for each column that was added, removed or changed. If a schema is unknown, there are no lines.

    Args:
        before: the columns that were shown last.
        now: the present columns.
    """
    if before is None or now is None:
        return []
    old, new = ({column.name: column.type for column in schema.columns} for schema in (before, now))
    return [
        *(f"{name} {kind} is new" for name, kind in new.items() if name not in old),
        *(f"{name} {kind} is gone" for name, kind in old.items() if name not in new),
        *(f"{name} was {old[name]} and is {kind}" for name, kind in new.items() if old.get(name, kind) != kind),
    ]
