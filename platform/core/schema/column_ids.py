"""The identity of columns in a table that maps its columns: an id, and a name in the data files.

A name is no identity. After a column was dropped or renamed, older files still have it, and a new column of that name
would show their values. So a new column gets what no column of the table has ever had. Only files of a producer name
their columns themselves: there the name in the files is the column's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import NAMESPACE_OID, uuid5

from tidegate.platform.core.schema.column_types import Array, Field, Map, Struct, Type, inner_fields

#: Delta's property with the last id that a table has given.
LAST_ID = "delta.columnMapping.maxColumnId"


@dataclass(frozen=True)
class ColumnIds:
    """What a table gives to new columns.

    Attributes:
        last: the last id that the table has given.
        seed: a text that no other state of columns has. Names in the data files are made from it. Empty if the files
            have the columns' own names: of producers, and of a table that has no data file yet.
    """

    last: int = 0
    seed: str = ""

    def given(self, fields: Iterable[Field]) -> tuple[Field, ...]:
        """Returns the fields, with an id and a name in the data files for each that has none, at every depth."""
        fields = tuple(fields)
        present = (inner.id or 0 for field in fields for inner in (field, *inner_fields(field.type)))
        return _Giving(max(self.last, *present, 0), self.seed).fields(fields, ())

    def has_gaps(self, fields: Iterable[Field]) -> bool:
        """Whether the table has given ids to more columns than it has: some were dropped."""
        return self.last > sum(1 for field in fields for _ in (field, *inner_fields(field.type)))


#: Of a table that has given no id yet.
FIRST_IDS = ColumnIds()


class _Giving:
    def __init__(self, last: int, seed: str) -> None:
        self._last, self._seed = last, seed

    def fields(self, fields: Iterable[Field], above: tuple[str, ...]) -> tuple[Field, ...]:
        return tuple(self._field(field, (*above, field.name)) for field in fields)

    def _field(self, field: Field, path: tuple[str, ...]) -> Field:
        if field.id is None:
            self._last += 1
            field = replace(field, id=self._last, physical=self._physical(path))
        return replace(field, type=self._inside(field.type, path))

    def _physical(self, path: tuple[str, ...]) -> str:
        return f"col-{uuid5(NAMESPACE_OID, json.dumps([self._seed, *path]))}" if self._seed else path[-1]

    def _inside(self, kind: Type, path: tuple[str, ...]) -> Type:
        match kind:
            case Struct(fields):
                return Struct(self.fields(fields, path))
            case Array(element):
                return Array(self._inside(element, (*path, "element")))
            case Map(key, value):
                return Map(self._inside(key, (*path, "key")), self._inside(value, (*path, "value")))
            case _:
                return kind
