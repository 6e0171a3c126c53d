"""What a first file cannot say: parts of columns without a type wait, at every depth and in every format."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.errors import BadParquet, BadValue
from tidegate.platform.core.files.parquet.footer import Footer, read_footer
from tidegate.platform.core.files.parquet.parquet_copy import write_copy
from tidegate.platform.core.infer.avro_schema import AvroSchema
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, Type, inner_fields
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.untyped_parts import UNTYPED, typed_fields, typed_part

LONG, TEXT = Simple("long"), Simple("string")


def _kinds(*, maps: bool, empty: bool = True) -> st.SearchStrategy[Type]:
    return st.recursive(
        st.sampled_from([UNTYPED, UNTYPED, LONG, TEXT]),
        lambda inner: st.one_of(
            inner.map(Array),
            st.dictionaries(st.sampled_from("abc"), inner, min_size=0 if empty else 1).map(
                lambda fields: Struct(tuple(Field(name, fields[name]) for name in sorted(fields)))
            ),
            *([inner.map(lambda value: Map(TEXT, value))] if maps else []),
        ),
        max_leaves=8,
    )


KINDS, WITHOUT_MAPS = _kinds(maps=True), _kinds(maps=False)
#: Parquet has no struct without fields.
IN_PARQUET = _kinds(maps=True, empty=False)


def _said(kind: Type) -> Type:
    """Return a type as a later file says it."""
    match kind:
        case Array(element):
            return Array(_said(element))
        case Map(key, value):
            return Map(key, _said(value))
        case Struct(fields):
            said = tuple(replace(field, type=_said(field.type)) for field in fields)
            return Struct(said or (Field("said", LONG),))
    return LONG if kind == UNTYPED else kind


def _has_untyped(kind: Type) -> bool:
    match kind:
        case Array(element):
            return _has_untyped(element)
        case Map(key, value):
            return _has_untyped(key) or _has_untyped(value)
        case Struct(fields):
            return not fields or any(_has_untyped(field.type) for field in fields)
    return kind == UNTYPED


@given(KINDS)
def test_nothing_without_a_type_is_left_and_nothing_with_one_is_left_out(kind: Type) -> None:
    (*typed,) = typed_fields([Field("x", kind)])
    assert not any(_has_untyped(field.type) for field in typed)
    assert typed_fields(typed) == tuple(typed)
    said = _said(kind)
    assert typed_part(said) == said
    if not typed:
        assert not any(isinstance(field.type, Map) or field.type in (LONG, TEXT) for field in inner_fields(kind))


@given(WITHOUT_MAPS)
def test_what_waits_joins_with_the_file_that_says_it_and_no_order_of_files_is_refused(kind: Type) -> None:
    table = TableSchema.from_declared({"id": "bigint"}, {})
    files = [typed_fields([Field("x", kind)]), typed_fields([Field("x", _said(kind))])]
    for born in (False, True):
        for order in itertools.permutations(files):
            schema = table
            for fields in order:
                schema = replace(schema.accept_fields(fields, "evolve"), born=born)
            found = schema.find_column("x")
            assert found is not None
            assert _unordered(found.type) == _unordered(_said(kind))


def _unordered(kind: Type) -> Any:
    match kind:
        case Array(element):
            return [_unordered(element)]
        case Struct(fields):
            return {field.name: _unordered(field.type) for field in fields}
    return kind


def _arrow(kind: Type) -> pa.DataType:
    match kind:
        case Array(element):
            return pa.list_(_arrow(element))
        case Map(key, value):
            return pa.map_(_arrow(key), _arrow(value))
        case Struct(fields):
            return pa.struct([pa.field(field.name, _arrow(field.type)) for field in fields])
    return {UNTYPED: pa.null(), LONG: pa.int64(), TEXT: pa.string()}[kind]


def _value(kind: Type) -> Any:
    match kind:
        case Array(element):
            return [_value(element), None]
        case Map(_, value):
            return [("k", _value(value))]
        case Struct(fields):
            return {field.name: _value(field.type) for field in fields}
    return {UNTYPED: None, LONG: 7, TEXT: ""}[kind]


def _typed_value(kind: Type, value: Any) -> Any:
    """Return what of a value has a type."""
    match kind:
        case Array(element):
            return value and [_typed_value(element, item) for item in value]
        case Map(_, inner):
            return value and [(key, _typed_value(inner, item)) for key, item in value]
        case Struct(fields):
            return value and {field.name: _typed_value(field.type, value[field.name]) for field in fields}
    return value


def _footer(body: bytes) -> Footer:
    return read_footer(body, len(body))


@given(IN_PARQUET)
def test_parquet_and_its_copy_have_the_columns_that_have_a_type(tmp_path_factory: Any, kind: Type) -> None:
    folder: Path = tmp_path_factory.mktemp("untyped")
    rows = [_value(kind), None, _value(kind)]
    table = pa.table({"id": [1, 2, 3], "x": pa.array(rows, _arrow(kind))})
    pq.write_table(table, folder / "source.parquet")
    footer = _footer((folder / "source.parquet").read_bytes())
    typed = typed_fields([Field("id", LONG), Field("x", kind)])
    assert footer.fields == typed
    assert bool(footer.copied) == _has_untyped(kind)
    write_copy(folder / "source.parquet", folder / "target.parquet", {})
    copy = _footer((folder / "target.parquet").read_bytes())
    assert (copy.copied, copy.fields, copy.rows) == (None, typed, 3)
    part = typed_part(kind)
    found = pq.read_table(folder / "target.parquet").to_pylist()
    assert found == [
        {"id": number, **({"x": _typed_value(part, row)} if part else {})} for number, row in enumerate(rows, 1)
    ]


@given(KINDS)
def test_avro_has_the_columns_that_have_a_type(kind: Type) -> None:
    names = map("r{}".format, itertools.count())

    def schema(kind: Type) -> Any:
        match kind:
            case Array(element):
                return ["null", {"type": "array", "items": schema(element)}]
            case Map(_, value):
                return {"type": "map", "values": schema(value)}
            case Struct(fields):
                inner = [{"name": field.name, "type": schema(field.type)} for field in fields]
                return {"type": "record", "name": next(names), "fields": inner}
        return {UNTYPED: "null", LONG: ["null", "long"], TEXT: "string"}[kind]

    row = {"type": "record", "name": "row", "fields": [{"name": "x", "type": schema(kind)}]}
    assert tuple(AvroSchema(row).columns()) == typed_fields([Field("x", kind)])


def test_the_choice_of_a_list_of_nothing_is_kept() -> None:
    nothing = {"type": "record", "name": "r", "fields": []}
    union = ["int", {"type": "array", "items": nothing}]
    row = {"type": "record", "name": "row", "fields": [{"name": "x", "type": union}]}
    kinds = (Field("member_int", Simple("integer")), Field("member_array", Array(TEXT)))
    assert AvroSchema(row).columns() == [Field("x", Struct(kinds))]


def test_what_cannot_wait_is_refused_by_name() -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"x": pa.array([[], None], pa.list_(pa.null()))}), buffer)
    with pytest.raises(BadParquet, match="no column of it has a type, because all values are null; write its columns"):
        _footer(buffer.getvalue())
    gone = {"type": "record", "name": "gone", "fields": []}
    row = {"type": "record", "name": "row", "fields": [{"name": "x", "type": ["int", gone]}]}
    with pytest.raises(BadValue, match=r"column x.member_gone is a record without fields, .* write it with a field"):
        AvroSchema(row).columns()
    row["fields"] = [{"name": "x", "type": gone}]  # alone it says nothing
    assert AvroSchema(row).columns() == []
