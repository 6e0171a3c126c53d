"""The columns that Tidegate adds to the rows of loaded tables, and what they hold for each file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tidegate.assets.bronze.prepare.formats.format import SourceFile
from tidegate.platform.core.keys.object_key import partition_values
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.resources.lake import Table

#: Their types, in the order of ``SOURCE_COLUMNS``.
SOURCE_FIELDS = tuple(
    Field(name, simple_type(kind))
    for name, kind in zip(SOURCE_COLUMNS, ("string", "string", "timestamp", "timestamp", "bigint"), strict=True)
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def source_address(table: Table, file: SourceFile) -> str:
    """What ``_source_path`` says of a file."""
    return f"s3://{table.key.bucket}/{file.candidate.key}"


def source(table: Table, file: SourceFile) -> dict[str, Any]:
    """A file, and what its rows have that its content does not say (``LoadRequest.Source`` of platform/jvm)."""
    candidate = file.candidate
    time = candidate.taken.hint.event_time or candidate.taken.hint.told
    return {
        **file.place(),
        "source": source_address(table, file),
        "etag": candidate.found.etag,
        "time": _micros(datetime.fromisoformat(time)) if time else None,
        "values": partition_values(candidate.key, table.key.prefix),
    }


def _micros(time: datetime) -> int:
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)
