"""What `tidegate sql` prints: a table for people, and JSON for programs."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from time import tzset
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import types as T
from rich.console import Console

from tidegate.platform.cli.commands.sql import Result, json_text, json_value, show_result, sql_answer
from tidegate.platform.cli.errors import CommandError

WHO = T.StructType([T.StructField("name", T.StringType()), T.StructField("n", T.IntegerType())])
SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField(
            "who", T.StructType([T.StructField("name", T.StringType()), T.StructField("n", T.IntegerType())])
        ),
        T.StructField("tags", T.ArrayType(T.StringType())),
        T.StructField("text", T.StringType()),
    ]
)
RESULT = Result(SCHEMA, [Row(1, Row("é", None), ["a", None], "[not json]"), Row(2, None, None, None)], 3)

POINT = T.StructType([T.StructField("x", T.DecimalType(38, 10)), T.StructField("y z", T.StringType())])
NOON = datetime(2026, 1, 31, 12, 0, 0, 1)


def test_nested_values_are_shown_as_json_and_texts_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=20, no_color=True)
    show_result(console, RESULT)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    cells = [cell.strip() for cell in said.splitlines()[2].split("│")]
    assert cells == ["1", '{"name": "é", "n": null}', '["a", null]', "[not json]"]
    assert [cell.strip() for cell in said.splitlines()[3].split("│")] == ["2", "null", "null", "null"]
    assert "3 more rows" in said


def test_times_are_shown_as_queries_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = T.StructType([T.StructField("at", T.TimestampType()), T.StructField("local", T.TimestampNTZType())])
    console = Console(file=io.StringIO(), width=80, no_color=True)
    try:
        monkeypatch.setenv("TZ", "Asia/Kolkata")
        tzset()
        # As PySpark returns a TIMESTAMP: in the time zone of the process.
        show_result(console, Result(schema, [Row(datetime(2026, 1, 31, 17, 30), datetime(2026, 1, 31, 17, 30))], 0))
    finally:
        monkeypatch.undo()
        tzset()
    assert isinstance(console.file, io.StringIO)
    cells = [cell.strip() for cell in console.file.getvalue().splitlines()[2].split("│")]
    assert cells == ["2026-01-31 12:00:00", "2026-01-31 17:30:00"]


def test_rows_are_objects_for_programs() -> None:
    assert json.loads(sql_answer(RESULT).model_dump_json()) == {
        "columns": [
            {"name": "id", "type": "bigint"},
            {"name": "who", "type": "struct<name:string,n:int>"},
            {"name": "tags", "type": "array<string>"},
            {"name": "text", "type": "string"},
        ],
        "rows": [
            {"id": 1, "who": {"name": "é", "n": None}, "tags": ["a", None], "text": "[not json]"},
            {"id": 2, "who": None, "tags": None, "text": None},
        ],
        "more": 3,
    }
    assert sql_answer(Result(T.StructType([]), [], 0)).rows == ()


def test_two_columns_of_one_name_are_refused_and_not_lost() -> None:
    twice = T.StructType([T.StructField("v", T.LongType())] * 2)
    with pytest.raises(CommandError, match="two columns have the name v: give one of them another name with AS"):
        sql_answer(Result(twice, [Row(1, 2)], 0))


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        (T.LongType(), 2**63 - 1, 2**63 - 1),
        (T.BooleanType(), True, True),
        (T.StringType(), None, None),
        (T.StringType(), 'é "x"\n', 'é "x"\n'),
        (T.VarcharType(9), "x", "x"),
        (T.DoubleType(), 0.1, 0.1),
        (T.DoubleType(), float("nan"), "NaN"),
        (T.FloatType(), float("-inf"), "-Infinity"),
        (T.DecimalType(38, 10), Decimal("1E+20"), "100000000000000000000"),
        (T.DecimalType(38, 10), Decimal("12345678901234567890.0123456789"), "12345678901234567890.0123456789"),
        (T.TimestampNTZType(), NOON, "2026-01-31T12:00:00.000001"),
        (T.DateType(), date(2026, 1, 31), "2026-01-31"),
        (T.DateType(), "+12026-01-31", "+12026-01-31"),
        (T.TimestampType(), "+294247-01-10 04:00:54.775807", "+294247-01-10T04:00:54.775807Z"),
        (T.TimestampNTZType(), "-0001-01-10 04:00:54", "-0001-01-10T04:00:54"),
        (T.TimeType(6), time(12, 0, 1), "12:00:01"),
        (T.BinaryType(), bytearray(b"\x00\xff"), "AP8="),
        (T.DayTimeIntervalType(), timedelta(days=1, seconds=2), "1 day, 0:00:02"),
        (POINT, Row(x=Decimal("1.0"), y=None), {"x": "1.0", "y z": None}),
        (T.ArrayType(POINT), [Row(x=None, y="a"), None], [{"x": None, "y z": "a"}, None]),
        (T.MapType(T.StringType(), T.LongType()), {"a": 1}, {"a": 1}),
        (T.MapType(T.LongType(), POINT), {7: None}, {"7": None}),
        (T.MapType(POINT, T.LongType()), {Row(x=None, y="a"): 1}, {'{"x": null, "y z": "a"}': 1}),
        (T.VariantType(), '{"a":[1.5,null,{"b":"é"}]}', {"a": [1.5, None, {"b": "é"}]}),
        (
            T.VariantType(),
            '{"n":0.1,"big":1e400,"exact":123456789012345678901234567890.12345678}',
            {"n": 0.1, "big": "1e400", "exact": "123456789012345678901234567890.12345678"},
        ),
    ],
    ids=str,
)
def test_a_value_is_json_without_a_loss(type: T.DataType, value: Any, expected: Any) -> None:
    found = json_value(value, type)
    assert found == expected
    assert found is None or found.__class__ is expected.__class__
    assert json.loads(json_text(value, type), parse_constant=pytest.fail) == expected


def test_a_timestamp_is_in_utc_wherever_the_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        monkeypatch.setenv("TZ", "Asia/Kolkata")
        tzset()
        # As PySpark returns a TIMESTAMP: in the time zone of the process.
        assert json_value(datetime(2026, 1, 31, 17, 30), T.TimestampType()) == "2026-01-31T12:00:00Z"
        # The first day that Python has, as PostgreSQL's -infinity is decoded.
        first = datetime(1, 1, 1) + timedelta(hours=5, minutes=53, seconds=28)
        assert json_value(first, T.TimestampType()) == "0001-01-01T00:00:00Z"
    finally:
        monkeypatch.undo()
        tzset()


def test_a_variant_inside_of_a_value_is_json() -> None:
    variant_val = T.VariantVal(bytes([0x0C, 0x2A]), bytes([0x01, 0x00, 0x00]))  # the INT8 42
    assert json_text([variant_val], T.ArrayType(T.VariantType())) == "[42]"
