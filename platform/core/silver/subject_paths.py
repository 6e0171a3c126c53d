"""Where a silver table has the subject of a row of bronze, by the options of the merge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import HISTORY_COLUMNS, JOINED, KEY, LEFT, ORDER, SILVER_COLUMNS
from tidegate.platform.core.schema.column_reference import is_expression, path_of, paths_of, spell_path, type_at
from tidegate.platform.core.schema.column_types import WHOLE, Array, Field, Map, Simple, Struct, Type, fold_name
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.silver.presets import resolve_presets

Path = tuple[str, ...]
#: The columns of Debezium's envelopes that have a row.
_ENVELOPE = ("before", "after")
#: Begins the name of a property of a silver table. Its end is a part of a subject and a path, as JSON.
_RECORD = "tidegate.silver_subject."
_OWN = {*SILVER_COLUMNS, *HISTORY_COLUMNS, KEY, ORDER, JOINED, LEFT}
_CHOICE = re.compile(r"\s*coalesce\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)


def subject_paths(silver: SilverSpec, subject: Sequence[str], columns: Sequence[Field]) -> dict[str, list[Path]]:
    """Return for each part of a subject the columns and nested fields of silver that have its text unchanged.

    A name alone shows nothing: `customer.id` is not `id`, and after a `rename` another column can have the name. A
    column with another text than bronze (`derive`, `decode`, or a `cast` from text) does not count either.

    Args:
        silver: `silver` of the table in `lake.yaml`.
        subject: the columns and nested fields of bronze that identify a person.
        columns: bronze's columns, without those that Tidegate adds to loaded tables.

    Returns:
        An empty list for a part that silver does not have, or of which it lacks a reading that bronze has.

    Raises:
        UnsuitableColumns: bronze does not have the columns of the change feed.
    """
    options = resolve_presets(silver, columns)
    if _is_list(options, columns):
        # Forgetting finds and deletes rows of bronze, and a row of bronze may have rows of several persons.
        return {name: [] for name in subject}
    found = {}
    for name in subject:
        places = [
            [*_paths_taken_unchanged(silver, options, path, columns), *_derived_paths(options, path, columns)]
            for path in _paths(name, columns)
        ]
        found[name] = list(dict.fromkeys(chain.from_iterable(places))) if all(places) else []
    return found


def former_paths(
    silver: SilverSpec, subject: Sequence[str], columns: Sequence[Field], properties: Mapping[str, str]
) -> list[Path]:
    """Return the paths of a subject that silver may have of rows from before an option changed, and of no other rows.

    With `row`, silver never had the paths of bronze.

    Args:
        silver: as for `subject_paths`.
        subject: as for `subject_paths`.
        columns: as for `subject_paths`.
        properties: of the silver table.
    """
    options = resolve_presets(silver, columns)
    found: list[Path] = []
    for name in subject:
        paths = _paths(name, columns)
        before = [*(() if options.row else paths), *_recorded_paths(properties, name)]
        now = set().union(*(_given_names(silver, options, path, columns) for path in paths))
        found += (each for each in before if each and fold_name(each[0]) not in now)
    return list(dict.fromkeys(found))


def personal_key(silver: SilverSpec, personal: Sequence[str], columns: Sequence[Field]) -> tuple[str, str] | None:
    """Return a key of silver that is made of a personal column, and this column. None if there is none.

    A delete of a change feed may have the key and nothing else of its row. Without deletes, each row has its subject.

    Args:
        silver: as for `subject_paths`.
        personal: the personal columns and nested fields of bronze that are not subjects.
        columns: as for `subject_paths`.

    Raises:
        UnsuitableColumns: bronze does not have the columns of the change feed.
    """
    options = resolve_presets(silver, columns)
    if options.deletes is None:
        return None
    for name in personal:
        for path in _paths(name, columns):
            if key := _key_made_of(silver, options, path, columns):
                return key, name
    return None


def _key_made_of(silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]) -> str | None:
    made = [column for column, text in options.derive.items() if _mentions(text, ".".join(path))]
    places = [".".join(place) for place in _places(silver, options, path, columns)]
    for key in options.keys:
        if any(
            _mentions(key, place) or fold_name(place).startswith(f"{fold_name(key)}.") for place in (*places, *made)
        ):
            return key
    return None


def _mentions(text: str, name: str) -> bool:
    """Return whether a reference or an expression has the name of a column or nested field, or of a field in it."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text.replace("`", ""), re.IGNORECASE) is not None


def subject_record(paths: Mapping[str, Sequence[Path]], after: int) -> dict[str, str]:
    """Return the properties that record where a silver table has each part of a subject.

    When an option changes, the subject gets another path in new rows, and older rows keep it where it was.

    Args:
        paths: as `subject_paths` returns them. A part without a path is recorded, too.
        after: last batch whose rows silver had before it had this record. 0 if it had no row.
    """
    places = ((name, path) for name, own in paths.items() for path in own or [()])
    return {f"{_RECORD}{json.dumps([name, *path])}": str(after) for name, path in places}


def is_record(name: str) -> bool:
    """Return whether a property of a silver table records where it has a subject."""
    return name.startswith(_RECORD)


@dataclass(frozen=True)
class Unattributable:
    """Rows of silver whose subject cannot be known: those without a value of `known`, and with one of `others`.

    Attributes:
        subject: the part of the subject, as `lake.yaml` has it.
        known: paths that have it, also in older rows.
        others: columns and nested fields that may have had it. None: any row without a value of `known` is such a row.
    """

    subject: str
    known: tuple[Path, ...]
    others: tuple[Path, ...] | None


def unattributable_rows(
    silver: SilverSpec,
    subject: Sequence[str],
    columns: Sequence[Field],
    properties: Mapping[str, str],
    fields: Sequence[Field],
) -> list[Unattributable]:
    """Return which rows of a silver table may be of a subject that no column shows, for each part of the subject.

    Args:
        silver: as for `subject_paths`.
        subject: as for `subject_paths`.
        columns: as for `subject_paths`.
        properties: of the silver table.
        fields: the columns of the silver table.
    """
    options, found = resolve_presets(silver, columns), []
    for name, paths in subject_paths(silver, subject, columns).items():
        places, recorded = _paths(name, columns), _recorded_paths(properties, name)
        former = former_paths(silver, [name], columns, properties)
        known = [each for each in dict.fromkeys((*paths, *former)) if spell_path(each, fields)]
        others = [each for each in recorded if each and each not in known and spell_path(each, fields)]
        if 0 not in recorded.values() and any(_parents(silver, options, path, columns) for path in places):
            now = set().union(*(_given_names(silver, options, path, columns) for path in places))
            roots = {fold_name(own[0]) for own in known} | now | _OWN
            others += [(field.name,) for field in fields if fold_name(field.name) not in roots]
        found.append(Unattributable(name, tuple(known), None if () in recorded else tuple(others)))
    return [rows for rows in found if rows.others is None or rows.others]


def _recorded_paths(properties: Mapping[str, str], subject: str) -> dict[Path, int]:
    records = {name.removeprefix(_RECORD): after for name, after in properties.items() if is_record(name)}
    parsed = ((json.loads(text), int(after)) for text, after in records.items())
    return {tuple(path): after for (name, *path), after in parsed if name == subject}


def _given_names(silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]) -> set[str]:
    """Return the names of the columns, in lower case, that the rows with a path of bronze give to silver."""
    renamed = {fold_name(old): new for old, new in options.rename.items()}
    fields = [field for parent in _parents(silver, options, path, columns) for field in _fields(parent, columns)]
    names = (renamed.get(fold_name(field.name), field.name) for field in fields)
    return {fold_name(name) for name in (*(name for name in names if _is_chosen(options, name)), *options.derive)}


def _fields(parent: Path, columns: Sequence[Field]) -> Sequence[Field]:
    found = parent and path_of(".".join(parent), columns)
    kind = type_at(found, columns) if found else None
    return columns if not parent else kind.fields if isinstance(kind, Struct) else ()


@dataclass(frozen=True)
class Origin:
    """A column or nested field of silver, and one of bronze whose values it has.

    Attributes:
        place: its path, in the form in which names are compared.
        path: that of bronze.
    """

    place: Path
    path: Path


def silver_origins(silver: SilverSpec, columns: Sequence[Field]) -> list[Origin]:
    """Return from which columns and nested fields of bronze those of silver are, by `row` and `rename`.

    What silver derives, and the fields of a row that is an expression, has none. A `cast` of a struct takes its fields
    by their place, so all of it is from each of them.

    Args:
        silver: as for `subject_paths`.
        columns: as for `subject_paths`.

    Raises:
        UnsuitableColumns: bronze does not have the columns of the change feed.
    """
    options, found = resolve_presets(silver, columns), []
    for path in (path for field in columns for path in _leaves(field.type, (field.name,))):
        for place in _places(silver, options, path, columns):
            remade = _names((*options.cast, *options.decode), place[0])
            found.append(Origin(tuple(map(fold_name, place[:1] if remade else place)), path))
    return found


def _leaves(kind: Type, path: Path) -> Iterator[Path]:
    """Yield the paths of the fields of a column, also of those within arrays and maps."""
    match kind:
        case Struct(fields):
            for field in fields:
                yield from _leaves(field.type, (*path, field.name))
        case Array():
            yield from _leaves(kind.element, path)
        case Map():
            yield from _leaves(kind.value, path)
        case _:
            yield path


def _paths_taken_unchanged(
    silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]
) -> Iterator[Path]:
    """Yield where silver has a path of bronze that it takes as it is."""
    for name, *below in _places(silver, options, path, columns):
        if _keeps_text(options, name, path, columns):
            yield (name, *below)


def _places(silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]) -> Iterator[Path]:
    """Yield where silver has a path of bronze by its name, or by that of `rename`. The text may be another one."""
    derived = {fold_name(name) for name in options.derive}
    renamed = {fold_name(old): new for old, new in options.rename.items()}
    for parent in _parents(silver, options, path, columns):
        if len(path) > len(parent) and _is_same_path(path[: len(parent)], parent):
            column, *below = path[len(parent) :]
            name = renamed.get(fold_name(column), column)
            if fold_name(name) not in derived:
                yield (name, *below)


def _derived_paths(options: SilverSpec, path: Path, columns: Sequence[Field]) -> Iterator[Path]:
    """Yield the derived columns that are nothing but a path of bronze."""
    for name, text in options.derive.items():
        plain = text.strip().replace("`", "")
        is_path = not is_expression(plain) and _is_same_path(path_of(plain, columns) or (), path)
        if is_path and _keeps_text(options, name, path, columns):
            yield (name,)


