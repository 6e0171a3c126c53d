"""Descriptions of the columns of bronze and silver, for the pages of Dagster and for Glue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidegate.platform.core.config.silver_columns import (
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
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.names import RESCUED_COLUMN, VARIANT_COLUMN, suggest_names

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
    CHANGED_BATCH: "number of the batch of bronze that has the newest change of the row's key",
    CHANGED_AT: "when a merge changed the row last",
    KEY: "the key, where the columns alone do not show it",
    ORDER: "the order, where the columns alone do not show it",
    JOINED: "whether the next change of the key continues the row, so that the view does not show it",
    LEFT: "of which older rows the row has values, by column",
}
_HISTORY_DESCRIPTIONS: Mapping[str, str] = {
    VALID_FROM: "the order of the change that began the row",
    VALID_TO: "the order of the change that ended the row; NULL if none did",
    IS_CURRENT: "whether no change has ended the row",
    LEFT: "names of the columns that the change left as they were",
}
#: The fields of an inventory, in the words of AWS's documentation.
_OF_INVENTORIES: Mapping[str, str] = {
    "bucket": "bucket that S3 listed",
    "configuration": "name of the inventory configuration",
    "inventory_created": "when S3 began to list the bucket",
    "key": "key of the object",
    "version_id": "id of the version; `null` is that of an object from before its bucket had versions",
    "is_latest": "whether the version is the current one; NULL if the inventory lists current versions only",
    "is_delete_marker": "whether the version is a delete marker",
    "size": "bytes of the object",
    "last_modified_date": "when the object was put, or its multipart upload began",
    "e_tag": "etag of the object",
    "storage_class": "storage class of the object",
    "is_multipart_uploaded": "whether the object was uploaded in parts",
    "replication_status": "`PENDING`, `COMPLETED`, `FAILED` or `REPLICA`; NULL if no rule replicates the object",
    "encryption_status": "`SSE-S3`, `SSE-C`, `SSE-KMS`, `DSSE-KMS` or `NOT-SSE`",
    "object_lock_retain_until_date": "until when Object Lock keeps the version",
    "object_lock_mode": "`GOVERNANCE` or `COMPLIANCE`",
    "object_lock_legal_hold_status": "`On` if a legal hold keeps the version, or `Off`",
    "intelligent_tiering_access_tier": "access tier of an object in INTELLIGENT_TIERING",
    "bucket_key_status": "`ENABLED` or `DISABLED`: whether an S3 Bucket Key encrypts the object",
    "checksum_algorithm": "algorithm of the checksum that S3 has of the object",
    "object_access_control_list": "access control list of the object: JSON in base64",
    "object_owner": "canonical user id of the owner of the object",
    "lifecycle_expiration_date": "when a lifecycle rule deletes the object",
}


def column_descriptions(spec: TableSpec) -> dict[str, str]:
    """Return the descriptions of the columns of a table in bronze and silver, by names in lower case.

    A column that silver renames keeps the description that it has in bronze, unless its new name has one.

    Args:
        spec: the table. That of a discovered table describes the columns that Tidegate adds.
    """
    given = {fold_name(name): text for name, text in spec.descriptions.items()}
    own = dict(OWN_COLUMNS)
    if spec.silver and spec.silver.is_history:
        own |= _HISTORY_DESCRIPTIONS
    if spec.has_inventories:
        own |= _OF_INVENTORIES
    if spec.policy == "variant":
        own[VARIANT_COLUMN] = "the whole JSON object"
    renames = spec.silver.rename if spec.silver else {}
    renamed = {fold_name(new): given[fold_name(old)] for old, new in renames.items() if fold_name(old) in given}
    return {**own, **renamed, **given}


def unknown_descriptions(descriptions: Iterable[str], columns: Iterable[str]) -> str | None:
    """Return which names in `descriptions` no column has, and the names that are nearest. None if each has a column.

    Args:
        descriptions: the names in `lake.yaml`.
        columns: of bronze and silver.
    """
    known = {fold_name(name): name for name in columns}
    unknown = [
        f"no column is called {name!r}; {suggest_names(name, [*known.values()])}"
        for name in descriptions
        if fold_name(name) not in known
    ]
    return ". ".join(unknown) or None
