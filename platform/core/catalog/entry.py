"""Entries of the Glue Data Catalog: a Delta table, and the view that hides a silver table's tombstones.

The forms are those that Athena's engine 3 and Trino's connector of Delta recognize. Athena's own DDL cannot make the
first: it refuses tables whose protocol has a reader version above 1.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tidegate.platform.core.catalog.foreign_types import hive_type, trino_name, trino_type
from tidegate.platform.core.config.silver_columns import shown_rows_condition
from tidegate.platform.core.schema.column_types import Field, fold_name
from tidegate.platform.core.schema.table_schema import TableSchema

#: Parameters of our entries: the lake, and the key of the table. An entry without them is somebody else's.
OWNER, TABLE = "tidegate.lake", "tidegate.table"
#: The name of Glue's catalog in Athena.
CATALOG = "awsdatacatalog"
_DELTA = {
    "EXTERNAL": "TRUE",
    "table_type": "delta",
    "classification": "delta",
    "spark.sql.sources.provider": "delta",
    "spark.sql.partitionProvider": "catalog",
}
_SEQUENCE_FILES = {
    "InputFormat": "org.apache.hadoop.mapred.SequenceFileInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
}
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_VIEW = {"presto_view": "true", "comment": "Presto View"}
#: Longest name and comment of a column in Glue, in bytes. Neither has line breaks.
_NAME_BYTES_MAX = _COMMENT_BYTES_MAX = 255
#: Longest type of a column in Glue, and longest text of a view. Glue refuses the whole entry where one is longer.
_TYPE_BYTES_MAX, _VIEW_BYTES_MAX = 131_072, 409_600
#: Characters that are in no name, type or comment of a column.
_REFUSED = re.compile("[\x00-\x08\x0a-\x1f\ufffe\uffff]")


@dataclass(frozen=True)
class CatalogEntry:
    """An entry as it should be.

    Attributes:
        database: the database of Glue.
        input: the `TableInput` of Glue's API.
        left_out: columns of the table that the entry lacks, because Hive has no type for them, or because Glue takes
            no such name, type or text of a view.
    """

    database: str
    input: Mapping[str, Any]
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in Glue."""
        return str(self.input["Name"])

    @property
    def table_key(self) -> str:
        """The key of the table that should have this entry."""
        return str(self.input["Parameters"][TABLE])

    def is_ours(self, found: Mapping[str, Any], keeps: Callable[[str], bool]) -> bool:
        """Return whether an entry of Glue is this entry, made by this lake.

        Args:
            found: the answer of `GetTable`.
            keeps: whether another table of this lake, given by its key, should have the entry. If not, the entry
                becomes this one: a silver table whose prefix changes has another table key from then on.
        """
        theirs, ours = found.get("Parameters") or {}, self.input["Parameters"]
        holder = theirs.get(TABLE)
        return theirs.get(OWNER) == ours[OWNER] and (holder in (None, ours[TABLE]) or not keeps(holder))

    def different_parts(self, found: Mapping[str, Any]) -> list[str]:
        """Return the names of the parts of Glue's entry that are not as they should be.

        What others added does not count: parameters of other names, and comments of columns that have no description.
        """
        parts = []
        theirs = found.get("Parameters") or {}
        if any(theirs.get(name) != value for name, value in self.input["Parameters"].items()):
            parts.append("parameters")
        wanted, stored = self.input["StorageDescriptor"], found.get("StorageDescriptor") or {}
        if _columns(wanted.get("Columns")) != _columns(stored.get("Columns")):
            parts.append("columns")
        if _columns(self.input["PartitionKeys"]) != _columns(found.get("PartitionKeys")):
            parts.append("partition columns")
        theirs_by_name = _comments(found)
        if any(theirs_by_name.get(name) != comment for name, comment in _comments(self.input).items()):
            parts.append("comments of columns")
        if any((stored.get(name) or "") != wanted.get(name, "") for name in ("Location", *_SEQUENCE_FILES)):
            parts.append("location")
        serde = stored.get("SerdeInfo") or {}
        if any(serde.get(name) != value for name, value in wanted["SerdeInfo"].items()):
            parts.append("SerDe")
        if any(found.get(name) != self.input.get(name) for name in ("TableType", "ViewOriginalText")):
            parts.append("kind or text of the view")
        return parts

    def merge_input(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `TableInput` of an update. What others added to Glue's entry stays."""
        comments = _comments(found)

        def keep_comments(columns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
            return [
                {**({"Comment": comments[column["Name"]]} if column["Name"] in comments else {}), **column}
                for column in columns
            ]

        storage = {
            **self.input["StorageDescriptor"],
            "Columns": keep_comments(_parameters_of(self.input, "StorageDescriptor", "Columns")),
        }
        kept = {name: found[name] for name in ("Description", "Owner", "Retention") if found.get(name)}
        return {
            **kept,
            **self.input,
            "Parameters": {**(found.get("Parameters") or {}), **self.input["Parameters"]},
            "StorageDescriptor": storage,
            "PartitionKeys": keep_comments(self.input["PartitionKeys"]),
        }


def owner_of(found: Mapping[str, Any]) -> str | None:
    """Return the lake that made an entry of Glue. None if it is somebody else's."""
    return (found.get("Parameters") or {}).get(OWNER)


def table_entry(
    database: str,
    name: str,
    location: str,
    schema: TableSchema,
    owner: tuple[str, str],
    descriptions: Mapping[str, str] = MappingProxyType({}),
) -> CatalogEntry:
    """Return the entry of a Delta table.

    Args:
        database: the database of Glue.
        name: SQL name of the table.
        location: `s3://` URI of the table. With `s3a://` Athena finds no rows, and no error.
        schema: the columns of the table.
        owner: the lake's id and the table key.
        descriptions: of columns, by names in lower case.
    """
    path = tuple(fold_name(name) for name in schema.partitions)
    columns = {field.name: hive_type(field.type) for field in schema.fields}
    by_name = {
        fold_name(column): _column(column, kind, descriptions)
        for column, kind in columns.items()
        if kind and _fits(column, kind)
    }
    return CatalogEntry(
        database,
        {
            "Name": name.lower(),
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {**_DELTA, **_owner_parameters(owner)},
            "PartitionKeys": [by_name[column] for column in path if column in by_name],
            "StorageDescriptor": {
                "Columns": [column for name, column in by_name.items() if name not in path],
                "Location": location,
                **_SEQUENCE_FILES,
                "SerdeInfo": {
                    "SerializationLibrary": _SERDE,
                    "Parameters": {"serialization.format": "1", "path": location},
                },
            },
        },
        tuple(column for column in columns if fold_name(column) not in by_name),
    )


def view_entry(
    database: str,
    name: str,
    table: str,
    schema: TableSchema,
    own: Sequence[str],
    owner: tuple[str, str],
    descriptions: Mapping[str, str] = MappingProxyType({}),
) -> CatalogEntry:
    """Return the entry of a silver table's view, which Athena and Trino read.

    Args:
        database: the database of Glue. It has the table, too.
        name: SQL name of the view.
        table: name of the silver table's entry.
        schema: the columns of the silver table.
        own: Tidegate's own columns, which the view hides.
        owner: the lake's id and the table key.
        descriptions: of columns, by names in lower case.
    """
    fields = [field for field in schema.fields if field.name not in own]
    columns = [
        (field, hive, trino)
        for field in fields
        if (hive := hive_type(field.type)) and (trino := trino_type(field.type)) and _fits(field.name, hive)
    ]
    while True:
        definition = {
            "originalSql": view_sql(database, table, [field for field, _, _ in columns], own),
            "catalog": CATALOG,
            "schema": database,
            "columns": [{"name": field.name.lower(), "type": trino} for field, _, trino in columns],
            # With the rights of the person who reads, and not with those of the writer.
            "runAsInvoker": True,
        }
        text = f"/* Presto View: {base64.b64encode(json.dumps(definition).encode()).decode()} */"
        if len(text) <= _VIEW_BYTES_MAX:
            break
        columns.remove(max(columns, key=lambda column: len(column[2])))
    return CatalogEntry(
        database,
        {
            "Name": name.lower(),
            "TableType": "VIRTUAL_VIEW",
            "Parameters": {**_VIEW, **_owner_parameters(owner)},
            "PartitionKeys": [],
            "StorageDescriptor": {
                "Columns": [_column(field.name, hive, descriptions) for field, hive, _ in columns],
                "Location": "",
                "SerdeInfo": {},
            },
            "ViewOriginalText": text,
            "ViewExpandedText": "/* Presto View */",
        },
        tuple(field.name for field in fields if field not in [column for column, _, _ in columns]),
    )


def view_sql(database: str, table: str, columns: Sequence[Field], own: Sequence[str]) -> str:
    """Return the query of a silver table's view in standard SQL: the rows without tombstones.

    Args:
        database: the database of Glue.
        table: name of the silver table.
        columns: the columns of the view.
        own: Tidegate's own columns in the table.
    """
    names = ", ".join(trino_name(column.name) for column in columns)
    return (
        f"SELECT {names} FROM {trino_name(database)}.{trino_name(table)} WHERE {shown_rows_condition(own, trino_name)}"
    )


def _column(name: str, kind: str, descriptions: Mapping[str, str]) -> dict[str, str]:
    text = _REFUSED.sub("", " ".join(descriptions.get(fold_name(name), "").split()))
    if len(text.encode()) > _COMMENT_BYTES_MAX:
        text = f"{text.encode()[: _COMMENT_BYTES_MAX - len('…'.encode())].decode(errors='ignore')}…"
    return {"Name": name.lower(), "Type": kind, **({"Comment": text} if text else {})}


def _fits(name: str, kind: str) -> bool:
    """Return whether Glue takes a column of this name and type."""
    known = 0 < len(name.lower().encode()) <= _NAME_BYTES_MAX and not _REFUSED.search(name)
    return known and len(kind.encode()) <= _TYPE_BYTES_MAX and not _REFUSED.search(kind)


def _owner_parameters(owner: tuple[str, str]) -> dict[str, str]:
    return dict(zip((OWNER, TABLE), owner, strict=True))


def _columns(columns: Any) -> list[tuple[str, str]]:
    return [(column["Name"], column.get("Type", "")) for column in columns or ()]


def _comments(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the comments of an entry's columns, by name."""
    columns = [*_parameters_of(entry, "StorageDescriptor", "Columns"), *(entry.get("PartitionKeys") or ())]
    return {column["Name"]: column["Comment"] for column in columns if column.get("Comment")}


def _parameters_of(found: Mapping[str, Any], part: str, name: str) -> list[Mapping[str, str]]:
    return list((found.get(part) or {}).get(name) or ())
