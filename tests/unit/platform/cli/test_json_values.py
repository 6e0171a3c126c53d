"""Values of Spark as JSON: nothing is rounded, and every answer is valid JSON."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from time import tzset
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import types as T

from tidegate.platform.cli.json_values import json_text, json_value

POINT = T.StructType([T.StructField("x", T.DecimalType(38, 10)), T.StructField("y z", T.StringType())])
NOON = datetime(2026, 1, 31, 12, 0, 0, 1)


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
    one = T.VariantVal(bytes([0x0C, 0x2A]), bytes([0x01, 0x00, 0x00]))  # the INT8 42
    assert json_text([one], T.ArrayType(T.VariantType())) == "[42]"
