"""Change feeds among the files of a listing, and the `silver` that they need."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from tidegate.platform.core.schema.column_types import Struct
from tidegate.platform.core.schema.sql_types import any_type

_FULL_LOAD = re.compile(r"(^|/)LOAD[0-9A-Fa-f]{8}\.[^/]+$")
_TIME = re.compile(r"time|commit|_ts$|^ts$", re.IGNORECASE)


def silver_of_feed(columns: Mapping[str, str], keys: Sequence[str]) -> str | None:
    """Returns the `silver` to start from as a line of YAML, if the files are a change feed of a known kind.

    Args:
        columns: SQL types by name.
        keys: keys of some files.
    """
    debezium = _debezium(columns)
    if debezium is not None:
        fields = [name for name in debezium if not name.startswith("__")]
        return f"silver: {{from: debezium, keys: [{_key(fields)}], every: 60}}"
    first = next(iter(columns), "")
    if first.lower() == "op" or any(_FULL_LOAD.search(key) for key in keys):
        times = [name for name in columns if _TIME.search(name)]
        order = json.dumps(times[-1]) if times else "<TimestampColumnName>"
        fields = [name for name in columns if name.lower() != "op"]
        return f"silver: {{from: dms, keys: [{_key(fields)}], order: {order}, every: 60}}"
    return None


def _debezium(columns: Mapping[str, str]) -> list[str] | None:
    """Returns the columns of the database's table, if the files are of Debezium."""
    fields = dict(columns)
    payload = _fields(fields.get("payload"))
    if payload and "op" in payload:
        fields = payload
    if "op" in fields and ("after" in fields or "before" in fields):
        return list(_fields(fields.get("after")) or _fields(fields.get("before")) or {})
    return list(fields) if fields.keys() & {"__deleted", "__op"} else None


def _fields(kind: str | None) -> dict[str, str]:
    """Returns the types of a struct's fields, by name; none if it is no struct."""
    try:
        found = any_type(kind or "")
    except ValueError:
        return {}
    return {field.name: field.type.sql() for field in found.fields} if isinstance(found, Struct) else {}


def _key(fields: Sequence[str]) -> str:
    """Returns a column that is probably the key: `id`, or the only one that ends so."""
    if "id" in fields:
        return "id"
    likely = [name for name in fields if name.lower().endswith("id")]
    return json.dumps(likely[0]) if len(likely) == 1 else "<primary key>"
