"""Personal columns that a bronze table does not have: a wrong name protects nobody, and finds nobody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.platform.core.schema.column_reference import path_of, type_at
from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type
from tidegate.platform.core.schema.names import RESCUED_COLUMN, suggest_names


def absent_subject(subject: Sequence[str], fields: Sequence[Field]) -> str | None:
    """Returns why no row of a table names a person. None if rows may name one.

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
        f"`tidegate forget` finds nobody: {_unknown(subject, fields)}. Correct the name, or, if the column comes with "
        "later rows, give its type under `columns`"
    )


def absent_columns(names: Iterable[str], fields: Sequence[Field]) -> str | None:
    """Returns which personal columns and nested fields a table does not have. None if it has all of them.

    Delta keeps no statistics of what is within an array or a map, so these names need no column.

    Args:
        names: as in `lake.yaml`.
        fields: the columns of bronze.
    """
    absent = [name for name in names if not path_of(name, fields) and not _is_within_values(name, fields)]
    return _unknown(absent, fields) if absent else None


def _unknown(names: Iterable[str], fields: Sequence[Field]) -> str:
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
