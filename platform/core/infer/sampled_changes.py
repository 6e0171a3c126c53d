"""The changes that a sample of a feed has: what each did to a row, the row's values, and the key that they prove."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.wording import number_of, one_line

_Kind = Literal["insert", "read", "update", "delete"]
_KINDS: Mapping[str, _Kind] = {
    **{"c": "insert", "r": "read", "u": "update", "d": "delete"},
    **{"insert": "insert", "bootstrap-insert": "read", "update": "update", "delete": "delete"},
    "i": "insert",
}
#: Fields of `source` that say where in the database's log a change is. Of a snapshot, many rows have one position.
_POSITION = ("lsn", "file", "pos", "row", "scn", "commit_lsn", "change_lsn", "event_serial_no")

_MAX_VALUE = 60


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
    """Return the changes of envelopes and of flattened rows, with their schema or without it.

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
    """Return the changes of rows of Maxwell.

    Args:
        rows: objects of a sample.
    """
    found = (
        _change(_kind(row.get("type")), row.get("data"), {}, row.get("primary_key_columns"), str(row.get("position")))
        for row in rows
    )
    return [change for change in found if change]


def changes_of_canal(rows: Iterable[Mapping[str, Any]]) -> list[SampledChange]:
    """Return the changes of messages of Canal, each of which has several rows.

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
    """Return the changes of rows of AWS DMS. A row without an operation is of the full load.

    Args:
        rows: rows of a sample.
    """
    return list(_dms_changes(rows))


def _dms_changes(rows: Iterable[Mapping[str, Any]]) -> Iterator[SampledChange]:
    for row in rows:
        operation = next((value for name, value in row.items() if fold_name(name) == "op"), None)
        kind = "read" if operation is None else _kind(operation)
        if change := _change(kind, {name: value for name, value in row.items() if fold_name(name) != "op"}, {}):
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


@dataclass(frozen=True)
class ProposedKey:
    """Columns that may be the key.

    Attributes:
        columns: their names; empty if nobody knows.
        note: what proves them, or that they are a guess. A sentence.
    """

    columns: tuple[str, ...]
    note: str


def proposed_key(fields: Sequence[str], changes: Sequence[SampledChange]) -> ProposedKey:
    """Return the key that the changes of a sample prove, or else a guess that none of them contradicts.

    Args:
        fields: the columns of the database's table.
        changes: the changes of the sample.
    """
    named = {change.named for change in changes if change.named}
    if len(named) == 1:
        (names,) = named
        return ProposedKey(names, f"keys: the rows name {_join_names(names)} as the primary key")
    if (given := _columns_of_deletes(changes)) and _contradiction(given, changes) is None:
        return ProposedKey(given, f"keys: deletes have a value of {_join_names(given)} only, which is the key")
    guess = _likely_key(fields)
    if guess is None:
        return ProposedKey((), "keys: nothing in these files shows the primary key of the table; write its columns")
    if why := _contradiction((guess,), changes):
        return ProposedKey((), f"keys: {guess} alone is not the key: {why}. Write the columns of the primary key")
    inserts = sum(change.kind in ("insert", "read") for change in changes)
    seen = f"no two of {number_of(inserts, 'insert')} share a value" if inserts > 1 else "no rows were compared"
    return ProposedKey(
        (guess,), f"keys is a guess by the name {guess} ({seen}): compare it with the primary key of the table"
    )


def _columns_of_deletes(changes: Sequence[SampledChange]) -> tuple[str, ...]:
    """Return the columns that deletes have a value of, if deletes have the key only; empty if they do not show it.

    Deletes of other databases, or with REPLICA IDENTITY FULL, have the whole row. They have the key only if a column
    that every inserted row has is in none of them.
    """
    deletes = [set(change.values) for change in changes if change.kind == "delete" and change.values]
    rows = [set(change.values) for change in changes if change.kind != "delete" and change.values]
    if not deletes or not rows or any(item != deletes[0] for item in deletes):
        return ()
    if not set.intersection(*rows) - deletes[0]:
        return ()
    return next(tuple(change.values) for change in changes if change.kind == "delete" and change.values)


def _contradiction(key: Sequence[str], changes: Sequence[SampledChange]) -> str | None:
    """Return why columns are not the key: a row without them, or different rows that were inserted with one value.

    Copies of a change are one change. A row may be inserted again after its delete, and two snapshots have it twice.
    """
    inserts: dict[str, set[str]] = {}
    reads: dict[tuple[str, str], set[str]] = {}
    deletes: dict[str, int] = {}
    for change in changes:
        if missing := next((name for name in key if name not in change.values), None):
            return f"{missing} is NULL in a row"
        value = json.dumps([change.values[name] for name in key])
        row = json.dumps(change.values, sort_keys=True)
        if change.kind == "delete":
            deletes[value] = deletes.get(value, 0) + 1
        elif change.kind == "insert":
            inserts.setdefault(value, set()).add(row)
        elif change.kind == "read":
            reads.setdefault((value, change.position), set()).add(row)
    several = {value for value, rows in inserts.items() if len(rows) > 1 + deletes.get(value, 0)}
    several |= {value for (value, _), rows in reads.items() if len(rows) > 1}
    if not several:
        return None
    shown = one_line(min(several)[1:-1])[:_MAX_VALUE]
    return f"{number_of(len(several), 'value')} of it came with several inserts and no delete, such as {shown}"


def _likely_key(fields: Sequence[str]) -> str | None:
    """Return a column that is probably the key: `id`, or the only one that ends so."""
    if "id" in fields:
        return "id"
    likely = [name for name in fields if fold_name(name).endswith("id")]
    return likely[0] if len(likely) == 1 else None


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names)
