"""Expectations of a silver table."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.silver.expectations import (
    OnViolation,
    conditions,
    dropping_expectation_sql,
    expectations,
    option_with,
    skip_condition,
)


def silver(**options: Any) -> SilverSpec:
    return SilverSpec(**{"keys": ("id",), "order": "at", "every": 9, **options})


def test_rows_that_change_nothing_are_not_asked() -> None:
    (plain,) = expectations(silver(expect={"positive": "v > 0"}))
    assert (plain.check, plain.action) == ("expect_positive", OnViolation.WARN)
    assert " ".join(plain.violated.split()) == "(NOT coalesce(( v > 0 ), false))"
    (asked,) = expectations(silver(expect_or_fail={"positive": "v > 0"}, delete_when="gone", skip_when="op = 'x'"))
    assert " ".join(asked.violated.split()) == (
        "(CASE WHEN coalesce(( gone ), false) OR coalesce(( op = 'x' ), false) THEN false "
        "ELSE NOT coalesce(( v > 0 ), false) END)"
    )


def test_conditions_are_named_as_in_lake_yaml() -> None:
    named = conditions(silver(delete_when="gone", skip_when="op = 'x'", expect={"a": "v"}, expect_or_fail={"b": "w"}))
    assert named == {
        "`delete_when` of `silver`": "gone",
        "`skip_when` of `silver`": "op = 'x'",
        "`expect.a` of `silver`": "v",
        "`expect_or_fail.b` of `silver`": "w",
    }
    assert conditions(silver(apply_as_deletes="gone")) == {"`apply_as_deletes` of `silver`": "gone"}
    assert conditions(silver()) == {}


def test_only_rows_of_expect_or_drop_do_not_enter_silver() -> None:
    assert skip_condition(silver(expect={"a": "v > 0"}, expect_or_fail={"b": "v > 0"})) is None
    assert dropping_expectation_sql(expectations(silver(expect={"a": "v > 0"}))) == "CAST(NULL AS STRING)"
    named = dropping_expectation_sql(
        expectations(silver(expect={"a": "v > 0"}, expect_or_drop={"b": "w > 0", "c": "x"}))
    )
    assert " ".join(named.split()) == (
        "CASE WHEN (NOT coalesce(( w > 0 ), false)) THEN 'b' WHEN (NOT coalesce(( x ), false)) THEN 'c' END"
    )
    both = skip_condition(silver(expect_or_drop={"a": "v > 0", "b": "w > 0"}, skip_when="op = 'x'"))
    assert both is not None
    text = " ".join(both.split())
    assert text.startswith(
        "(coalesce(( op = 'x' ), false) OR (CASE WHEN coalesce(( op = 'x' ), false) THEN false ELSE NOT"
    )
    assert text.count(" OR ") == 2


def test_an_expression_is_known_by_a_fragment_of_it() -> None:
    spec = silver(order="CAST(v  AS int)", expect={"a": "10 / n > 1"}, derive={"half": "x / 2"})
    fragments = ("10 /\n n", "CAST(v AS int)", "x / 2", "y / 2", "")
    named = ["`expect.a` of `silver`", "`order` of `silver`", "`derive.half` of `silver`", None, None]
    assert [option_with(spec, fragment) for fragment in fragments] == named


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"expect": {"a": "v > 0"}, "expect_or_drop": {"a": "w > 0"}}, "a is the name of two expectations"),
        ({"expect": {"a": "v >"}}, "'v >' is not a condition of Spark SQL"),
        ({"expect": {"Not a name": "v > 0"}}, "use lower-case letters, digits and underscores"),
    ],
)
@pytest.mark.limit("Silver", "Expectations are conditions of Spark SQL, and each has a name of its own.")
def test_expectations_that_cannot_be_checked_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        silver(**options)
