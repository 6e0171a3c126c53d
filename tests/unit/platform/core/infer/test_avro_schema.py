"""The columns of Avro files by the schema in their headers, and what it states of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tidegate.platform.core.infer.avro_schema import AvroSchema, read_stated_columns, schema_of_file
from tidegate.platform.core.infer.file_metadata import StatedColumn
from tidegate.platform.core.schema.names import MAX_FIELDS

_CONNECT = "org.apache.kafka.connect.data."


def _optional(kind: Any, **more: Any) -> list[Any]:
    return ["null", {"type": kind, **more}]


def _record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


def _file(schema: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(schema), [])
    return buffer.getvalue()


ROW = _record(
    "Value",
    ("id", {"type": "int", "connect.doc": "number of the customer"}),
    ("credit", _optional("bytes", logicalType="decimal", precision=20, scale=2, **{
        "connect.name": f"{_CONNECT}Decimal",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "20"}})),
    ("born", _optional("int", **{"connect.name": "io.debezium.time.Date"})),
    ("day", _optional("int", logicalType="date")),
    ("seen", _optional("long", logicalType="timestamp-micros")),
    ("local", _optional("long", logicalType="local-timestamp-millis")),
    ("at", _optional("long", logicalType="time-micros")),
    ("uuid", {"type": "string", "logicalType": "uuid"}),
    ("odd", {"type": "string", "logicalType": "date"}),
    ("kind", _optional("enum", name="Kind", symbols=["A"])),
    ("kinds", {"type": "array", "items": "Kind"}),
    ("counts", {"type": "map", "values": ["null", "long"]}),
    ("nothing", "null"),
    ("number", ["int", "long"]),
    ("either", ["null", "int", "string"]),
    ("raw", {"type": "fixed", "name": "Raw", "size": 4}),
)  # fmt: skip


def test_columns_are_those_that_bronze_gets() -> None:
    columns = {field.name: field.type.sql() for field in schema_of_file(_file(ROW)).columns()}
    assert columns == {
        "id": "int", "credit": "decimal(20,2)", "born": "int", "day": "date", "seen": "timestamp",
        "local": "timestamp_ntz", "at": "string", "uuid": "string", "odd": "string", "kind": "string",
        "kinds": "array<string>", "counts": "map<string,bigint>", "number": "bigint",
        "either": "struct<`member_int`:int,`member_string`:string>", "raw": "binary",
    }  # fmt: skip


def test_an_envelope_states_the_columns_of_its_row_wherever_a_type_is_named() -> None:
    envelope = _record("Envelope", ("before", ["null", ROW]), ("after", ["null", "Value"]), ("op", "string"))
    envelope["namespace"] = "shop.customers"
    schema = schema_of_file(_file(envelope))
    assert [field.name for field in schema.columns()] == ["before", "after", "op"]
    stated = schema.stated_columns()
    assert stated["id"] == StatedColumn(text="number of the customer")
    assert stated["born"] == StatedColumn("io.debezium.time.Date", "days")
    assert stated["credit"].encoding == "decimal(20, 2)"
    assert stated["seen"] == StatedColumn(), "the file has times as such"
    text = json.dumps(envelope).encode()
    assert read_stated_columns({b"parquet.avro.schema": text}) == stated
    assert read_stated_columns({b"avro.schema": text}) == stated
    assert read_stated_columns({b"parquet.avro.schema": b"{"}) == read_stated_columns({}) == {}


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (b"PAR1", "it does not begin as an Avro file"),
        (b"Obj\x01", "no schema is in its header"),
        (_file(ROW)[:80], "no schema is in its header"),
        (b"Obj\x01\x02\x16avro.schema\x02{\x00", "no schema is in its header"),
    ],
)
def test_a_file_without_a_schema_is_a_problem(head: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        schema_of_file(head)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("string", "its rows are not records"),
        (_record("A", ("a", ["null", "A"])), "column a holds the record A within itself"),
        (_record("A", ("x", {"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"})),
         "column x is a duration"),
        (_record("A", ("x", {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2})),
         "column x has decimals of 40 digits"),
        (_record("A", ("x", "Nowhere")), "column x has the type 'Nowhere'"),
    ],
)  # fmt: skip
@pytest.mark.limit(
    "Files",
    "Avro files with a record within itself, a `duration`, or decimals of more than 38 digits are refused.",
)
def test_what_no_table_has_is_a_problem(schema: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        AvroSchema(schema).columns()


@pytest.mark.parametrize("levels", [14, 17])
def test_named_types_that_are_used_again_and_again_are_refused_before_their_fields_are_made(levels: int) -> None:
    kind: Any = "long"
    for level in reversed(range(levels)):
        kind = _record(f"r{level}", ("a", kind), ("b", kind if level == levels - 1 else f"r{level + 1}"))
    with pytest.raises(ValueError, match=r"it declares more than 10,000 fields, .* column [ab](\.[ab])* is the next"):
        AvroSchema(kind).columns()


def test_unions_count_as_fields_and_a_schema_may_be_asked_twice() -> None:
    members = ["long", "string", "boolean", "bytes"]
    schema = AvroSchema(_record("r", *((f"f{number}", members) for number in range(2_000))))
    assert len(schema.columns()) == len(schema.columns()) == 2_000
    with pytest.raises(ValueError, match="more than 10,000 fields"):
        AvroSchema(_record("r", *((f"f{number}", members) for number in range(2_001)))).columns()


def test_a_schema_of_thousands_of_levels_is_refused() -> None:
    records = [_record("r0", ("a", "long")), *(_record(f"r{n}", ("a", f"r{n - 1}")) for n in range(1, 3_000))]
    schema = AvroSchema(_record("all", *((f"c{n}", entry) for n, entry in enumerate([records[-1], *records]))))
    with pytest.raises(ValueError, match="nested deeper than 30 levels; write deeper parts as text"):
        schema.columns()


def test_java_has_the_bound_of_python() -> None:
    java = Path(__file__).parents[5] / "platform/jvm/src/main/java/io/tidegate/load/declared/FieldBound.java"
    assert f"MAX_FIELDS = {MAX_FIELDS:_};" in java.read_text()
