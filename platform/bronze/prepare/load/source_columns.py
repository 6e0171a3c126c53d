"""The columns that Tidegate adds to the rows of loaded tables, and their values for each file."""

from __future__ import annotations

from typing import Any

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.core.bronze.hint import Rebuild
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.times import parse_time, to_micros

#: The columns with their types, in the order of `SOURCE_COLUMNS`.
SOURCE_FIELDS = tuple(
    Field(name, simple_type(kind))
    for name, kind in zip(SOURCE_COLUMNS, ("string", "string", "timestamp", "timestamp", "bigint"), strict=True)
)


def source_address(bucket: str, file: SourceFile) -> str:
    """Return the value of `_source_path` for a file."""
    return S3Address(bucket, file.candidate.key).s3


def source(bucket: str, file: SourceFile) -> dict[str, Any]:
    """Return a file, and the values that its content lacks for its rows (`LoadRequest.Source` of platform/jvm).

    The texts of the columns of its path are not among them.
    """
    return {
        **file.place(),
        "source": source_address(bucket, file),
        "etag": file.candidate.found.etag,
        "time": event_micros(file.candidate),
    }


def event_micros(candidate: Candidate) -> int | None:
    """Return the value of `_source_event_time` for a candidate, in microseconds since 1970. None without an event."""
    hint = candidate.taken.hint
    time = hint.cause.event_time if isinstance(hint.cause, Rebuild) else hint.event_time
    return to_micros(parse_time(time)) if time else None
