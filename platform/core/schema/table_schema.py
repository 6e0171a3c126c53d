"""The schema of a bronze table: whether a file fits it, and the schema after the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as data_field
from typing import Any, Literal

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_ids import FIRST_IDS, ColumnIds
from tidegate.platform.core.schema.column_statistics import statistics_property
from tidegate.platform.core.schema.column_types import (
    MAX_LEVELS,
    Array,
    Field,
    Map,
    Simple,
    Struct,
    Type,
    field_from_json,
    fold_name,
    grows,
    inner_fields,
    levels,
    quote_name,
    strip_ids,
    widens,
)
from tidegate.platform.core.schema.names import VARIANT_COLUMN, check_names, check_new_name, check_number, needs_mapping
from tidegate.platform.core.schema.sql_types import parse_sql_type, simple_type
from tidegate.platform.core.schema.type_union import add_missing_fields

#: Effect of a file's new columns: `evolve` adds them, `strict` refuses the file. A file of `variant` brings none: each
#: JSON object is one value of the column `data`. Nor does a file of `rescue`: what no column takes is in
#: `_rescued_data`.
Policy = Literal["evolve", "strict", "variant", "rescue"]

#: The type of values without a common type.
VARIANT = Simple("variant")

#: Delta's property of a table that maps its columns by name.
BY_NAME = {"delta.columnMapping.mode": "name"}

#: Delta's property of a table whose columns may have become wider than in its older files.
WIDENED = {"delta.enableTypeWidening": "true"}


@dataclass(frozen=True)
class TableSchema:
    """A table's columns.

    Attributes:
        fields: all columns, columns of the path last.
        partitions: names of the columns whose values come from the path, as `fields` spells them.
        fixed: lower-case names of columns whose type is configured.
        born: whether the table exists. Before, a wider type of a later file of the first batch is accepted.
        grows: whether a wider type is accepted afterwards, too (`widen` in lake.yaml).
        widened: whether the schema has a wider type than the table that exists.
        unmeasured: lower-case names, or paths of nested fields, of columns of which Delta keeps no statistics.
        stale: whether the table that exists lacks a property that it should have.
        ids: the identity of new columns, if the table maps its columns.
        reserved: folded names that no new column can have, because later tables have them for their own columns.
        version: Delta version of the table from which the schema was made; -1 without one.
    """

    fields: tuple[Field, ...] = ()
    partitions: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    born: bool = True
    grows: bool = False
    widened: bool = False
    unmeasured: frozenset[str] = frozenset()
    stale: bool = False
    ids: ColumnIds = FIRST_IDS
    reserved: frozenset[str] = frozenset()
    version: int = data_field(default=-1, compare=False)

    @classmethod
    def from_spark(cls, body: Mapping[str, Any], partitions: Sequence[str]) -> TableSchema:
        """Return the schema of a table that exists, from Spark's schema JSON."""
        return cls(tuple(field_from_json(field) for field in body.get("fields", ())), tuple(partitions))

    @classmethod
    def from_declared(cls, declared: Mapping[str, str], partitions: Mapping[str, str]) -> TableSchema:
        """Return the schema of a table before its first file.

        Args:
            declared: SQL types of the columns that the configuration names.
            partitions: SQL types of the columns whose values come from the path.

        Raises:
            ValueError: not a type of Spark SQL.
        """
        columns = [Field(name, parse_sql_type(kind)) for name, kind in declared.items()]
        paths = [Field(name, simple_type(kind)) for name, kind in partitions.items()]
        fixed = frozenset(fold_name(field.name) for field in columns)
        return cls((*columns, *paths), tuple(partitions), fixed, born=False)

    @property
    def columns(self) -> tuple[Field, ...]:
        """The columns that files hold."""
        return tuple(field for field in self.fields if field.name not in self.partitions)

    @property
    def partition_fields(self) -> tuple[Field, ...]:
        """The columns whose values come from the path."""
        return tuple(field for field in self.fields if field.name in self.partitions)

    @property
    def spelling(self) -> dict[str, str]:
        """The table's spelling of the columns that files hold, by lower-case name."""
        return {fold_name(field.name): field.name for field in self.columns}

    @property
    def mapped(self) -> bool:
        """Whether the table maps its columns."""
        return any(inner.id is not None for inner in self._walk_fields())

    @property
    def holds_objects(self) -> bool:
        """Whether the table has whole JSON objects in its column `data`, as `schema: variant` makes it."""
        data = self.find_column(VARIANT_COLUMN)
        return data is not None and data.type == VARIANT

    def missing_fields(self, fields: Iterable[Field]) -> Iterator[tuple[tuple[str, ...], Type]]:
        """Yield the fields, nested ones too, that the schema lacks: path and type, in the form of ADD COLUMNS."""
        yield from _missing_fields(self.fields, fields, ())

    def type_changes(self, fields: Iterable[Field]) -> Iterator[tuple[str, Type, Type]]:
        """Yield the fields, nested ones too, that the schema has with another type: name, its type, type
        of the field.
        """
        yield from _type_changes(self.fields, fields, "")

    def find_column(self, name: str) -> Field | None:
        """Return a column by its name; case does not count."""
        return next((field for field in self.fields if fold_name(field.name) == fold_name(name)), None)

    def accept_fields(self, fields: Iterable[Field], policy: Policy, *, reserved: Collection[str] = ()) -> TableSchema:
        """Return the schema after a file with these columns is in the table. Returns `self` if the file adds nothing.

        A column of the path that is also in the file is ignored here: the reader checks whether their values agree.

        Args:
            fields: the file's columns.
            policy: whether columns that the table does not have are added.
            reserved: lower-case names of the columns that Tidegate adds to this table.

        Raises:
            Misfit: the file does not fit.
        """
        fields = tuple(fields)
        check_names(fields, reserved=reserved)
        for field in fields:
            if levels(field.type) > MAX_LEVELS:
                raise Misfit(
                    f"column {field.name} is nested deeper than {MAX_LEVELS} levels, which Spark cannot read; "
                    "write deeper parts as text"
                )
        self.ids.require_new(path for path, _ in self.missing_fields(fields))
        from_path = {fold_name(name) for name in self.partitions}
        columns = {fold_name(field.name): field for field in self.columns}
        for field in fields:
            name = fold_name(field.name)
            if name in from_path:
                continue
            known = columns.get(name)
            if known is None:
                check_new_name(field.name, self.reserved)
                if policy == "strict" and self.born:
                    raise Misfit(f"column {field.name} is not in the table, and its `schema` in lake.yaml is strict")
                columns[name] = Field(field.name, strip_ids(field.type))
            else:
                _require_spelling(known.name, field.name, "")
                kind = self._merge_types(known.type, field.type, field.name, policy, fixed=name in self.fixed)
                columns[name] = replace(known, type=kind)
        found = (*columns.values(), *self.partition_fields)
        widened = self.widened or (self.born and any(self.type_changes(found)))
        if found == self.fields:
            return self
        check_number(fields)
        return replace(self, fields=found, widened=widened)

    def with_missing_fields(self, fields: Iterable[Field]) -> TableSchema:
        """Return the schema with the missing fields added, nested ones too. Fields that it has keep their type.

        Args:
            fields: each name once.
        """
        columns = {fold_name(field.name): field for field in self.columns}
        for field in fields:
            name = fold_name(field.name)
            known = columns.get(name)
            if known is None:
                columns[name] = Field(field.name, strip_ids(field.type))
            else:
                columns[name] = replace(
                    known, type=add_missing_fields(known.type, field.type, fixed=name in self.fixed)
                )
        found = (*columns.values(), *self.partition_fields)
        return self if found == self.fields else replace(self, fields=found)

    def with_field_types(self, fields: Iterable[Field]) -> TableSchema:
        """Return the schema with the types of these fields, at every depth. Fields that it lacks are left out.

        Each type must be one that the column can become.
        """
        wider = _with_types(self.fields, fields)
        return self if wider == self.fields else replace(self, fields=wider, widened=True)

    def without_columns(self, names: Collection[str]) -> TableSchema:
        """Return the schema without some columns."""
        return replace(self, fields=tuple(field for field in self.fields if field.name not in names))

    def with_leading_fields(self, fields: Iterable[Field]) -> TableSchema:
        """Return the schema with more columns before the columns of files: Delta keeps bounds only of the first
        columns.
        """
        return replace(self, fields=(*fields, *self.columns, *self.partition_fields))

    def to_delta(self) -> tuple[TableSchema, dict[str, str]]:
        """Return the schema of the table that has these columns, in the form that Delta accepts, and the properties it
        needs.

        What only a preparation knows is left out: which types are configured, and that the table does not exist yet.

        A table maps its columns, by name, if and only if some name needs it. The name in the data files is then the
        column's own, so that the producer's files can be registered as they are; of later columns see `ColumnIds`.
        """
        if not self.mapped and not needs_mapping(self.fields):
            return TableSchema(self.fields, self.partitions), self.growth
        # No column of a table that maps none has ever been dropped or renamed, so all names are still free.
        ids = self.ids if self.mapped else replace(self.ids, seed="")
        return TableSchema(ids.assign_ids(self.fields), self.partitions), BY_NAME | self.growth

    @property
    def growth(self) -> dict[str, str]:
        """The properties that the table needs: for wider types, unmeasured columns and names of a producer's files."""
        statistics = statistics_property(self.fields, self.unmeasured, self.partitions)
        return (WIDENED if self.widened else {}) | statistics | self.ids.to_properties(self.fields)

    def to_spark(self) -> dict[str, Any]:
        """Return Spark's schema JSON, parsed."""
        return {"type": "struct", "fields": [field.json() for field in self.fields]}

    def sql(self) -> str:
        """Return the columns that files hold as a column list of SQL."""
        return columns_sql(self.columns)

    def _walk_fields(self) -> Iterable[Field]:
        return (inner for field in self.fields for inner in (field, *inner_fields(field.type)))

    def _merge_types(self, known: Type, given: Type, path: str, policy: Policy, *, fixed: bool) -> Type:
        """Return the column's type after it has accepted the file's type."""
        match known, given:
            case Struct(), Struct():
                return self._merged_struct(known, given, path, policy, fixed=fixed)
            case Array(), Array():
                return Array(self._merge_types(known.element, given.element, f"{path}[]", policy, fixed=fixed))
            case Map(), Map():
                key = self._merge_types(known.key, given.key, f"{path} (key)", "strict", fixed=fixed)
                return Map(key, self._merge_types(known.value, given.value, f"{path}[]", policy, fixed=fixed))
        holds = grows if self.grows else widens
        if known == given or (holds(given, known) and "[]" not in path):
            return known
        if holds(known, given) and (self.grows or not self.born) and not fixed and "[]" not in path:
            return given
        raise Misfit(f"column {path} is {given.sql()}, but the table's is {known.sql()}; {_remedy(known, given)}")

    def _merged_struct(self, known: Struct, given: Struct, path: str, policy: Policy, *, fixed: bool) -> Struct:
        fields = {fold_name(field.name): field for field in known.fields}
        for field in given.fields:
            below, there = f"{path}.{field.name}", fields.get(fold_name(field.name))
            if there is not None:
                _require_spelling(there.name, field.name, f"{path}.")
                kind = self._merge_types(there.type, field.type, below, policy, fixed=fixed)
                fields[fold_name(field.name)] = replace(there, type=kind)
            elif fixed or (policy == "strict" and self.born):
                why = "lake.yaml fixes the column's type" if fixed else "its `schema` in lake.yaml is strict"
                raise Misfit(f"field {below} is not in the table, and {why}")
            else:
                fields[fold_name(field.name)] = Field(field.name, strip_ids(field.type))
        return Struct(tuple(fields.values()))


