"""Descriptions of the columns of bronze and silver, for the pages of Dagster and for Glue."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.names import RESCUED_COLUMN, VARIANT_COLUMN
from tidegate.platform.core.silver.columns import (
    CHANGED_AT,
    CHANGED_BATCH,
    DELETED,
    IS_CURRENT,
    JOINED,
    KEY,
    LEFT,
    ORDER,
    VALID_FROM,
    VALID_TO,
)

#: What the columns contain that Tidegate adds, by name.
OWN_COLUMNS: Mapping[str, str] = {
    "_source_path": "address of the source object",
    "_source_etag": "etag of the source object",
    "_source_event_time": "time of the event of the source object",
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
_OF_HISTORY: Mapping[str, str] = {
    VALID_FROM: "the order of the change that began the row",
    VALID_TO: "the order of the change that ended the row; NULL if none did",
    IS_CURRENT: "whether no change has ended the row",
}


def column_descriptions(spec: TableSpec) -> dict[str, str]:
    """Returns the descriptions of the columns of a table in bronze and silver, by names in lower case.

    A column that silver renames keeps the description that it has in bronze, unless its new name has one.

    Args:
        spec: the table. That of a discovered table describes the columns that Tidegate adds.
    """
    given = {name.lower(): text for name, text in spec.descriptions.items()}
    own = dict(OWN_COLUMNS)
    if spec.silver and spec.silver.is_history:
        own |= _OF_HISTORY
    if spec.policy == "variant":
        own[VARIANT_COLUMN] = "the whole JSON object"
    renames = spec.silver.rename if spec.silver else {}
    renamed = {new.lower(): given[old.lower()] for old, new in renames.items() if old.lower() in given}
    return {**own, **renamed, **given}
