"""The columns of a table as Dagster shows them, and how they changed since they were shown last."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import dagster as dg

from tidegate.platform.core.schema.names import RESCUED_COLUMN
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.columns import CHANGED_AT, CHANGED_BATCH, DELETED, JOINED, KEY, LEFT, ORDER

#: What Tidegate's own columns contain, by name.
OWN_COLUMNS = {
    "_source_path": "address of the source object",
    "_source_etag": "its etag",
    "_source_event_time": "time of its event",
    "_ingested_at": "when the row entered the table",
    "_batch": "number of the batch that has the row",
    "_message_id": "id of the message that the row came in",
    "_sent_at": "when the message was sent",
    RESCUED_COLUMN: "what none of the other columns takes, as JSON",
    DELETED: "whether the key is deleted",
    CHANGED_BATCH: "number of the batch of bronze that changed the row last",
    CHANGED_AT: "when a merge changed the row last",
    KEY: "the key, where the columns alone do not show it",
    ORDER: "the order, where the columns alone do not show it",
    JOINED: "whether the next change of the key continues the row, so that the view does not show it",
    LEFT: "names of the columns that the change left as they were",
}


def column_schema(schema: TableSchema, origins: Mapping[str, str] = MappingProxyType({})) -> dg.TableSchema:
    """Returns the columns of a table and their types, for the metadata `dagster/column_schema`.

    Args:
        schema: the columns.
        origins: where columns come from, by name. Their descriptions end with this.
    """

    def description(name: str) -> str | None:
        return "; ".join(text for text in (OWN_COLUMNS.get(name), origins.get(name)) if text) or None

    return dg.TableSchema(
        [dg.TableColumn(field.name, field.type.sql(), description(field.name)) for field in schema.fields]
    )


def column_changes(before: dg.TableSchema | None, now: dg.TableSchema | None) -> list[str]:
    """Returns a line for each column that was added, removed or changed. If a schema is unknown, there are no lines.

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
