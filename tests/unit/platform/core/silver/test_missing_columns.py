"""Columns that `silver` names and no file has had yet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type
from tidegate.platform.core.silver.expression_types import UnfitExpression, UnsuitableColumns
from tidegate.platform.core.silver.missing_columns import with_awaited
from tidegate.platform.core.silver.rules import MergeRules, merge_rules

LONG = Simple("long")
ROW = Struct((Field("id", LONG), Field("v", LONG)))
FEED = (Field("after", ROW), Field("at", LONG))


def types(expressions: Sequence[str], relation: str) -> list[Type]:
    """Return the types as Spark does: a name that the relation lacks is missing, and `coalesce(x)` has the type of
    NULL.
    """
    known = {"after", "at", *re.findall(r"as `?(\w+)`?", relation.lower())}
    known |= {"as", "id", "v", "and", "is", "null", "not", "cast", "bigint", "void"}
    for name in re.findall(r"(?<![.`\w])[a-z]+\b(?!\()", " ".join(expressions).lower()):
        if name not in known:
            raise UnfitExpression(f"there is no column `{name}`", name)
    return [ROW if "after" in sql else Simple("void") if "coalesce" in sql else LONG for sql in expressions]


def rules(declared: Mapping[str, str] | None = None, **options: Any) -> MergeRules:
    given = {"keys": ["id"], "row": "coalesce(after, before)", "order": "at", "every": 9} | options
    silver = SilverSpec.model_validate({name: value for name, value in given.items() if value is not None})
    columns = FEED if silver.row else (Field("id", LONG), Field("at", LONG))
    return with_awaited(lambda nulls: merge_rules(silver, columns, types, nulls), columns, declared or {})


def test_a_column_that_row_names_is_null_until_a_file_has_it() -> None:
    found = rules()
    assert (found.awaited, [field.name for field in found.columns]) == (("before",), ["id", "v", "_order"])
    assert "(SELECT *, NULL AS `before` FROM bronze)" in found.add_row_value("bronze")
    declared = rules({"BEFORE": "struct<id: bigint>", "unused": "int"})
    assert "CAST(NULL AS struct<`id`:bigint>) AS `BEFORE`" in declared.add_row_value("bronze")
    assert rules(row="after").add_row_value("bronze").count("NULL AS") == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"row": "coalesce(after, aftr)"}, "does not fit `row` of `silver`: there is no column `aftr`. If aftr"),
        ({"order": ["at", "seq"]}, "has no column 'seq', which `order` of `silver` names; it has after, at. If seq"),
        ({"order": ["(coalesce(seq))"]}, "does not fit `order` of `silver`: there is no column `seq`. If seq"),
    ],
)
def test_a_misspelt_name_or_one_without_a_type_is_an_error_that_names_the_way(options: Any, why: str) -> None:
    with pytest.raises(UnsuitableColumns) as failed:
        rules(**options)
    assert str(failed.value).startswith(why)
    assert "in `columns` of the table" in str(failed.value)


def test_a_declared_column_may_be_a_part_of_the_order_and_of_silver() -> None:
    found = rules({"Seq": "int", "aftr": ROW.sql()}, order=["at", "seq"], row="coalesce(after, aftr)")
    assert (found.awaited, len(found.order), found.required_order) == (("aftr", "Seq"), 2, ("`at`",))
    plain = rules({"seq": "int"}, row=None, order=["at", "seq"])
    assert [field.name for field in plain.columns] == ["id", "at", "seq"]
    assert "CAST(NULL AS int) AS `seq`" in plain.add_row_value("bronze")


def test_a_key_is_never_awaited() -> None:
    for keys in ("ident", "abs(ident)"):
        with pytest.raises(UnsuitableColumns, match="ident") as failed:
            rules({"ident": "bigint"}, keys=[keys])
        assert "If the name is right" not in str(failed.value)
