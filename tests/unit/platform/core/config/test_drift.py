"""What lake.yaml states differently from a table's birth is reported, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.config.drift import drift
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_types import Decimal, Field, Simple
from tidegate.platform.core.schema.table_schema import TableSchema

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
    found = drift(spec, True, BEGAN)
    assert len(found) == len(parts)
    for line, part in zip(found, parts, strict=True):
        assert part in line
        assert "`tidegate reset orders` starts the table over" in line


def test_a_discovered_table_or_one_without_columns_has_none() -> None:
    assert drift(None, True, BEGAN) == []
    spec = TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", "columns": {"id": "string"}})
    assert drift(spec, True, None) == []
