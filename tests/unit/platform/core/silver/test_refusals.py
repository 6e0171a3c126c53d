"""An option of silver that changes while there are rows is named: by an error, or by what the merge reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import LEFT
from tidegate.platform.core.schema.column_types import Array, Field, Simple, Struct, Type
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.presets import resolve_presets
from tidegate.platform.core.silver.recorded_options import (
    NOT_OF_ROWS,
    OPTIONS,
    REBUILDING,
    changed_options,
    recorded_options,
)
from tidegate.platform.core.silver.refusals import are_alike, refusal
from tidegate.platform.core.silver.rules import MergeRules, merge_rules

INT, TEXT = simple_type("int"), Simple("string")
_ROW = Struct((Field("id", INT), Field("at", INT), Field("v", TEXT)))
BRONZE = (
    Field("id", INT),
    Field("at", INT),
    Field("v", INT),
    Field("w", INT),
    Field("op", TEXT),
    Field("nest", _ROW),
    Field("before", _ROW),
    Field("after", _ROW),
    Field("source", Struct((Field("lsn", simple_type("bigint")),))),
)


def types(expressions: Sequence[str], relation: str) -> list[Type]:
    """Return types of the few expressions below."""
    return [_ROW if "nest" in sql or "after" in sql else INT if "v + 1" in sql else TEXT for sql in expressions]


def silver(**options: Any) -> SilverSpec:
    return SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, **options})


def rules(spec: SilverSpec) -> MergeRules:
    return merge_rules(resolve_presets(spec, BRONZE), BRONZE, types)


def refused(
    before: SilverSpec, now: SilverSpec, *, is_old: bool = False, widens: bool = False, is_rebuild: bool = False
) -> str | None:
    """Return why a table that was merged with one specification takes no rows by another one.

    Args:
        is_old: an older version of Tidegate made the table, which does not record its options.
        widens: columns get wider types.
        is_rebuild: all rows are computed again.
    """
    made = rules(before)
    left = (Field(LEFT, Array(TEXT)),) if made.history and made.history.leaves_values else ()
    properties = {**made.recorded, **({} if is_old else {OPTIONS: recorded_options(before)})}
    have = TableSchema((*made.stored, *left))
    return refusal("items", now, rules(now), properties, have, widens=widens, is_rebuild=is_rebuild)


SCD2: dict[str, Any] = {"stored_as": "scd2"}
#: By option: options before, options of today, and what the error says. None: rows are merged, and the option is named.
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "from": ({}, {"from": "debezium"}, "has changed from nothing to debezium, and the rows"),
    "keys": ({}, {"keys": ["v"]}, "has changed from id to v, and the rows"),
    "row": ({}, {"row": "nest"}, "has changed from nothing to nest, and the rows"),
    "order": ({"order": "at + 1"}, {"order": "at * 2"}, "has changed from at + 1 to at * 2, and the rows"),
    "stored_as": ({}, SCD2, "has changed from nothing to scd2, and the rows"),
    "track_history_columns": ({**SCD2}, {**SCD2, "track_history_columns": ["v"]}, "has changed from nothing to v, and"),
    "track_history_except_columns": (
        {**SCD2, "track_history_except_columns": ["v"]},
        {**SCD2, "track_history_except_columns": ["v", "w"]},
        "has changed from v to v, w, and the rows",
    ),
    "on_tie": ({}, {"on_tie": "fail"}, None),
    "apply_as_deletes": ({}, {"apply_as_deletes": "op = 'd'"}, None),
    "delete_when": ({}, {"delete_when": "op = 'd'"}, None),
    "apply_as_truncates": (
        {},
        {"apply_as_truncates": "op = 't'"},
        "has changed from nothing to op = 't', and the rows",
    ),
    "skip_when": ({}, {"skip_when": "op = 'x'"}, None),
    "expect": ({"expect": {"a": "v > 0"}}, {"expect": {"a": "v > 1"}}, None),
    "expect_or_drop": ({}, {"expect_or_drop": {"a": "v > 0"}}, None),
    "expect_or_fail": ({"expect_or_fail": {"a": "v > 0"}}, {}, None),
    "columns": ({}, {"columns": ["id", "v"]}, "has changed from nothing to id, v, and the rows"),
    "except_columns": ({}, {"except_columns": ["w"]}, None),
    "rename": (
        {"rename": {"v": "x"}},
        {"rename": {"op": "x"}},
        "column x is int, and string by lake.yaml: `rename` of `silver` in lake.yaml has changed for op from noth",
    ),
    "cast": (
        {"cast": {"v": "bigint"}},
        {"cast": {"v": "string", "w": "date"}},
        "column v is bigint, and string by lake.yaml: `cast` of `silver` in lake.yaml has changed for v from bigint",
    ),
    "derive": (
        {"derive": {"x": "v + 1"}},
        {"derive": {"x": "v || ''"}},
        "column x is int, and string by lake.yaml: `derive` of `silver` in lake.yaml has changed for x from v + 1",
    ),
    "ignore_null_updates": (
        {**SCD2},
        {**SCD2, "ignore_null_updates": True},
        "has changed from nothing to true, and the",
    ),
    "ignore_null_updates_columns": ({}, {"ignore_null_updates_columns": ["v"]}, None),
    "ignore_null_updates_except_columns": (
        {**SCD2},
        {**SCD2, "ignore_null_updates_except_columns": ["v"]},
        "has changed from nothing to v, and the rows",
    ),
    "unavailable": ({}, {"unavailable": "same"}, None),
    "decode": (
        {},
        {"decode": {"w": "days"}},
        "column w is int, and date by lake.yaml: `decode` of `silver` in lake.yaml has changed for w from noth",
    ),
}


#: Changes of the meaning of key, order or rows, after which silver has its columns in their types and places.
REBUILT = {"keys", "order", "track_history_columns", "track_history_except_columns"}
OTHER_NAME = "hange it back, or give the table another `name` in lake.yaml, and a new silver table is merged"
REBUILD = "Change it back, or run `tidegate rebuild silver.items --yes`, which computes all of them again"


def test_every_option_is_changed() -> None:
    fields = {field.alias or name for name, field in SilverSpec.model_fields.items()}
    assert CHANGES.keys() | NOT_OF_ROWS == fields
    assert CHANGES.keys().isdisjoint(NOT_OF_ROWS)


@pytest.mark.parametrize("option", CHANGES)
def test_a_changed_option_is_named_with_its_values(option: str) -> None:
    (given, then, problem) = CHANGES[option]
    before, now = silver(**given), silver(**then)
    name = {"delete_when": "apply_as_deletes"}.get(option, option)
    named = [str(change) for change in changed_options(recorded_options(before), now)]
    assert any(text.startswith(f"`{name}` of `silver` in lake.yaml has changed ") for text in named)
    found = refused(before, now)
    if problem is None:
        assert found is None
    else:
        assert found is not None
        assert f"`{name}` of `silver` in lake.yaml has changed" in found
        assert problem in found
        assert found.endswith(REBUILD if option in REBUILT else OTHER_NAME)
        assert refused(before, now, is_rebuild=True) == (None if option in REBUILT else found)
    assert refused(before, before) is None
    assert refused(now, now) is None


@pytest.mark.parametrize("option", [option for option, (_, _, problem) in CHANGES.items() if problem is not None])
def test_a_table_of_an_older_version_names_the_options_that_may_have_changed(option: str) -> None:
    before, now, _ = CHANGES[option]
    found = refused(silver(**before), silver(**now), is_old=True)
    if option == "keys":
        assert found is None, "such a table does not record the names of key columns"
    else:
        assert found is not None
        assert f"`{option}`" in found or f" {option}," in found


@pytest.mark.parametrize(
    ("before", "now", "named"),
    [
        ({"keys": ["id", "v"]}, {}, "`keys` of `silver` in lake.yaml has changed from id, v to id, and the rows"),
        (
            {},
            {"rename": {"id": "k"}, "keys": ["k"]},
            "changed from id to k; `rename` of `silver` in lake.yaml has changed f",
        ),
        (
            {"rename": {"v": "k"}, "keys": ["k"]},
            {"rename": {"w": "k"}, "keys": ["k"]},
            "`rename` of `silver` in lake.yaml has changed for v from k to nothing; `rename` of `silver` in lake.yaml",
        ),
        (
            {"derive": {"k": "lower(op)"}, "keys": ["K"]},
            {"derive": {"k": "upper(op)"}, "keys": ["K"]},
            "for k from lower(op)",
        ),
        (
            {"derive": {"k": "lower(op)"}, "keys": ["trim(k)", "id"]},
            {"derive": {"k": "upper(op)"}, "keys": ["trim(k)", "id"]},
            "`derive` of `silver` in lake.yaml has changed for k from lower(op) to upper(op), and the rows",
        ),
        (
            {**SCD2, "unavailable": "same"},
            SCD2,
            "`unavailable` of `silver` in lake.yaml has changed from same to nothing, and the rows",
        ),
    ],
)
def test_a_key_keeps_its_meaning(before: dict[str, Any], now: dict[str, Any], named: str) -> None:
    found = refused(silver(**before), silver(**now))
    assert found is not None
    assert named in found


@pytest.mark.parametrize(
    ("before", "now", "is_rebuilt"),
    [
        ({}, {"order": "v"}, True),
        ({}, {"order": ["at", "v"]}, True),
        ({"order": ["at", "v"]}, {"order": ["v", "at"]}, True),
        ({"row": "nest"}, {"row": "after"}, True),
        ({"row": "after", "order": "at"}, {"row": "after", "order": "v"}, True),
        ({"row": "after"}, {"row": "coalesce(after, before)"}, True),
        ({**SCD2}, {**SCD2, "order": "v"}, True),
        # `valid_from` would have other fields, and the order is in another column.
        ({**SCD2}, {**SCD2, "order": ["at", "v"]}, False),
        ({**SCD2, "order": ["at", "v"]}, {**SCD2, "order": ["at", "w"]}, False),
        ({"order": "at"}, {"order": "v + 1"}, False),
        ({"order": "v + 1"}, {"order": ["v + 1", "at"]}, False),
    ],
)
def test_another_order_or_row_takes_a_rebuild(before: dict[str, Any], now: dict[str, Any], is_rebuilt: bool) -> None:
    old, new = silver(**before), silver(**now)
    found = refused(old, new) or ""
    option = "row" if before.get("row") != now.get("row") else "order"
    assert found.startswith(f"`{option}` of `silver` in lake.yaml has changed from ")
    assert found.endswith(REBUILD if is_rebuilt else OTHER_NAME)
    assert refused(old, new, is_rebuild=True) == (None if is_rebuilt else found)


def test_a_rebuild_that_is_not_recorded_as_ended_keeps_others_out() -> None:
    spec = silver()
    ours = rules(spec)
    properties = {OPTIONS: recorded_options(spec), REBUILDING: recorded_options(silver(order="v"))}
    found = refusal("items", spec, ours, properties, TableSchema(ours.stored), widens=False)
    assert found == (
        "a rebuild by other options of `silver` has begun and is not recorded as ended, so its rows may be by either. "
        "Wait for it, or run `tidegate rebuild silver.items --yes` again"
    )
    assert refusal("items", spec, ours, properties, TableSchema(ours.stored), widens=False, is_rebuild=True) is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"order": "at"}, {"order": ["AT"]}),
        ({"order": ["at", "v"]}, {"order": ["At", " V"]}),
        ({"order": "At+1"}, {"order": ["`AT`  + 1"]}),
        ({"row": "coalesce(after,before)"}, {"row": "COALESCE( after, `before` )"}),
        ({"keys": ["trim( OP )"]}, {"keys": ["Trim(op)"]}),
        ({**SCD2, "order": "at"}, {**SCD2, "order": ["AT"]}),
    ],
)
def test_case_and_spaces_are_not_a_change(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert refused(silver(**before), silver(**now)) is None


def test_the_case_of_a_literal_is_a_change() -> None:
    assert are_alike("split(op, 'a b')[0]", "SPLIT(Op,  'a b')[0]")
    for other in ("'A b'", "'a  b'", '"a b"', "`a b`"):
        assert not are_alike("split(op, 'a b')[0]", f"split(op, {other})[0]")
    assert not are_alike("at 1", "at1")


def test_other_columns_may_have_another_value() -> None:
    before, now = silver(derive={"kk": "lower(op)"}), silver(derive={"kk": "upper(op)"}, rename={"w": "u"})
    assert refused(before, now) is None


def test_other_spellings_are_not_a_change() -> None:
    assert refused(silver(keys=["id", "v"]), silver(keys=["V", "ID"])) is None
    old, new = (silver(**{name: "op = 'd'"}) for name in ("delete_when", "apply_as_deletes"))
    assert recorded_options(old) == recorded_options(new)
    assert changed_options(None, new) == ()
    assert changed_options(recorded_options(old), silver(delete_when="op = 'd'", every=8, tombstone_days=3)) == ()


def test_a_wider_type_is_taken_if_the_table_widens() -> None:
    narrow, wide = silver(cast={"v": "int"}), silver(cast={"v": "bigint"})
    assert refused(narrow, wide, widens=True) is None
    assert "`cast` of `silver` in lake.yaml has changed for v from int to bigint" in str(refused(narrow, wide))
