"""What `tidegate sql` prints: a table for people, and JSON for programs."""

from __future__ import annotations

import io
import json
from datetime import datetime
from time import tzset

import pytest
from pyspark.sql import Row
from pyspark.sql import types as T
from rich.console import Console

from tidegate.platform.cli.commands.sql import Result, show_result, sql_answer
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
