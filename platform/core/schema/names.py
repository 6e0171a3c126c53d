"""Names of columns: Tidegate's own, and names that Delta accepts only with column mapping."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, fold_name, inner_fields

#: Columns that Tidegate adds to loaded tables.
SOURCE_COLUMNS = ("_source_path", "_source_etag", "_source_event_time", "_ingested_at", "_batch")

#: The column of whole JSON objects in a table of `schema: variant`. `VariantRows` of platform/jvm has the same name.
VARIANT_COLUMN = "data"

#: The column of a table of `schema: rescue` for what none of its other columns takes.
RESCUED_COLUMN = "_rescued_data"

#: Columns with which Tidegate computes have names with this start.
OWN_NAME_PREFIX = "_tidegate_"

#: Spark's own column of every file it reads: a column of that name would hide it.
_HIDDEN = "_metadata"
#: Maximum number of fields, nested ones too, that rows of text, or the columns of a file, bring to a table at once. If
#: keys of objects are data, such as ids, they have no limit, and the schema is part of every batch and of the log.
MAX_FIELDS = 10_000
#: Maximum number of characters of a name.
_MAX_NAME = 1_000
#: Columns that an error lists. Of more columns it has those with the nearest names, up to `_MAX_NEAR`.
_MAX_NAMED, _MAX_NEAR = 12, 5
#: Delta accepts such a name only in a table that maps its columns. The restriction was once Parquet's.
_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")


def needs_mapping(fields: Iterable[Field]) -> bool:
    """Return whether Delta accepts these names, at every depth, only in a table that maps its columns."""
    return any(_NEEDS_MAPPING.search(inner.name) for field in fields for inner in (field, *inner_fields(field.type)))


def check_names(fields: Iterable[Field], *, reserved: Collection[str] = ()) -> None:
    """Refuse names that no table can have.

    Args:
        fields: a file's columns.
        reserved: names, in lower case, that Tidegate's own columns of this table have.

    Raises:
        Misfit: a name is empty or too long, is ours or Spark's, or differs from another one by case only, at any depth.
    """
    _check_level(fields, "")
    for field in fields:
        if fold_name(field.name) in reserved or fold_name(field.name) == _HIDDEN:
            whose = "Spark" if fold_name(field.name) == _HIDDEN else "Tidegate"
            raise Misfit(f"column {field.name} has the name of a column that {whose} adds; write it under another name")


def check_number(fields: Iterable[Field]) -> None:
    """Refuse columns that are too many for one file. The fields of a table are part of every batch and of the log.

    Raises:
        Misfit: there are more than `MAX_FIELDS`, nested ones too.
    """
    number = sum(1 + sum(1 for _ in inner_fields(field.type)) for field in fields)
    if number > MAX_FIELDS:
        raise Misfit(
            f"it has {number:,} fields, nested ones too, and one file brings at most {MAX_FIELDS:,} to a table; write "
            "parts of them as text, or as lists or maps"
        )


def check_new_name(name: str, reserved: Collection[str]) -> None:
    """Refuse a new column that a later table of the same `lake.yaml` could not take: every merge would fail.

    Args:
        name: of a column that the table does not have yet.
        reserved: folded names that silver or an export of this table has for its own columns.

    Raises:
        Misfit: the name is reserved.
    """
    if fold_name(name).startswith(OWN_NAME_PREFIX):
        raise Misfit(
            f"column {name} has a name with which Tidegate computes ({OWN_NAME_PREFIX}…); write it under another name"
        )
    if fold_name(name) in reserved:
        raise Misfit(
            f"column {name} has the name of a column that silver or an export of the table adds; write it under "
            "another name, or give it one by `rename` of `silver` in lake.yaml, or leave it out of silver by "
            "`except_columns`"
        )


def check_columns(names: Collection[str], *, ours: Collection[str], reserved: Collection[str]) -> None:
    """Refuse columns that lake.yaml or the folders of a key name, if no table can have them.

    Args:
        names: of columns.
        ours: names, in lower case, that Tidegate's own columns of this table have.
        reserved: folded names that silver or an export of this table has for its own columns.

    Raises:
        Misfit: there is such a name.
    """
    check_names([Field(name, Simple("string")) for name in names], reserved=ours)
    for name in names:
        check_new_name(name, reserved)


def usable_fields(fields: Iterable[Field]) -> list[Field]:
    """Return the fields that can be columns of a loaded table. A row with other fields is refused."""
    found: dict[str, Field] = {}
    left = MAX_FIELDS
    for field in fields:
        try:
            check_names([field], reserved=SOURCE_COLUMNS)
        except Misfit:
            continue
        left -= 1 + sum(1 for _ in inner_fields(field.type))
        if left >= 0:
            found.setdefault(fold_name(field.name), field)
    return list(found.values())


def _check_level(fields: Iterable[Field], path: str) -> None:
    seen: dict[str, str] = {}
    for field in fields:
        if not field.name:
            raise Misfit(f"{f'a field of {path[:-1]}' if path else 'a column'} has no name; give it one")
        if len(field.name) > _MAX_NAME:
            raise Misfit(
                f"column {path}{field.name[:60]}… has a name of more than {_MAX_NAME:,} characters; shorten it"
            )
        twin = seen.get(fold_name(field.name))
        if twin is not None:
            how = "by case only" if twin.lower() == field.name.lower() else "by letters that are one for Spark"
            why = "" if twin == field.name else f": it differs from {path}{twin} {how}"
            raise Misfit(f"column {path}{field.name} is there twice{why}; write one under another name")
        seen[fold_name(field.name)] = field.name
        for inner in _structs(field):
            _check_level(inner, f"{path}{field.name}.")


def _structs(field: Field) -> Iterable[tuple[Field, ...]]:
    todo = [field.type]
    while todo:
        match todo.pop():
            case Struct(fields):
                yield fields
            case Array(element):
                todo.append(element)
            case Map(key, value):
                todo += [key, value]


def silver_source_columns(fields: Iterable[Field], *, is_registered: bool) -> tuple[Field, ...]:
    """Return the columns of a bronze table from which silver is merged: without those that Tidegate adds.

    Args:
        fields: the columns of the bronze table.
        is_registered: whether the table reads its producer's files. Tidegate adds no column to it.
    """
    ours = () if is_registered else SOURCE_COLUMNS
    return tuple(field for field in fields if field.name not in ours)


def suggest_names(name: str, known: Sequence[str]) -> str:
    """Return suggest existing column names for an unknown one: all of them, or the closest matches of many."""
    if len(known) <= _MAX_NAMED:
        return f"it has {', '.join(known)}"
    spelled = {fold_name(other): other for other in known}
    near = get_close_matches(fold_name(name), spelled, _MAX_NEAR)
    if not near:
        return f"none of its {len(known)} columns has a name like it"
    return f"the nearest of its {len(known)} names are {', '.join(spelled[other] for other in near)}"
