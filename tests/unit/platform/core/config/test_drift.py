"""What lake.yaml states differently from a table's birth is reported, with what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.drift import drift, other_objects, rescued_column_problem
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_types import Decimal, Field, Simple
from tidegate.platform.core.schema.table_schema import TableSchema

REGISTERED = Birth("generation", "s3a://landing/orders", "orders", registered=True)
LOADED = replace(REGISTERED, registered=False)
BEGAN = TableSchema(
    (Field("Id", Simple("long")), Field("price", Decimal(10, 2)), Field("day", Simple("string"))), ("day",)
)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({}, []),
        ({"mode": "register"}, []),
        ({"format": "parquet"}, []),
        ({"columns": {"id": "bigint", "price": "decimal(10, 2)", "new": "int"}}, []),
        ({"partition_columns": {"day": "string"}}, []),
        ({"mode": "load"}, ["born with mode register, lake.yaml says load"]),
        ({"format": "csv"}, ["born with mode register, lake.yaml says load"]),
        ({"columns": {"id": "string"}}, ["column id of bronze.orders was born as bigint, lake.yaml says string"]),
        (
            {"partition_columns": {"day": "date"}},
            ["column day of bronze.orders was born as string, lake.yaml says date"],
        ),
        ({"partition_columns": {"hour": "int"}}, ["born with partition columns (day), lake.yaml says (hour)"]),
    ],
)
def test_what_has_no_effect_is_reported(given: dict[str, Any], parts: list[str]) -> None:
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", **given})
    found = drift(spec, REGISTERED, BEGAN)
    assert len(found) == len(parts)
    for line, part in zip(found, parts, strict=True):
        assert part in line
        assert "undo the change, or start the table over with `tidegate reset orders`" in line


def test_an_adopted_table_is_not_sent_to_a_reset() -> None:
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", "mode": "load"})
    (line,) = drift(spec, replace(REGISTERED, adopted=True), BEGAN)
    assert "or write the rows of bronze.orders to an empty prefix, which lake.yaml gives to another table" in line


OBJECTS = TableSchema((Field("id", Simple("long")), Field("data", Simple("variant"))))
FIELDS = TableSchema((Field("id", Simple("long")), Field("data", Simple("string"))))


@pytest.mark.parametrize(
    ("given", "began", "part"),
    [
        ({"format": "json", "schema": "variant"}, OBJECTS, None),
        ({"format": "json", "schema": "variant", "columns": {"new": "int"}}, OBJECTS, None),
        ({}, FIELDS, None),
        ({"schema": "strict", "columns": {"Data": "variant"}}, OBJECTS, None),
        ({}, OBJECTS, "born with whole objects in its column data, and its `schema` in lake.yaml is evolve"),
        (
            {"schema": "strict"},
            OBJECTS,
            "born with whole objects in its column data, and its `schema` in lake.yaml is st",
        ),
        (
            {"format": "json", "schema": "variant"},
            FIELDS,
            "born with columns for the fields of its rows, and its `schema` in lake.yaml is variant",
        ),
    ],
)
def test_fields_and_whole_objects_do_not_go_together(
    given: dict[str, Any], began: TableSchema, part: str | None
) -> None:
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", **given})
    found = drift(spec, LOADED, began)
    assert [part in line and "let `tidegate reset orders` start" in line for line in found] == [True] * bool(part), (
        found
    )
    assert other_objects(spec, began) == (found[0] if found else None)


@pytest.mark.parametrize(
    ("policy", "columns", "part"),
    [
        ("rescue", (Field("id", Simple("long")),), None),
        ("rescue", (Field("_rescued_data", Simple("string")),), None),
        ("evolve", (Field("_rescued_data", Simple("long")),), None),
        ("rescue", (Field("_Rescued_Data", Simple("long")),), "column _Rescued_Data of bronze.orders is bigint, and"),
        (
            "rescue",
            (Field("_rescued_data", Simple("string")), Field("day", Simple("string"))),
            "is a column of its fol",
        ),
    ],
)
def test_a_column_of_the_files_is_not_used_for_what_is_rescued(
    policy: str, columns: tuple[Field, ...], part: str | None
) -> None:
    given = {"name": "orders", "prefix": "s3://landing/orders/", "format": "json", "schema": policy}
    spec = TableSpec.model_validate(given)
    began = TableSchema(columns, ("_rescued_data",) if len(columns) == 2 else ())
    found = drift(spec, LOADED, began)
    assert [part in line and "`tidegate reset orders`" in line for line in found] == [True] * bool(part), found
    assert rescued_column_problem(spec, began) == (found[0] if found else None)


def test_a_discovered_table_or_one_without_columns_has_none() -> None:
    assert drift(None, REGISTERED, BEGAN) == []
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", "columns": {"id": "string"}})
    assert drift(spec, REGISTERED, None) == []


@pytest.mark.parametrize(
    ("birth", "given", "expected"),
    [
        (LOADED, {"mode": "repartition", "output": {"folder": "s3://out/a/"}}, "born with mode load, and its `mode`"),
        (replace(LOADED, output="repartition"), {"mode": "load"}, "born with mode repartition, and its `mode`"),
        (replace(LOADED, output="repartition"), {"mode": "repartition", "output": {"folder": "s3://out/b/"}}, None),
        (
            replace(LOADED, output="repartition"),
            {"mode": "convert", "output": {"folder": "s3://out/b/"}},
            "its `mode` in lake.yaml is convert: its rows cannot be in objects of two kinds",
        ),
    ],
)
def test_a_table_does_not_become_an_output(birth: Birth, given: dict[str, Any], expected: str | None) -> None:
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", "format": "json", **given})
    found = drift(spec, birth, None)
    assert [expected in line for line in found if expected] == [True] * bool(expected)
    assert len(found) == bool(expected)
