"""What silver cannot take is refused where it enters, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import (
    CHANGE_COLUMNS,
    HISTORY_COLUMNS,
    SILVER_COLUMNS,
    is_own,
    reserved_in_bronze,
)
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.rules import merge_rules

_PLAIN = {"keys": ["id"], "order": "at", "every": 60}
_OPTIONS: list[dict[str, Any]] = [
    {},
    {"stored_as": "scd2"},
    {"order": "at + 0", "keys": ["id + 0"]},
    {"export": {"folder": "s3://outputs/t/"}},
    {"rename": {"_deleted": "gone"}},
    {"except_columns": ["_key", "_change_type"]},
    {"columns": ["id", "at", "_order"]},
]
_NAMES = (
    *SILVER_COLUMNS,
    *HISTORY_COLUMNS,
    *CHANGE_COLUMNS,
    "_key",
    "_order",
    "_joined",
    "_left",
    "_tidegate_x",
    "plain",
)


def _taken(schema: TableSchema, field: Field) -> bool:
    try:
        schema.accept_fields([field], "evolve")
    except Misfit as refused:
        return field.name not in str(refused)
    return True


@pytest.mark.parametrize("spelling", [str, str.upper])
@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_bronze_refuses_what_silver_refuses(options: dict[str, Any], spelling: Any) -> None:
    """And takes what silver takes: one list, for each name and each set of options."""
    silver = SilverSpec.model_validate(_PLAIN | options)
    base = TableSchema((Field("id", Simple("long")), Field("at", Simple("long"))), reserved=reserved_in_bronze(silver))
    for name in map(spelling, _NAMES):
        field = Field(name, Simple("string"))
        taken = _taken(base, field)
        columns = [*base.fields, field]
        there = {column.name.lower() for column in columns}
        needed = {*silver.rename, *silver.except_columns, *silver.columns} - there
        columns += [Field(text, Simple("string")) for text in sorted(needed)]
        try:
            merge_rules(silver, columns, lambda sqls, relation: [Simple("long") for _ in sqls])
            merges = True
        except UnsuitableColumns as unfit:
            merges = f"{name!r}" not in str(unfit)
        assert taken == merges, name


def test_without_silver_or_with_row_bronze_may_have_any_name() -> None:
    assert reserved_in_bronze(None) == frozenset()
    row = SilverSpec.model_validate(_PLAIN | {"row": "after"})
    assert reserved_in_bronze(row) == frozenset()


def test_a_column_that_the_table_has_already_is_not_a_new_one() -> None:
    field = Field("_tidegate_x", Simple("string"))
    schema = TableSchema((field,), reserved=frozenset({"_deleted"}))
    assert schema.accept_fields([field], "evolve") is schema


def test_the_order_of_a_loaded_table_may_be_a_column_that_tidegate_adds() -> None:
    given = {"name": "t", "prefix": "s3://landing/t/", "silver": _PLAIN | {"order": ["at", "_Ingested_at"]}}
    loaded = TableSpec.model_validate(given | {"format": "json"}).silver
    assert loaded is not None
    assert loaded.order == ("at", "(_Ingested_at)")
    assert loaded.keeps_order
    registered = TableSpec.model_validate(given | {"format": "parquet"}).silver
    assert registered is not None
    assert registered.order == ("at", "_Ingested_at"), "a column of the producer's, if it has one"


@pytest.mark.parametrize("spelling", [str, str.upper])
@pytest.mark.parametrize("options", [{}, {"stored_as": "scd2"}, {"export": {"folder": "s3://outputs/t/"}}], ids=str)
def test_a_field_of_row_stops_no_merge_by_its_name(options: dict[str, Any], spelling: Any) -> None:
    """Silver leaves it out and says so, unless lake.yaml gives it another name."""
    silver = SilverSpec.model_validate({**_PLAIN, "row": "after", **options})
    for name in map(spelling, _NAMES):
        row = Struct(tuple(Field(literal, Simple("long")) for literal in ("id", "v", name)))
        feed = (Field("after", row), Field("at", Simple("long")))

        def types(sqls: Sequence[str], relation: str, row: Struct = row) -> list[Type]:
            return [row if "after" in sql else Simple("long") for sql in sqls]

        left_out = (name,) if is_own(name.lower(), silver) else ()
        rules = merge_rules(silver, feed, types)
        assert rules.left_out == left_out
        assert {field.name for field in rules.columns} - {"_order"} == {"id", "v", name} - {*left_out, "_order"}
        renamed = merge_rules(silver.model_copy(update={"rename": {name: "theirs"}}), feed, types)
        assert (renamed.left_out, "theirs" in {field.name for field in renamed.columns}) == ((), True)
