"""The changes that a sample of a feed has: what each of them did to a row, and the row's values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tidegate.platform.core.schema.column_types import folded

_Kind = Literal["insert", "read", "update", "delete"]
_KINDS: Mapping[str, _Kind] = {
    **{"c": "insert", "r": "read", "u": "update", "d": "delete"},
    **{"insert": "insert", "bootstrap-insert": "read", "update": "update", "delete": "delete"},
    "i": "insert",
}
#: Fields of `source` that say where in the database's log a change is. Of a snapshot, many rows have one position.
_POSITION = ("lsn", "file", "pos", "row", "scn", "commit_lsn", "change_lsn", "event_serial_no")


@dataclass(frozen=True)
class SampledChange:
    """A change of one row.

    Attributes:
        kind: what it did; `read` is a row of a snapshot.
        values: the row, without columns that are NULL. Of a delete, a feed may give the key only.
        position: where it is in the database's log; empty if the change does not say it.
        named: columns that the change itself names as the key.
    """

    kind: _Kind
    values: Mapping[str, Any]
    position: str = ""
    named: tuple[str, ...] = ()


def changes_of_debezium(rows: Iterable[Mapping[str, Any]]) -> list[SampledChange]:
    """Returns the changes of envelopes and of flattened rows, with their schema or without it.

    Args:
        rows: objects of a sample.
    """
    found = []
    for row in rows:
        inner = row.get("payload", row)
        if isinstance(inner, Mapping) and (change := _debezium_change(inner)):
            found.append(change)
    return found


def _debezium_change(row: Mapping[str, Any]) -> SampledChange | None:
    if "op" in row and ("after" in row or "before" in row):
        kind = _kind(row["op"])
        values = row.get("before") if kind == "delete" else row.get("after")
        source = row.get("source")
        return _change(kind, values, source if isinstance(source, Mapping) else {})
    metadata = {name.removeprefix("__").removeprefix("source_"): row[name] for name in row if name.startswith("__")}
    kind = _kind(metadata.get("op")) or ("update" if "deleted" in metadata else None)
    kind = "delete" if str(metadata.get("deleted")).lower() == "true" else kind
    values = {name: value for name, value in row.items() if not name.startswith("__")}
    return _change(kind, values, metadata)


def changes_of_maxwell(rows: Iterable[Mapping[str, Any]]) -> list[SampledChange]:
    """Returns the changes of rows of Maxwell.

    Args:
        rows: objects of a sample.
    """
    found = (
        _change(_kind(row.get("type")), row.get("data"), {}, row.get("primary_key_columns"), str(row.get("position")))
        for row in rows
    )
    return [change for change in found if change]


def changes_of_canal(rows: Iterable[Mapping[str, Any]]) -> list[SampledChange]:
    """Returns the changes of messages of Canal, each of which has several rows.

    Args:
        rows: objects of a sample.
    """
    return [
        change
        for row in rows
        if isinstance(row.get("data"), Sequence)
        for values in row["data"]
        if (change := _change(_kind(row.get("type")), values, {}, row.get("pkNames")))
    ]


def changes_of_dms(rows: Iterable[Mapping[str, Any]]) -> list[SampledChange]:
    """Returns the changes of rows of AWS DMS. A row without an operation is of the full load.

    Args:
        rows: rows of a sample.
    """
    return list(_dms_changes(rows))


def _dms_changes(rows: Iterable[Mapping[str, Any]]) -> Iterator[SampledChange]:
    for row in rows:
        operation = next((value for name, value in row.items() if folded(name) == "op"), None)
        kind = "read" if operation is None else _kind(operation)
        if change := _change(kind, {name: value for name, value in row.items() if folded(name) != "op"}, {}):
            yield change


def _kind(operation: Any) -> _Kind | None:
    return _KINDS.get(operation.lower()) if isinstance(operation, str) else None


def _change(
    kind: _Kind | None, values: Any, source: Mapping[str, Any], named: Any = None, position: str = ""
) -> SampledChange | None:
    if kind is None or not isinstance(values, Mapping):
        return None
    known = {name: value for name, value in values.items() if value is not None}
    place = {name: source[name] for name in _POSITION if source.get(name) is not None}
    names = tuple(named) if isinstance(named, list) and all(isinstance(name, str) for name in named) else ()
    return SampledChange(kind, known, json.dumps(place) if place else position, names)