def _parents(silver: SilverSpec, options: SilverSpec, path: Path, columns: Sequence[Field]) -> list[Path]:
    """Return the columns of bronze whose fields are silver's columns. The empty path if bronze's own columns are."""
    if options.row is None:
        return [()]
    choices = row_choices(options.row, columns)
    if choices is None and silver.row is None:
        # The preset takes `after`, or else `before`, field by field.
        return [path[:length] for length in range(1, len(path)) if fold_name(path[length - 1]) in _ENVELOPE]
    return choices or []


def _is_list(options: SilverSpec, columns: Sequence[Field]) -> bool:
    """Return whether a row of bronze has an array of rows, as far as the columns show it."""
    path = path_of(options.row or "", columns) if options.row and not is_expression(options.row) else None
    return path is not None and isinstance(type_at(path, columns), Array)


def row_choices(row: str, columns: Sequence[Field] = ()) -> list[Path] | None:
    """Return the columns and nested fields among which `row` chooses. None if it is another expression.

    Args:
        row: a reference, or `coalesce` of references.
        columns: bronze's columns, if they are known.
    """
    choice = _CHOICE.fullmatch(row)
    parts = [part.strip().replace("`", "") for part in (choice[1] if choice else row).split(",")]
    if any(map(is_expression, parts)):
        return None
    return [_paths(part, columns)[0] for part in parts]


def _paths(name: str, columns: Sequence[Field]) -> list[Path]:
    """Return every path that a reference may name, also of a column or field that bronze does not have yet."""
    return [*paths_of(name, columns)] or [tuple(name.split("."))]


def _keeps_text(options: SilverSpec, name: str, path: Path, columns: Sequence[Field]) -> bool:
    if not _is_chosen(options, name) or _names(options.decode, name):
        return False
    cast = next((text for column, text in options.cast.items() if fold_name(column) == fold_name(name)), None)
    if cast is None:
        return True
    # A cast between these types leaves the text of a whole number as it is.
    known = path_of(".".join(path), columns)
    given, wanted = known and type_at(known, columns), parse_sql_type(cast)
    return given == wanted or (given in WHOLE and wanted in (*WHOLE, Simple("string")))


def _is_chosen(options: SilverSpec, name: str) -> bool:
    return (not options.columns or _names(options.columns, name)) and not _names(options.except_columns, name)


def _names(listed: Iterable[str], name: str) -> bool:
    return fold_name(name) in map(fold_name, listed)


def _is_same_path(left: Path, right: Path) -> bool:
    return [fold_name(part) for part in left] == [fold_name(part) for part in right]
