"""The columns of which Delta keeps statistics in a table with personal columns."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tidegate.platform.core.schema.column_statistics import (
    STATISTICS,
    is_personal,
    statistics_property,
)
from tidegate.platform.core.schema.column_types import Array, Decimal, Field, Simple, Struct
from tidegate.platform.core.schema.table_schema import WIDENED, TableSchema

TEXT = Simple("string")
FIELDS = (
    Field("id", Simple("long")),
    Field("E Mail", TEXT),
    Field("sum", Decimal(10, 2)),
    Field("flag", Simple("boolean")),
    Field("tags", Array(TEXT)),
    Field("after", Struct((Field("name", TEXT), Field("at", Simple("timestamp"))))),
    Field("_rescued_data", TEXT),
    Field("day", Simple("date")),
)


def test_without_personal_columns_delta_keeps_its_own_choice() -> None:
    assert statistics_property(FIELDS, (), ("day",)) == {}


def test_personal_columns_rescued_data_and_types_that_delta_refuses_are_left_out() -> None:
    wanted = statistics_property(FIELDS, {"e mail", "after.name"}, ("day",))
    assert wanted == {STATISTICS: "`id`,`sum`,`after`.`at`"}


def test_a_personal_struct_has_no_statistics_of_any_field() -> None:
    assert statistics_property(FIELDS[:6], {"after"}) == {STATISTICS: "`id`,`E Mail`,`sum`"}


def test_a_table_of_personal_columns_alone_has_no_statistics() -> None:
    assert statistics_property(FIELDS[1:2], {"e mail"}) == {"delta.dataSkippingNumIndexedCols": "0"}


def test_no_more_columns_have_statistics_than_delta_keeps_by_itself() -> None:
    many = tuple(Field(f"c{n}", TEXT) for n in range(50))
    assert statistics_property(many, {"c0"})[STATISTICS].split(",") == [f"`c{n}`" for n in range(1, 33)]


@pytest.mark.parametrize(
    ("name", "personal", "found"),
    [
        ("Email", {"email"}, True),
        ("after", {"after.email"}, True),
        ("after", {"afternoon"}, False),
        ("a", set(), False),
    ],
)
def test_a_column_is_personal_with_any_personal_field(name: str, personal: set[str], found: bool) -> None:
    assert is_personal(name, personal) is found
    assert is_personal("_rescued_data", personal) is bool(personal)


def test_a_schema_asks_for_the_property_with_what_else_it_needs() -> None:
    schema = replace(TableSchema(FIELDS, ("day",)), unmeasured=frozenset({"id"}), widened=True)
    assert schema.growth == WIDENED | statistics_property(FIELDS, {"id"}, ("day",))
    assert schema.to_delta()[1].items() >= schema.growth.items()
    assert json.dumps(schema.growth)
