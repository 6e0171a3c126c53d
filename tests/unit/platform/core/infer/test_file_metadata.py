"""What the schema next to a row states of the columns of the row."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.infer.file_metadata import StatedColumn, connect_type, parse_stated_columns

_CONNECT = "org.apache.kafka.connect.data."


@pytest.mark.parametrize(
    ("name", "kind", "parameters", "encoding"),
    [
        ("io.debezium.time.Date", "int32", None, "days"),
        (f"{_CONNECT}Date", "int32", None, "days"),
        ("io.debezium.time.Timestamp", "int64", None, "milliseconds"),
        (f"{_CONNECT}Timestamp", "int64", None, "milliseconds"),
        ("io.debezium.time.MicroTimestamp", "int64", None, "microseconds"),
        ("io.debezium.time.NanoTimestamp", "int64", None, "nanoseconds"),
        (f"{_CONNECT}Decimal", "bytes", {"scale": "2", "connect.decimal.precision": "10"}, "decimal(10, 2)"),
        (f"{_CONNECT}Decimal", "bytes", {"scale": "2"}, "decimal(38, 2)"),
        (f"{_CONNECT}Decimal", "bytes", {"scale": "2", "connect.decimal.precision": "65"}, None),
        ("", "bytes", None, "base64"),
        ("io.debezium.data.Bits", "bytes", {"length": "10"}, "base64"),
        ("io.debezium.data.VariableScaleDecimal", "struct", None, "decimal(38, 18)"),
        ("io.debezium.time.Time", "int32", None, "time_milliseconds"),
        (f"{_CONNECT}Time", "int32", None, "time_milliseconds"),
        ("io.debezium.time.MicroTime", "int64", None, "time_microseconds"),
        ("io.debezium.time.NanoTime", "int64", None, "time_nanoseconds"),
        # A text of a time has no encoding.
        ("io.debezium.time.ZonedTimestamp", "string", None, None),
        ("io.debezium.time.ZonedTime", "string", None, None),
        ("", "int32", None, None),
    ],
)
def test_each_type_of_connect_and_debezium_has_its_encoding(
    name: str, kind: str, parameters: Any, encoding: str | None
) -> None:
    assert connect_type(name, kind, parameters)[1] == encoding


def _schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


ID: dict[str, Any] = {"type": "int32", "optional": False, "field": "id", "doc": "number\n of the customer "}
BORN: dict[str, Any] = {"type": "int32", "name": "io.debezium.time.Date", "field": "born"}


def test_an_envelope_states_the_columns_of_its_row() -> None:
    """`before` and `after` have one schema. Flattened rows have no envelope."""
    expected = {
        "id": StatedColumn(text="number of the customer"),
        "born": StatedColumn("io.debezium.time.Date", "days"),
    }
    op = {"type": "string", "field": "op"}
    envelope = _schema({**_schema(ID), "field": "before"}, {**_schema(ID, BORN), "field": "after"}, op)
    assert parse_stated_columns(envelope) == expected
    assert parse_stated_columns(_schema(ID, BORN)) == expected
    only_before = _schema({**_schema(ID), "field": "before"}, {"type": "string", "field": "after"}, op)
    assert parse_stated_columns(only_before) == {"id": expected["id"]}


@pytest.mark.parametrize("schema", [None, "text", {"fields": 1}, {"fields": [1, {"field": 2}, {"name": "x"}]}, [], {}])
def test_another_schema_states_nothing(schema: Any) -> None:
    assert parse_stated_columns(schema) == {}
