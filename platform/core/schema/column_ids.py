"""The identity of columns in a table that maps its columns: an id, and a name in the data files.

A name is not an identity. After a column was dropped or renamed, older files still have it, and a new column of that
name would show their values. So a new column gets what no column of the table has ever had. Only files of a producer
name their columns themselves: there the name in the files is the column's own, and the table records each name that it
has ever had, so that none becomes another column. The log does not keep what it says of the past.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import NAMESPACE_OID, uuid5

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type, fold_name, inner_fields

#: Delta's property with the last id that a table has given.
LAST_ID = "delta.columnMapping.maxColumnId"
#: Property of a table with its producer's files: the paths of all columns that it has ever had, as JSON.
COLUMNS = "tidegate.columns"

#: The name of a column, after the names of the columns that it is in.
Path = tuple[str, ...]


@dataclass(frozen=True)
class ColumnIds:
    """What a table gives to new columns.

    Attributes:
        last: the last id that the table has given.
        seed: a text that no other state of columns has. Names in the data files are made from it. Empty if the files
            have the columns' own names: of producers, and of a table that has no data file yet.
        names: folded paths of the columns that the table has recorded. None if the names in its files are not the
            producer's.
    """

    last: int = 0
    seed: str = ""
    names: frozenset[Path] | None = None

    def assign_ids(self, fields: Iterable[Field]) -> tuple[Field, ...]:
        """Return the fields, with an id and a name in the data files for each that has none, at every depth."""
        fields = tuple(fields)
        present = (inner.id or 0 for field in fields for inner in (field, *inner_fields(field.type)))
        return _IdAssignment(max(self.last, *present, 0), self.seed).fields(fields, ())

    def has_gaps(self, fields: Iterable[Field]) -> bool:
        """Return whether the table has given ids to more columns than it has: some were dropped."""
        return self.last > sum(1 for field in fields for _ in (field, *inner_fields(field.type)))

    def to_properties(self, fields: Iterable[Field]) -> dict[str, str]:
        """Return the property that records the names of these columns and of all earlier ones."""
        if self.names is None:
            return {}
        return {COLUMNS: json.dumps(sorted({*self.names, *paths(fields)}), ensure_ascii=False, separators=(",", ":"))}

    def require_new(self, missing: Iterable[Path]) -> None:
        """Require that columns which the table does not have are not columns that it had once.

        Raises:
            Misfit: a column was dropped or renamed. The rows of older files would show its old values.
        """
        for path in missing if self.names else ():
            if tuple(map(fold_name, path)) in (self.names or ()):
                raise Misfit(
                    f"column {'.'.join(path)} was dropped from the table or renamed, and its older files still have "
                    "it: the old values would come back. Write it under another name"
                )


def recorded_names(properties: Mapping[str, str]) -> frozenset[Path] | None:
    """Return the folded paths of the columns that a table has recorded. None if it has recorded none."""
    text = properties.get(COLUMNS)
    return None if text is None else frozenset(tuple(map(fold_name, path)) for path in json.loads(text))


def paths(fields: Iterable[Field]) -> Iterator[Path]:
    """Yield the folded paths of columns and of the fields in them, as ADD COLUMNS names them."""
    for field in fields:
        path = (fold_name(field.name),)
        yield path
        yield from _paths_inside(field.type, path)


def _paths_inside(kind: Type, above: Path) -> Iterator[Path]:
    match kind:
        case Struct(fields):
            for path in paths(fields):
                yield (*above, *path)
        case Array(element):
            yield from _paths_inside(element, (*above, "element"))
        case Map(_, value):
            yield from _paths_inside(value, (*above, "value"))


#: Of a table that has given no id yet.
FIRST_IDS = ColumnIds()
#: Of a table with its producer's files that has no column yet.
PRODUCERS_NAMES = ColumnIds(names=frozenset())


class _IdAssignment:
    def __init__(self, last: int, seed: str) -> None:
        self._last, self._seed = last, seed

    def fields(self, fields: Iterable[Field], above: tuple[str, ...]) -> tuple[Field, ...]:
        return tuple(self._field(field, (*above, field.name)) for field in fields)

    def _field(self, field: Field, path: tuple[str, ...]) -> Field:
        if field.id is None:
            self._last += 1
            field = replace(field, id=self._last, physical=self._physical_name(path))
        return replace(field, type=self._assign_inside(field.type, path))

    def _physical_name(self, path: tuple[str, ...]) -> str:
        return f"col-{uuid5(NAMESPACE_OID, json.dumps([self._seed, *path]))}" if self._seed else path[-1]

    def _assign_inside(self, kind: Type, path: tuple[str, ...]) -> Type:
        match kind:
            case Struct(fields):
                return Struct(self.fields(fields, path))
            case Array(element):
                return Array(self._assign_inside(element, (*path, "element")))
            case Map(key, value):
                return Map(self._assign_inside(key, (*path, "key")), self._assign_inside(value, (*path, "value")))
            case _:
                return kind
