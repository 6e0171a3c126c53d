"""The types of columns as Hive and Trino write them."""

from __future__ import annotations

import pytest

from tidegate.platform.core.catalog.foreign_types import hive_type, trino_name, trino_type
from tidegate.platform.core.schema.sql_types import parse_sql_type


@pytest.mark.parametrize(
    ("sql", "hive", "trino"),
    [
        ("tinyint", "tinyint", "tinyint"),
        ("smallint", "smallint", "smallint"),
        ("int", "int", "integer"),
        ("bigint", "bigint", "bigint"),
        ("float", "float", "real"),
        ("double", "double", "double"),
        ("boolean", "boolean", "boolean"),
        ("string", "string", "varchar"),
        ("binary", "binary", "varbinary"),
        ("date", "date", "date"),
        ("decimal(38,9)", "decimal(38,9)", "decimal(38,9)"),
        ("timestamp", "timestamp", "timestamp(3) with time zone"),
        ("timestamp_ntz", "timestamp", "timestamp(6)"),
        ("variant", None, "json"),
        ("array<int>", "array<int>", "array(integer)"),
        ("map<string,bigint>", "map<string,bigint>", "map(varchar, bigint)"),
        (
            "array<struct<Lines:array<struct<sku:string,n:int>>,at:timestamp>>",
            "array<struct<lines:array<struct<sku:string,n:int>>,at:timestamp>>",
            'array(row("lines" array(row("sku" varchar, "n" integer)), "at" timestamp(3) with time zone))',
        ),
        ("map<string,array<variant>>", None, "map(varchar, array(json))"),
        ("struct<a:int,v:variant>", None, 'row("a" integer, "v" json)'),
        ("struct<`a b`:int>", None, 'row("a b" integer)'),
    ],
)
def test_each_type_has_the_name_that_the_engines_know_or_none(sql: str, hive: str | None, trino: str) -> None:
    kind = parse_sql_type(sql)
    assert hive_type(kind) == hive
    assert trino_type(kind) == trino


def test_a_name_is_quoted_as_standard_sql_does() -> None:
    assert trino_name('Order "No"') == '"order ""no"""'
