"""Rules of a merge: where silver has key and order, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import own_columns
from tidegate.platform.core.schema.column_reference import path_of
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, Type
from tidegate.platform.core.schema.sql_literal import parenthesize
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.rules import merge_rules

BIGINT = Simple("bigint")
COLUMNS = (
    Field("ID", BIGINT),
    Field("ref", Struct((Field("at", BIGINT), Field("x.y", BIGINT)))),
    Field("ref.at", BIGINT),
)

OTHER = Field("other", Struct((Field("at", BIGINT),)))


def types(expressions: Sequence[str], relation: str) -> list[Type]:
    return [BIGINT] * len(expressions)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("id", ("ID",)),
        ("ref", ("ref",)),
        ("REF.AT", ("ref.at",)),
        ("ref.x.y", ("ref", "x.y")),
        ("ref.z", None),
        ("id.x", None),
        ("other", None),
    ],
)
def test_a_reference_is_a_column_or_a_nested_field(text: str, path: tuple[str, ...] | None) -> None:
    """The name of a column that has a dot comes before a nested field."""
    assert path_of(text, COLUMNS) == path
    spec = SilverSpec(keys=("id",), order=(text,), every=9)
    if path is None:
        with pytest.raises(UnsuitableColumns, match=f"has no column {text!r}, which `order` of `silver` names"):
            merge_rules(spec, COLUMNS, types)


def test_silver_keeps_what_its_rows_do_not_show() -> None:
    plain = merge_rules(SilverSpec(keys=("id",), order=("ref.at", "ref.x.y"), every=9), COLUMNS, types)
    assert [part.path for part in (*plain.keys, *plain.order)] == ["`ID`", "`ref.at`", "`ref`.`x.y`"]
    assert (plain.columns, plain.recorded) == (COLUMNS, {})
    spec = SilverSpec(keys=("id", "abs(id)"), order=("ref.x.y", "id + 1\n  -- later"), every=9)
    rules = merge_rules(spec, COLUMNS, types)
    assert [part.path for part in (*rules.keys, *rules.order)] == [
        "`_key`.`k1`", "`_key`.`k2`", "`_order`.`o1`", "`_order`.`o2`"
    ]  # fmt: skip
    assert [field.name for field in rules.columns[len(COLUMNS) :]] == ["_key", "_order"]
    assert rules.values["_order"] == "struct(`ref`.`x.y` AS o1, (\nid + 1\n  -- later\n) AS o2)"
    assert rules.recorded == {"tidegate.silver_key": "id; abs(id)", "tidegate.silver_order": "ref.x.y; id + 1 -- later"}
    assert own_columns(spec) == ("_deleted", "_changed_batch", "_changed_at", "_key", "_order")


def test_a_text_for_unchanged_values_is_not_a_variable_of_spark() -> None:
    """Spark substitutes `${…}` in a SQL text, inside literals too."""
    spec = SilverSpec(keys=("id",), order=("id",), unavailable="${same}", every=9)
    rules = merge_rules(spec, (Field("id", BIGINT), Field("note", Simple("string"))), types)
    assert "IN ('\\u0024{same}', " in rules.kept["note"]


def test_a_history_tracks_what_is_asked_and_its_times_have_the_type_of_the_order() -> None:
    spec = SilverSpec(keys=("id",), order=("ref.at",), stored_as="scd2", every=9)
    rules = merge_rules(spec, COLUMNS, types)
    assert rules.history is not None
    assert rules.history.tracked == ("ID", "ref"), "the column of the order is different in every change"
    assert [(field.name, field.type.sql()) for field in rules.stored[len(COLUMNS) :]] == [
        ("valid_from", "bigint"), ("valid_to", "bigint"), ("is_current", "boolean")
    ]  # fmt: skip
    assert own_columns(spec) == ("_deleted", "_changed_batch", "_changed_at", "_joined")
    several = spec.model_copy(update={"order": ("ref.x.y", "abs(id)"), "track_history_columns": ("REF",)})
    rules = merge_rules(several, COLUMNS, types)
    assert rules.history is not None
    assert (rules.history.tracked, rules.history.bound.sql()) == (("ref",), "struct<`y`:bigint,`o2`:bigint>")
    assert rules.recorded == {
        "tidegate.silver_stored_as": "scd2 by ref.x.y; abs(id)",
        "tidegate.silver_track_history": "REF",
        "tidegate.silver_order": "ref.x.y; abs(id)",
    }
    twice = merge_rules(spec.model_copy(update={"order": ("ref.at", "other.at")}), (*COLUMNS, OTHER), types).history
    assert twice is not None
    assert twice.names == ("o1", "o2"), "two parts have one name"
    assert own_columns(spec.model_copy(update={"preset": "debezium"}))[-2:] == ("_joined", "_left")
    with pytest.raises(UnsuitableColumns, match="has no column 'x', which `track_history_columns` of `silver` names"):
        merge_rules(spec.model_copy(update={"track_history_columns": ("x",)}), COLUMNS, types)
    with pytest.raises(
        UnsuitableColumns, match=r"has a column 'Valid_To', and a history one of its own by that name: .*`rename`"
    ):
        merge_rules(spec, (*COLUMNS, Field("Valid_To", BIGINT)), types)
    with pytest.raises(UnsuitableColumns, match="has a column '_key', and silver one of its own by that name"):
        merge_rules(spec, (*COLUMNS, Field("_key", BIGINT)), types)
    with pytest.raises(UnsuitableColumns, match="has a column '_Tidegate_n', and names that begin with _tidegate_ are"):
        merge_rules(spec, (*COLUMNS, Field("_Tidegate_n", BIGINT)), types)


def test_columns_are_renamed_derived_and_cast_on_the_way() -> None:
    spec = SilverSpec(
        keys=("customer",),
        order=("ref.at",),
        rename={"id": "customer"},
        derive={"total": "id * 2 -- double", "REF.AT": "1"},
        cast={"Total": "decimal(10, 2)"},
        except_columns=("ref",),
        every=9,
    )
    rules = merge_rules(spec, COLUMNS, types)
    assert [(field.name, field.type.sql()) for field in rules.columns] == [
        ("customer", "bigint"), ("ref.at", "bigint"), ("total", "decimal(10,2)"),
        ("_order", "struct<`o1`:bigint>"),
    ]  # fmt: skip
    assert rules.values["customer"] == "`ID`"
    assert rules.values["total"] == "CAST((\nid * 2 -- double\n) AS decimal(10,2))"
    assert [part.path for part in rules.keys] == ["`customer`"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rename": {"x": "y"}}, "has no column 'x', which `rename` of `silver` names; it has ID, ref, ref.at"),
        ({"rename": {"ref": "id"}}, "has a column 'id', which `rename` of `silver` gives 'ref' as its new name"),
        ({"cast": {"x": "int"}}, "has no column 'x', which `cast` of `silver` names"),
    ],
)
def test_columns_that_cannot_be_shaped_are_named(options: dict[str, dict[str, str]], problem: str) -> None:
    with pytest.raises(UnsuitableColumns, match=problem):
        merge_rules(SilverSpec(keys=("id",), order=("ref.at",), every=9, **options), COLUMNS, types)


@pytest.mark.parametrize("option", ["keys", "order"])
def test_a_part_of_key_or_order_that_spark_does_not_compare_is_named(option: str) -> None:
    tags = Field("tags", Map(Simple("string"), BIGINT))
    for texts in ("tags",), ("ID", "(tags)"):
        spec = SilverSpec(**{"keys": ("id",), "order": ("ref.at",), "every": 9, option: texts})
        problem = rf"has map<string,bigint> in '\(?tags\)?', which `{option}` of `silver` names, and Spark does not"
        with pytest.raises(UnsuitableColumns, match=problem):
            merge_rules(
                spec, (*COLUMNS, tags), lambda sqls, _: [tags.type if "tags" in sql else BIGINT for sql in sqls]
            )


def test_columns_exchange_their_names() -> None:
    spec = SilverSpec(keys=("id",), order=("ref.at",), rename={"ref": "ref.at", "ref.at": "ref"}, every=9)
    assert [field.name for field in merge_rules(spec, COLUMNS, types).columns] == ["ID", "ref.at", "ref", "_order"]


def test_keys_of_dumps_are_columns_and_expressions() -> None:
    spec = SilverSpec.model_validate({"from": "snapshots", "keys": ["id"], "order": "(ref.at)", "every": 9})
    assert merge_rules(spec, COLUMNS, types).are_dumps
    nested = spec.model_copy(update={"keys": ("ref.x.y",)})
    with pytest.raises(UnsuitableColumns, match=r"has 'ref.x.y' within a column, .* write it in parentheses"):
        merge_rules(nested, COLUMNS, types)
    same = spec.model_copy(update={"keys": ("id", "Ref.At"), "order": ("ref.at",)})
    with pytest.raises(UnsuitableColumns, match=r"has 'ref.at' in `keys` and in `order`, .* from `keys`"):
        merge_rules(same, COLUMNS, types)


def test_parts_of_key_and_order_have_no_value_of_an_older_row() -> None:
    """With it, a row would become newer than it is."""
    spec = SilverSpec(keys=("id",), order=("ref.at", "AT"), ignore_null_updates=True, every=9)
    rules = merge_rules(spec, (*COLUMNS[:2], Field("at", BIGINT), Field("v", BIGINT)), types)
    assert set(rules.kept) == {"v"}


def test_each_element_of_an_array_is_a_row() -> None:
    row = Struct((Field("id", BIGINT), Field("v", BIGINT)))
    bronze = (Field("data", Array(row)), Field("ts", BIGINT))

    def kinds(expressions: Sequence[str], relation: str) -> list[Type]:
        return [Array(row) if sql == parenthesize("data") else BIGINT for sql in expressions]

    spec = SilverSpec(keys=("id",), row="data", order=("ts",), skip_when="ts < 0", every=9)
    rules = merge_rules(spec, bronze, kinds)
    assert [field.name for field in rules.columns] == ["id", "v", "_order"]
    element = f"posexplode_outer({parenthesize('data')}) AS (_tidegate_element, _tidegate_value)"
    assert rules.add_row_value("changes") == f"(SELECT *, {element} FROM changes)"
    # An array without elements has no row, and no other row may be without a value.
    assert str(rules.skipped).endswith(" OR (_tidegate_value IS NULL)")
    assert merge_rules(spec.model_copy(update={"skip_when": None}), bronze, kinds).skipped == (
        "(_tidegate_value IS NULL)"
    )
    with pytest.raises(UnsuitableColumns, match="data is array<bigint>, and neither a struct nor an array of structs"):
        merge_rules(spec, bronze, lambda expressions, _: [Array(BIGINT)] * len(expressions))
