"""Which files fit a table, and the schema a table is born with."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tidegate.platform.core.footers import FooterField
from tidegate.platform.core.schema import Misfit, birth_schema, check_fit, check_partition, json_type, struct

ARRAY = {"type": "array", "elementType": "long", "containsNull": True}


def columns(*pairs: tuple[str, Any]) -> list[FooterField]:
    return [FooterField(name, kind) for name, kind in pairs]


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [("int", "integer"), (" BIGINT ", "long"), ("decimal(10, 2)", "decimal(10,2)"), ("timestamp_ntz", "timestamp_ntz")],
)
def test_sql_types_have_schema_names(ddl: str, expected: str) -> None:
    assert json_type(ddl) == expected


@pytest.mark.parametrize("ddl", ["", "array<int>", "varchar(3)", "decimal", "nope"])
def test_other_types_are_refused_with_what_is_known(ddl: str) -> None:
    with pytest.raises(ValueError, match=r"not a simple SQL type; known are bigint, .* and decimal\(p,s\)"):
        json_type(ddl)


def test_a_table_is_born_with_the_columns_of_all_its_files() -> None:
    born = birth_schema(
        [columns(("a", "integer"), ("b", "string")), columns(("A", "long"), ("c", ARRAY), ("b", "double"))],
        {"day": "int"},
        {"c2": "string"},
    )
    assert [(field["name"], field["type"]) for field in born["fields"]] == [
        ("a", "long"),
        ("b", "string"),
        ("c", ARRAY),
        ("day", "integer"),
    ]
    assert all(field["nullable"] for field in born["fields"])


def test_declared_types_win_over_what_files_say() -> None:
    born = birth_schema([columns(("Temp", "integer")), columns(("temp", "long"))], {}, {"temp": "double"})
    assert [(field["name"], field["type"]) for field in born["fields"]] == [("Temp", "double")]


SCHEMA = struct([("a", "long"), ("b", "double"), ("list", ARRAY), ("day", "integer")])


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("a", "long")],
        [("A", "long"), ("B", "double")],
        [("a", "byte")],
        [("a", "integer"), ("b", "float")],
        [("b", "integer")],
        [("list", {**ARRAY, "containsNull": False})],
    ],
)
def test_files_that_fit(fields: list[tuple[str, Any]]) -> None:
    check_fit(columns(*fields), ["day"], SCHEMA)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([("x", "long")], "column x is not in the table; schema evolution is not enabled"),
        ([("a", "string")], "column a is string, but the table's is long"),
        ([("a", "double")], "column a is double, but the table's is long"),
        ([("b", "long")], "column b is long, but the table's is double"),  # a double holds no 64 bits
        ([("a", ARRAY)], "column a is array, but the table's is long"),
        ([("list", {**ARRAY, "elementType": "integer"})], "column list is array, but the table's is array"),
        ([("day", "integer")], "column day is in the file and in its path; a partition column must not be in both"),
    ],
)
def test_files_that_do_not_fit(fields: list[tuple[str, Any]], reason: str) -> None:
    with pytest.raises(Misfit) as refused:
        check_fit(columns(*fields), ["day"], SCHEMA)
    assert str(refused.value) == reason


def nested(*pairs: tuple[str, Any]) -> dict[str, Any]:
    return struct(list(pairs))


def test_structs_fit_field_by_field() -> None:
    table = struct([("s", nested(("x", "long"), ("y", "string")))])
    check_fit(columns(("s", nested(("X", "long"), ("y", "string")))), [], table)
    for other in (
        nested(("y", "string"), ("x", "long")),
        nested(("x", "long")),
        nested(("x", "integer"), ("y", "string")),
    ):
        with pytest.raises(Misfit, match="column s is struct"):
            check_fit(columns(("s", other)), [], table)


def test_maps_fit_by_key_and_value() -> None:
    def a_map(value: str) -> dict[str, Any]:
        return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}

    check_fit(columns(("m", a_map("long"))), [], struct([("m", a_map("long"))]))
    with pytest.raises(Misfit):
        check_fit(columns(("m", a_map("integer"))), [], struct([("m", a_map("long"))]))


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", ["1", "-2147483648", "+7", "007"], ["", "x", "1.0", "2147483648", "1 "]),
        ("byte", ["127"], ["128"]),
        ("long", ["9223372036854775807"], ["9223372036854775808"]),
        ("double", ["1", "1.5", "-1e9"], ["", "one", "1,5"]),
        ("boolean", ["true", "FALSE"], ["1", "yes"]),
        # Python's own reader takes the compact and the week's spelling too, Spark does not.
        ("date", ["2013-01-31"], ["2013-02-30", "yesterday", "20130131", "2013-W05-4"]),
        ("timestamp", ["2013-01-31 10:00:00", "2013-01-31T10:00:00Z"], ["10 o'clock", "20130131T100000"]),
        ("decimal(5,2)", ["1", "-999.99", "0001.5"], ["", "x", "1000", "1e2", "."]),
        ("string", ["", "anything"], []),
    ],
)
def test_partition_values_must_be_of_their_type(kind: str, good: list[str], bad: list[str]) -> None:
    for value in good:
        assert check_partition({"P": value}, {"p": kind}) == {"p": value}
    for value in bad:
        with pytest.raises(Misfit, match=re.escape(f"is not a {kind}")):
            check_partition({"p": value}, {"p": kind})
    assert check_partition({"p": None}, {"p": kind}) == {"p": None}


@pytest.mark.parametrize(
    ("values", "table"), [({}, {"p": "string"}), ({"p": "1"}, {}), ({"p": "1", "q": "2"}, {"p": "string"})]
)
def test_a_path_must_have_the_table_s_partition_columns(values: dict[str, str | None], table: dict[str, str]) -> None:
    with pytest.raises(Misfit, match="its path has the partition columns"):
        check_partition(values, table)
