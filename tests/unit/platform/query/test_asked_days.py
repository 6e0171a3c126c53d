"""The days of inventories that a query asks for become views. All else in the query is unchanged."""

from __future__ import annotations

from datetime import date

import pytest

from tidegate.platform.query.asked_days import with_days
from tidegate.platform.query.query_error import QueryError


def view(name: str, day: date) -> str:
    return f"{name}_{day:%m%d}"


def test_each_day_of_a_query_becomes_a_view() -> None:
    query = "SELECT  * FROM INVENTORY_AS_OF('o', '2026-11-02') b ANTI JOIN inventory_as_of( 'o',\n'2026-11-01' ) -- é"
    assert with_days(query, view) == "SELECT  * FROM o_1102 b ANTI JOIN o_1101 -- é"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "SELECT \"inventory_as_of('o', '2026-11-01')\"",
        "SELECT 1 -- inventory_as_of('o', 'x')",
        "SELECT inventory_as_of FROM t",
        "SELECT 'inventory_as_of",
    ],
)
def test_other_queries_are_left_as_they_are(query: str) -> None:
    assert with_days(query, view) == query


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("('2026-11-01')", "write inventory_as_of"),
        ("(o, '2026-11-01')", "write inventory_as_of"),
        ("('o', current_date())", "write inventory_as_of"),
        ("('o', '2026-11-31')", "'2026-11-31' is no day: write"),
        ("(", "write inventory_as_of"),
    ],
)
def test_wrong_arguments_are_refused(call: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        with_days(f"SELECT * FROM inventory_as_of{call}", view)
