"""The columns of the table of inventories. AWS names a field `VersionId` in CSV and `version_id` in ORC and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema

#: The columns that partition the table: one partition for each subject.
PARTITIONS = ("bucket", "configuration")
#: When S3 began to look at the bucket.
CREATED = "inventory_created"
#: The fields of an object that AWS documents, with their types in the table.
FIELDS: Mapping[str, str] = {
    "key": "string",
    "version_id": "string",
    "is_latest": "boolean",
    "is_delete_marker": "boolean",
    "size": "bigint",
    "last_modified_date": "timestamp",
    "e_tag": "string",
    "storage_class": "string",
    "is_multipart_uploaded": "boolean",
    "replication_status": "string",
    "encryption_status": "string",
    "object_lock_retain_until_date": "timestamp",
    "object_lock_mode": "string",
    "object_lock_legal_hold_status": "string",
    "intelligent_tiering_access_tier": "string",
    "bucket_key_status": "string",
    "checksum_algorithm": "string",
    "object_access_control_list": "string",
    "object_owner": "string",
    "lifecycle_expiration_date": "timestamp",
}
#: S3's name of the version that an object has if its bucket had no versioning when it was put. An inventory of all
#: versions has an empty text instead, which the API takes for the current version.
NULL_VERSION = "null"
#: The fields by which people look for objects. Files and log have statistics of no others (benchmarks.md: what they
#: cost), but of `inventory_created` and of the batch the log has them.
COLUMNS_WITH_STATISTICS = frozenset({"key", "size", "last_modified_date"})
#: The columns of which Delta keeps no statistics.
WITHOUT_STATISTICS = (frozenset(FIELDS) | frozenset(SOURCE_COLUMNS)) - COLUMNS_WITH_STATISTICS - {"_batch"}
#: The type of a field that AWS added later. Formats give it different types, and each of them has a text.
_LATER = "string"
_OURS = frozenset({CREATED, "configuration", *SOURCE_COLUMNS})


def column_name(field: str) -> str:
    """Return the column of a field, as a manifest of any format names it."""
    return re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", field)).lower()


def column_type(name: str) -> str:
    """Return the SQL type of the column of a field."""
    return FIELDS.get(name, _LATER)


def first_columns(source: Iterable[Field]) -> TableSchema:
    """Return the columns that the table is born with: all fields that are known, whether or not a manifest has them.

    Args:
        source: the columns that Tidegate adds to loaded tables.
    """
    fields = [Field(name, simple_type(kind)) for name, kind in {CREATED: "timestamp", **FIELDS}.items()]
    partitions = [Field(name, simple_type("string")) for name in PARTITIONS]
    return TableSchema((*source, *fields, *partitions), PARTITIONS, unmeasured=WITHOUT_STATISTICS)


def with_fields(schema: TableSchema, names: Iterable[str], uri: str) -> TableSchema:
    """Return the schema with the columns of fields that AWS added since the table's birth.

    Args:
        names: columns of an inventory's fields.
        uri: address of its manifest.

    Raises:
        InventoryError: a field has the name of a column that Tidegate adds.
    """
    names = list(names)
    if taken := sorted(_OURS.intersection(names)):
        raise InventoryError(
            f"{uri}: its field {taken[0]} has the name of a column that Tidegate adds; leave the field out of the "
            "inventory's configuration, and report it as an issue"
        )
    return schema.with_missing_fields(
        Field(name, simple_type(_LATER)) for name in names if schema.find_column(name) is None
    )
