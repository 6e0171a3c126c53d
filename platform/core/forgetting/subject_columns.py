"""The columns by which persons are found: those that a table lacks, and those that it records.

A wrong name protects nobody, and finds nobody. The suppression list is for ever, and it is applied by the columns
that a table records, so a later `lake.yaml` must still name them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from tidegate.platform.core.schema.column_reference import path_of, type_at
from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type, fold_name
from tidegate.platform.core.schema.names import RESCUED_COLUMN, suggest_names

#: Begins the name of a property of a bronze table. Its end is the kind of subject, and its value the columns, as JSON.
_RECORD = "tidegate.forgotten_by."


def absent_subject(subject: Sequence[str], fields: Sequence[Field]) -> str | None:
    """Return why no row of a table names a person. None if rows may name one.

    Args:
        subject: the columns and nested fields that identify a person, as in `lake.yaml`.
        fields: the columns of bronze.
    """
    if listed := [name for name in subject if _is_within_values(name, fields)]:
        return (
            f"{', '.join(listed)} of `personal.subject` is within an array or a map, where `tidegate forget` finds "
            "nobody: name a column, or a field of a struct"
        )
    rescues = any(field.name == RESCUED_COLUMN for field in fields)
    if not subject or rescues or any(path_of(name, fields) for name in subject):
        return None
    return (
        f"`tidegate forget` finds nobody: {_describe_unknown(subject, fields)}. Correct the name, or, if the column "
        "comes with later rows, give its type under `columns`"
    )


def absent_columns(names: Iterable[str], fields: Sequence[Field]) -> str | None:
    """Return which personal columns and nested fields a table does not have. None if it has all of them.

    Delta keeps no statistics of what is within an array or a map, so these names need no column.

    Args:
        names: as in `lake.yaml`.
        fields: the columns of bronze.
    """
    absent = [name for name in names if not path_of(name, fields) and not _is_within_values(name, fields)]
    return _describe_unknown(absent, fields) if absent else None


def _describe_unknown(names: Iterable[str], fields: Sequence[Field]) -> str:
    return ". ".join(f"no column is called {name!r}; {_suggest_field_name(name, fields)}" for name in names)


def _suggest_field_name(name: str, fields: Sequence[Field]) -> str:
    kind = _kind(name.rpartition(".")[0], fields)
    if isinstance(kind, Struct):
        start = name.rpartition(".")[0]
        return suggest_names(name, [f"{start}.{field.name}" for field in kind.fields])
    return suggest_names(name, [field.name for field in fields])


def _is_within_values(name: str, fields: Sequence[Field]) -> bool:
    parts = name.split(".")
    return any(isinstance(_kind(".".join(parts[:end]), fields), Array | Map) for end in range(1, len(parts)))


def _kind(name: str, fields: Sequence[Field]) -> Type | None:
    path = path_of(name, fields)
    return type_at(path, fields) if path else None


def forgotten_record(kind: str, subject: Sequence[str]) -> dict[str, str]:
    """Return the property that records by which columns persons of a kind were forgotten."""
    return {f"{_RECORD}{kind}": json.dumps(list(subject))}


def forgotten_records(properties: Mapping[str, str]) -> dict[str, str]:
    """Return those of a table's properties that record by which columns persons were forgotten."""
    return {name: value for name, value in properties.items() if name.startswith(_RECORD)}


def lost_subject(properties: Mapping[str, str], name: str, kind: str | None, subject: Sequence[str]) -> str | None:
    """Return why no later row may enter a table, and what to do. None if every forgotten person is still found.

    Args:
        properties: of the bronze table.
        name: SQL name of the table.
        kind: kind of its subject in `lake.yaml`. None if it has none.
        subject: the columns that identify a person, in `lake.yaml`.
    """
    for record, value in forgotten_records(properties).items():
        before = record.removeprefix(_RECORD)
        lost = lost_columns(before, json.loads(value), kind, subject)
        if lost is not None:
            return subject_is_missing(name, before, lost)
    return None


def lost_columns(
    before: str, columns: Iterable[str], kind: str | None, subject: Iterable[str]
) -> Collection[str] | None:
    """Return those of the columns by which persons were forgotten that are not a subject any more. None if all are.

    Args:
        before: kind of these persons.
        columns: the columns that identified them. Empty if they are not known.
        kind: kind of the table's subject in `lake.yaml`. None if it has none.
        subject: the columns that identify a person, in `lake.yaml`.
    """
    now = {fold_name(column) for column in subject} if kind == before else set[str]()
    lost = [column for column in columns if fold_name(column) not in now]
    return lost if lost or kind != before else None


def subject_is_missing(name: str, kind: str, columns: Collection[str]) -> str:
    """Return the text of the error that `lake.yaml` lacks a subject by which persons were forgotten.

    Args:
        name: SQL name of the table.
        kind: kind of the persons.
        columns: the columns that identified them. Empty if they are not known.
    """
    by = ", ".join(sorted(columns)) or "its subject"
    return (
        f"persons were forgotten in {name} by {by} (kind {kind!r}), and lake.yaml no longer has that as its "
        "`personal.subject`, so later rows of these persons would enter: put it back, or start the table over with "
        "another `name` and `prefix`"
    )
