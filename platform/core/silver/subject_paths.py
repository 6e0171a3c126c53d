"""Where a silver table has the subject of a row of bronze, by the options of the merge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_reference import is_expression, path_of, type_at
from tidegate.platform.core.schema.column_types import WHOLE, Field, Simple
from tidegate.platform.core.schema.sql_types import any_type
from tidegate.platform.core.silver.presets import resolved

Path = tuple[str, ...]
#: The columns of Debezium's envelopes that have a row.
_ENVELOPE = ("before", "after")
_CHOICE = re.compile(r"\s*coalesce\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)


def subject_paths(silver: SilverSpec, subject: Sequence[str], columns: Sequence[Field]) -> dict[str, list[Path]]:
    """Returns for each part of a subject the columns and nested fields of silver that have its text unchanged.

    A name alone shows nothing: `customer.id` is not `id`, and after a `rename` another column can have the name. A
    column with another text than bronze (`derive`, `decode`, or a `cast` from text) does not count either.

    Args:
        silver: `silver` of the table in `lake.yaml`.
        subject: the columns and nested fields of bronze that identify a person.
        columns: bronze's columns, without those that Tidegate adds to loaded tables.

    Returns:
        An empty list for a part that silver does not have.

    Raises:
        UnsuitableColumns: bronze does not have the columns of the change feed.
    """
    options = resolved(silver, columns)
    paths = {name: _path(name, columns) for name in subject}
    return {
        name: list(dict.fromkeys((*_taken(silver, options, path, columns), *_derived(options, path, columns))))
        for name, path in paths.items()
    }


def former_paths(silver: SilverSpec, subject: Sequence[str], columns: Sequence[Field]) -> list[Path]:
    """Returns the paths of a subject that silver has of rows from before an option took or renamed the column.

    The arguments are as for `subject_paths`. With `row`, silver never had the paths of bronze.
    """
    options = resolved(silver, columns)
    if options.row is not None:
        return []
    renamed = {old.lower(): new.lower() for old, new in options.rename.items()}
    chosen = [name for field in columns if _is_chosen(options, name := renamed.get(field.name.lower(), field.name))]
    now = {name.lower() for name in (*chosen, *options.derive)}
    paths = (_path(name, columns) for name in subject)
    return [path for path in paths if path[0].lower() not in now]


def _taken(silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]) -> Iterator[Path]:
    """Yields where silver has a path of bronze that it takes as it is."""
    derived = {name.lower() for name in options.derive}
    renamed = {old.lower(): new for old, new in options.rename.items()}
    for parent in _parents(silver, options, path, columns):
        if len(path) > len(parent) and _same(path[: len(parent)], parent):
            column, *below = path[len(parent) :]
            name = renamed.get(column.lower(), column)
            if name.lower() not in derived and _keeps_text(options, name, path, columns):
                yield (name, *below)


def _derived(options: SilverSpec, path: Path, columns: Sequence[Field]) -> Iterator[Path]:
    """Yields the derived columns that are nothing but a path of bronze."""
    for name, text in options.derive.items():
        plain = text.strip().replace("`", "")
        is_path = not is_expression(plain) and _same(path_of(plain, columns) or (), path)
        if is_path and _keeps_text(options, name, path, columns):
            yield (name,)


def _parents(silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]) -> list[Path]:
    """Returns the columns of bronze whose fields are silver's columns. The empty path if bronze's own columns are."""
    if options.row is None:
        return [()]
    choices = row_choices(options.row, columns)
    if choices is None and silver.row is None:
        # The preset takes `after`, or else `before`, field by field.
        return [path[:length] for length in range(1, len(path)) if path[length - 1].lower() in _ENVELOPE]
    return choices or []


def row_choices(row: str, columns: Sequence[Field] = ()) -> list[Path] | None:
    """Returns the columns and nested fields among which `row` chooses. None if it is another expression.

    Args:
        row: a reference, or `coalesce` of references.
        columns: bronze's columns, if they are known.
    """
    choice = _CHOICE.fullmatch(row)
    parts = [part.strip().replace("`", "") for part in (choice[1] if choice else row).split(",")]
    if any(map(is_expression, parts)):
        return None
    return [_path(part, columns) for part in parts]


def _path(name: str, columns: Sequence[Field]) -> Path:
    """Returns the path of a column or nested field, also of one that bronze does not have yet."""
    return path_of(name, columns) or tuple(name.split("."))


def _keeps_text(options: SilverSpec, name: str, path: Path, columns: Sequence[Field]) -> bool:
    if not _is_chosen(options, name) or _names(options.decode, name):
        return False
    cast = next((text for column, text in options.cast.items() if column.lower() == name.lower()), None)
    if cast is None:
        return True
    # A cast between these types leaves the text of a whole number as it is.
    known = path_of(".".join(path), columns)
    given, wanted = known and type_at(known, columns), any_type(cast)
    return given == wanted or (given in WHOLE and wanted in (*WHOLE, Simple("string")))


def _is_chosen(options: SilverSpec, name: str) -> bool:
    return (not options.columns or _names(options.columns, name)) and not _names(options.except_columns, name)


def _names(listed: Iterable[str], name: str) -> bool:
    return name.lower() in map(str.lower, listed)


def _same(one: Path, other: Path) -> bool:
    return [part.lower() for part in one] == [part.lower() for part in other]
