"""What a bronze table records of the persons who were forgotten in it: by which columns.

The suppression list is for ever, and it is applied by these columns. So a later `lake.yaml` must still name them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from tidegate.platform.core.schema.column_types import folded

#: Begins the name of a property of a bronze table. Its end is the kind of subject, and its value the columns, as JSON.
_RECORD = "tidegate.forgotten_by."


def forgotten_by(kind: str, subject: Sequence[str]) -> dict[str, str]:
    """Returns the property that records by which columns persons of a kind were forgotten."""
    return {f"{_RECORD}{kind}": json.dumps(list(subject))}


def forgotten_records(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns those of a table's properties that record by which columns persons were forgotten."""
    return {name: value for name, value in properties.items() if name.startswith(_RECORD)}


def lost_subject(properties: Mapping[str, str], name: str, kind: str | None, subject: Sequence[str]) -> str | None:
    """Returns why no later row may enter a table, and what to do. None if every forgotten person is still found.

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
    """Returns those of the columns by which persons were forgotten that are no subject any more. None if all are.

    Args:
        before: kind of these persons.
        columns: the columns that identified them. Empty if they are not known.
        kind: kind of the table's subject in `lake.yaml`. None if it has none.
        subject: the columns that identify a person, in `lake.yaml`.
    """
    now = {folded(column) for column in subject} if kind == before else set[str]()
    lost = [column for column in columns if folded(column) not in now]
    return lost if lost or kind != before else None


def subject_is_missing(name: str, kind: str, columns: Collection[str]) -> str:
    """Returns the text of the error that `lake.yaml` lacks a subject by which persons were forgotten.

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
