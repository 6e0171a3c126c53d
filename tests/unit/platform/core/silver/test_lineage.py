"""Column lineage from bronze to silver follows the rules of the merge: decoding, envelopes, keys and deletes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field, Type
from tidegate.platform.core.schema.sql_types import parse_sql_type, simple_type
from tidegate.platform.core.silver.lineage import column_sources
from tidegate.platform.core.silver.presets import resolve_presets
from tidegate.platform.core.silver.rules import merge_rules

ROW = "struct<id: bigint, v: string>"


def sources(silver: dict[str, Any], types: Sequence[Type] = (), **columns: str) -> dict[str, tuple[str, ...]]:
    """Return the sources of silver's columns.

    Args:
        silver: `silver` in `lake.yaml`.
        types: what Spark says of the types of expressions.
        **columns: bronze's columns with their types.
    """
    spec = SilverSpec.model_validate({"keys": ["id"], "every": 10, **silver})
    fields = [Field(name, parse_sql_type(kind)) for name, kind in columns.items()]
    rules = merge_rules(
        resolve_presets(spec, fields),
        fields,
        lambda sqls, _: [*types][: len(sqls)] or [simple_type("bigint")] * len(sqls),
    )
    return column_sources(rules, list(columns))


def test_a_column_comes_from_the_column_of_its_name() -> None:
    found = sources(
        {"order": "At", "delete_when": "gone = 'x' AND v IS NULL", "decode": {"v": "days"}},
        id="bigint",
        at="bigint",
        v="int",
        gone="string",
    )
    assert found == {
        "id": ("id",),
        "at": ("at",),
        "v": ("v",),
        "gone": ("gone",),
        "_deleted": ("v", "gone"),
    }


def test_columns_of_an_envelope_come_from_both_of_its_rows() -> None:
    debezium = {"from": "debezium", "order": "source.lsn"}
    found = sources(
        debezium, [parse_sql_type(ROW)], before=ROW, after=ROW, op="string", source="struct<lsn: bigint>", other="int"
    )
    assert found["id"] == found["v"] == ("before", "after")
    assert found["_order"] == ("source",)
    assert found["_deleted"] == ("before", "after", "op")
    assert "other" not in found


def test_a_key_that_is_an_expression_comes_from_what_its_columns_come_from() -> None:
    found = sources({"keys": ["lower(name) || id"], "order": "at"}, id="bigint", name="string", at="bigint", v="int")
    assert found["_key"] == ("id", "name")


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("coalesce(a.b.c, `odd name`)", ("a", "odd name")),
        ("transform(xs, x -> x + v)", ("xs", "v")),
        ("'id'", ()),
        ("DATE'2020-01-01'", ()),
        ("CAST(v AS STRING)", ("v",)),
    ],
)
def test_names_in_an_expression_differ_from_other_words(expression: str, columns: tuple[str, ...]) -> None:
    bronze = {"a": "struct<b: struct<c: int>>", "odd name": "string", "xs": "array<int>", "v": "int", "id": "bigint"}
    found = sources({"order": "id", "delete_when": f"{expression} IS NULL"}, **bronze)
    assert found.get("_deleted", ()) == columns
