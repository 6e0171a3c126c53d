"""Schemas of bronze tables, as Spark's schema JSON, and whether a file fits one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from tidegate.platform.core.footers import FooterField, struct_field

#: Columns that Tidegate adds to loaded tables.
SOURCE_COLUMNS = ("_source_path", "_source_etag", "_source_event_time", "_ingested_at", "_batch")

_DDL = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "string": "string",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "binary": "binary",
    "byte": "byte",
    "short": "short",
    "integer": "integer",
    "long": "long",
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(rf"{_DATE.pattern}([ T]\d{{2}}:\d{{2}}(:\d{{2}}(\.\d{{1,6}})?)?(Z|[+-]\d{{2}}:\d{{2}})?)?")
_DECIMAL = re.compile(r"^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$")

#: Parquet columns that Spark reads into a wider one without a rewrite.
_READS_INTO = {
    ("byte", "short"),
    ("byte", "integer"),
    ("byte", "long"),
    ("short", "integer"),
    ("short", "long"),
    ("integer", "long"),
    ("float", "double"),
    ("byte", "double"),
    ("short", "double"),
    ("integer", "double"),
}


class Misfit(ValueError):
    """A file does not fit its table; the message is the reason."""


def json_type(ddl: str) -> str:
    """Spark's schema-JSON name of a simple SQL type.

    Raises:
        ValueError: not a simple SQL type.
    """
    text = ddl.strip().lower()
    if match := _DECIMAL.match(text):
        return f"decimal({match.group(1)},{match.group(2)})"
    if text not in _DDL:
        raise ValueError(f"'{ddl}' is not a simple SQL type; known are {', '.join(sorted(_DDL))} and decimal(p,s)")
    return _DDL[text]


def struct(fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A schema of nullable columns."""
    return {"type": "struct", "fields": [struct_field(name, kind) for name, kind in fields]}


def birth_schema(
    footers: Sequence[Sequence[FooterField]], partitions: Mapping[str, str], declared: Mapping[str, str]
) -> dict[str, Any]:
    """The schema of a registered table at its birth.

    The columns of all files in order of first sight, declared types first, partition columns last. Where files
    differ in a type, the widest that reads them all is taken if there is one; else the first file's.

    Args:
        footers: the top-level columns of each file of the first batch.
        partitions: SQL types of the partition columns.
        declared: SQL types of columns that the configuration fixes.
    """
    fixed = {name.lower(): json_type(kind) for name, kind in declared.items()}
    columns: dict[str, tuple[str, Any]] = {}
    for fields in footers:
        for field in fields:
            name = field.name.lower()
            known = columns.get(name)
            if known is None:
                columns[name] = (field.name, fixed.get(name, field.type))
            elif name not in fixed and _reads_into(known[1], field.type):
                columns[name] = (known[0], field.type)
    return struct([*columns.values(), *((name, json_type(kind)) for name, kind in partitions.items())])


def check_fit(fields: Sequence[FooterField], partitions: Sequence[str], schema: Mapping[str, Any]) -> None:
    """Whether a Parquet file can be registered in a table.

    Args:
        fields: the file's top-level columns.
        partitions: the table's partition columns, whose values come from the path.
        schema: the table's schema.

    Raises:
        Misfit: a column is unknown, of another type, or also a partition column.
    """
    known = {field["name"].lower(): field["type"] for field in schema["fields"]}
    from_path = {name.lower() for name in partitions}
    for field in fields:
        name = field.name.lower()
        if name in from_path:
            raise Misfit(f"column {field.name} is in the file and in its path; a partition column must not be in both")
        if name not in known:
            raise Misfit(f"column {field.name} is not in the table; schema evolution is not enabled")
        if not _same(field.type, known[name]) and not _reads_into(field.type, known[name]):
            raise Misfit(f"column {field.name} is {_shown(field.type)}, but the table's is {_shown(known[name])}")


def check_partition(values: Mapping[str, str | None], columns: Mapping[str, str]) -> dict[str, str | None]:
    """The partition values of a path, under the table's spelling of the columns.

    Args:
        values: hive values of the path.
        columns: Spark schema-JSON types of the table's partition columns.

    Raises:
        Misfit: other columns than the table's, or a value that its type cannot hold.
    """
    found = {name.lower(): value for name, value in values.items()}
    if set(found) != {name.lower() for name in columns}:
        raise Misfit(
            f"its path has the partition columns {sorted(values) or 'none'}, the table has {sorted(columns) or 'none'}"
        )
    for name, kind in columns.items():
        value = found[name.lower()]
        if value is not None and not _holds(kind, value):
            raise Misfit(f"partition value {name}={value} is not a {kind}")
    return {name: found[name.lower()] for name in columns}


def _holds(kind: str, value: str) -> bool:
    try:
        match kind:
            case "byte" | "short" | "integer" | "long":
                bits = {"byte": 7, "short": 15, "integer": 31, "long": 63}[kind]
                return bool(re.fullmatch(r"[+-]?\d+", value)) and -(2**bits) <= int(value) < 2**bits
            case "float" | "double":
                return bool(re.fullmatch(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", value))
            case "boolean":
                return value.lower() in ("true", "false")
            case "date":
                # Python reads more spellings than Spark does: one that Spark does not read becomes null.
                return bool(_DATE.fullmatch(value)) and date.fromisoformat(value) is not None
            case "timestamp" | "timestamp_ntz":
                return bool(_TIMESTAMP.fullmatch(value)) and datetime.fromisoformat(value) is not None
            case _ if decimal := _DECIMAL.match(kind):
                digits, scale = int(decimal[1]), int(decimal[2])
                number = re.fullmatch(r"[+-]?0*(\d*)(?:\.(\d*))?", value)
                return number is not None and bool(value.strip("+-.")) and len(number[1]) <= digits - scale
    except ValueError:
        return False
    return True


def _reads_into(narrow: Any, wide: Any) -> bool:
    return isinstance(narrow, str) and isinstance(wide, str) and (narrow, wide) in _READS_INTO


def _same(left: Any, right: Any) -> bool:
    """Equal but for nullability and metadata, which a Parquet reader does not need."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        return bool(left == right)
    if left.get("type") != right.get("type"):
        return False
    match left["type"]:
        case "array":
            return _same(left["elementType"], right["elementType"])
        case "map":
            return _same(left["keyType"], right["keyType"]) and _same(left["valueType"], right["valueType"])
        case _:
            return [f["name"].lower() for f in left["fields"]] == [f["name"].lower() for f in right["fields"]] and all(
                _same(one["type"], other["type"]) for one, other in zip(left["fields"], right["fields"], strict=True)
            )


def _shown(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind.get("type"))