def _require_spelling(known: str, given: str, above: str) -> None:
    """Refuse a name that is the table's for Spark, and that Spark's readers of files do not find.

    They compare `str.lower`, which is less than `fold_name`.
    """
    if known.lower() != given.lower():
        raise Misfit(
            f"column {above}{given} is {above}{known} in the table: for Spark both are one name, but its readers of "
            f"files find no values under the other spelling; write {known}"
        )


def _remedy(known: Type, given: Type) -> str:
    """Return the remedy for a column whose type differs from the table's."""
    declared = (
        "or, for a type that takes both, say it under `columns` of the table in lake.yaml and start the table over "
        "(tidegate reset)"
    )
    match known, given:
        case Simple("timestamp"), Simple("timestamp_ntz"):
            return (
                "its times have no time zone, as pandas and Polars write them by default: write them with "
                "one (tz_localize, dt.replace_time_zone), or say `timestamp_ntz` under `columns` of the table in "
                "lake.yaml and start the table over (tidegate reset)"
            )
        case Simple("timestamp_ntz"), Simple("timestamp"):
            return f"write its times without a time zone, {declared}"
    if widens(known, given):
        return (
            "a table's columns become wider only with `widen: true` in lake.yaml, and none in an array or a map: write "
            f"{known.sql()}, {declared}"
        )
    return f"write the column as {known.sql()} or under another name, {declared}"


