"""No column ever gets the identity of another one, whatever is dropped, renamed and added again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_ids import COLUMNS, ColumnIds, recorded_names
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, inner_fields
from tidegate.platform.core.schema.table_schema import TableSchema

_NAMES = st.sampled_from(["a", "b", "col-1", "a b"])
_STEPS = st.lists(st.tuples(st.sampled_from(["add", "add inside", "drop", "rename"]), _NAMES, _NAMES), max_size=12)


class Table:
    """A loaded table as Delta keeps it, and which column each name in its files ever was."""

    def __init__(self, *, mapped: bool) -> None:
        self.schema, self.last, self.owner = TableSchema((Field("id", Simple("long")),)), 0, dict[str, int]()
        self.commit(replace(self.schema, ids=ColumnIds(0, "t/0")))
        if mapped:
            self.map()

    def map(self) -> None:
        """Map the columns as ALTER TABLE does: by their own names."""
        if not self.schema.mapped:
            self.schema = TableSchema(ColumnIds().assign_ids(self.schema.fields))
            self.note()

    def note(self) -> None:
        for field in self.schema.fields:
            inner = field.type.fields if isinstance(field.type, Struct) else ()
            for column, path in ((field, str(field.physical)), *((x, f"{field.physical}.{x.physical}") for x in inner)):
                if column.id is not None:
                    assert self.owner.setdefault(path, column.id) == column.id, f"{path} is two columns"
                    self.last = max(self.last, column.id)
        ids = list(self.owner.values())
        assert len(set(ids)) == len(ids), "an id is two columns"

    def commit(self, wanted: TableSchema) -> None:
        self.schema = wanted.to_delta()[0]
        self.note()

    def step(self, kind: str, name: str, other: str) -> None:
        present = replace(self.schema, ids=ColumnIds(self.last, f"t/{self.last}"))
        fields = {field.name: field for field in self.schema.fields}
        if kind == "add":
            self.commit(present.with_missing_fields([Field(name, Simple("long"))]))
        elif kind == "add inside":
            self.commit(present.with_missing_fields([Field("s", Struct((Field(name, Simple("string")),)))]))
        elif name in fields and len(fields) > 1:
            self.map()
            if kind == "drop":
                self.schema = self.schema.without_columns([name])
            elif other not in fields:
                renamed = [replace(f, name=other) if f.name == name else f for f in self.schema.fields]
                self.schema = replace(self.schema, fields=tuple(renamed))


@pytest.mark.parametrize("mapped", [True, False])
@given(steps=_STEPS)
def test_a_name_in_the_files_and_an_id_are_one_column_s_for_ever(
    mapped: bool, steps: list[tuple[str, str, str]]
) -> None:
    table = Table(mapped=mapped)
    for step in steps:
        table.step(*step)


def test_the_same_columns_have_the_same_names_in_whatever_order_they_are_found() -> None:
    """Files are written before the last column of a batch is known."""
    base = TableSchema((Field("id", Simple("long"), 1, "id"),), ids=ColumnIds(7, "t/7"))
    first = base.with_missing_fields([Field("x", Simple("long"))])
    later = first.with_missing_fields([Field("s", Struct((Field("y", Simple("long")),))), Field("z", Simple("long"))])
    assert later.to_delta()[0].fields[:2] == first.to_delta()[0].fields
    assert first.to_delta()[0].fields[1].id == 8
    assert str(first.to_delta()[0].fields[1].physical).startswith("col-")
    # The producer's files have the columns' own names.
    assert replace(first, ids=ColumnIds(7)).to_delta()[0].fields[1].physical == "x"


def test_columns_that_are_gone_leave_gaps() -> None:
    fields = (Field("a", Simple("long"), 1, "a"), Field("s", Struct((Field("x", Simple("long"), 3, "x"),)), 2, "s"))
    assert not ColumnIds(3).has_gaps(fields)
    assert ColumnIds(4).has_gaps(fields)


def _registered(properties: dict[str, str], *fields: Field) -> TableSchema:
    """Return the schema of a table with its producer's files that exists, as a run finds it."""
    return TableSchema(fields, ids=ColumnIds(names=recorded_names(properties)))


@given(steps=_STEPS)
def test_no_name_of_a_producer_s_files_is_ever_two_columns(steps: list[tuple[str, str, str]]) -> None:
    """Its files keep their names for ever, so a name that was a column once is refused, whatever the log says."""
    schema, ever = TableSchema((Field("id", Simple("long")),), ids=ColumnIds(names=frozenset())), {"id"}
    properties = schema.to_delta()[1]
    for kind, name, other in steps:
        present = _registered(properties, *schema.fields)
        assert present.growth == {COLUMNS: properties[COLUMNS]}, "nothing is written for a table without new columns"
        inner = Field("s", Struct((Field(name, Simple("string")),)))
        added = inner if kind == "add inside" else Field(name, Simple("long"))
        if kind in ("add", "add inside"):
            new = {".".join(path) for path, _ in present.missing_fields([added])} | ({f"s.{name}"} - _paths(present))
            new = new if kind == "add inside" else new & {name}
            if new & ever:
                with pytest.raises(Misfit, match="its older files still have it"):
                    present.accept_fields([added], "evolve")
            else:
                schema = present.accept_fields([added], "evolve")
                properties |= schema.to_delta()[1]
                ever |= _paths(schema)
        elif kind == "drop" and len(schema.fields) > 1:
            schema = schema.without_columns([name])
        elif (
            kind == "rename"
            and (s := schema.find_column("s"))
            and isinstance(s.type, Struct)
            and len(s.type.fields) > 1
        ):
            kept = tuple(field for field in s.type.fields if field.name not in (name, other)) or s.type.fields[:1]
            schema = replace(
                schema, fields=tuple(replace(f, type=Struct(kept)) if f.name == "s" else f for f in schema.fields)
            )


def _paths(schema: TableSchema) -> set[str]:
    found = set()
    for field in schema.fields:
        found |= {field.name, *(f"{field.name}.{inner.name}" for inner in inner_fields(field.type))}
    return found


def test_names_in_lists_and_maps_are_recorded_where_new_fields_are_looked_for() -> None:
    inner = Struct((Field("c", Simple("long")),))
    deep = Struct((Field("A", Simple("long")), Field("b", Map(Simple("string"), inner))))
    schema = TableSchema((Field("list", Array(deep)),), ids=ColumnIds(names=frozenset()))
    known = recorded_names(schema.growth)
    assert known == {
        ("list",), ("list", "element", "a"), ("list", "element", "b"), ("list", "element", "b", "value", "c")
    }  # fmt: skip
    rest = Field("list", Array(Struct((Field("b", deep.fields[1].type),))))
    with pytest.raises(Misfit, match=r"column list\.element\.A was dropped"):
        TableSchema((rest,), ids=ColumnIds(names=known)).accept_fields(schema.fields, "evolve")
    # A table of a version that recorded none, and a loaded table, whose names in the files are new ones.
    assert recorded_names({}) is None
    assert TableSchema((rest,)).accept_fields(schema.fields, "evolve").growth == {}