def _missing_fields(
    known: Iterable[Field], wanted: Iterable[Field], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Type]]:
    there = {fold_name(field.name): field for field in known}
    for field in wanted:
        found = there.get(fold_name(field.name))
        if found is None:
            yield (*path, field.name), strip_ids(field.type)
        else:
            yield from _missing_nested_fields(found.type, field.type, (*path, found.name))


def _missing_nested_fields(known: Type, wanted: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Type]]:
    match known, wanted:
        case Struct(fields), Struct(others):
            yield from _missing_fields(fields, others, path)
        case Array(element), Array(other):
            yield from _missing_nested_fields(element, other, (*path, "element"))
        case Map(_, value), Map(_, other):
            yield from _missing_nested_fields(value, other, (*path, "value"))


def _type_changes(known: Iterable[Field], wanted: Iterable[Field], above: str) -> Iterator[tuple[str, Type, Type]]:
    there = {fold_name(field.name): field for field in known}
    for field in wanted:
        if found := there.get(fold_name(field.name)):
            yield from _nested_type_changes(found.type, field.type, f"{above}{found.name}")


def _nested_type_changes(known: Type, wanted: Type, name: str) -> Iterator[tuple[str, Type, Type]]:
    match known, wanted:
        case Struct(fields), Struct(others):
            yield from _type_changes(fields, others, f"{name}.")
        case Array(element), Array(other):
            yield from _nested_type_changes(element, other, f"{name}[]")
        case Map(key, value), Map(other_key, other):
            yield from _nested_type_changes(key, other_key, f"{name} (key)")
            yield from _nested_type_changes(value, other, f"{name}[]")
        case _ if known.sql() != wanted.sql():
            yield name, known, wanted


def _with_types(known: Iterable[Field], wanted: Iterable[Field]) -> tuple[Field, ...]:
    """Return the fields, with the types of the wanted fields of their names."""
    types = {fold_name(field.name): field.type for field in wanted}
    return tuple(
        replace(field, type=_with_nested_types(field.type, types.get(fold_name(field.name), field.type)))
        for field in known
    )


def _with_nested_types(known: Type, wanted: Type) -> Type:
    match known, wanted:
        case Struct(fields), Struct(others):
            return Struct(_with_types(fields, others))
        case Array(element), Array(other):
            return Array(_with_nested_types(element, other))
        case Map(key, value), Map(other_key, other):
            return Map(_with_nested_types(key, other_key), _with_nested_types(value, other))
        case _:
            return wanted


def columns_sql(fields: Iterable[Field]) -> str:
    """Return fields as a column list of SQL."""
    return ", ".join(f"{quote_name(field.name)} {field.type.sql()}" for field in fields)
