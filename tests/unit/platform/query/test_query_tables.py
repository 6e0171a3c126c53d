"""The tables that a query of `tidegate sql` names."""

from __future__ import annotations

from datetime import date

import pytest

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.query.frame import explain_missing_table, suggest_tables
from tidegate.platform.query.query_tables import asked_tables, with_days, without_schema


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT 1", set()),
        ("SELECT * FROM bronze.Orders VERSION AS OF 3 o", {("bronze", "orders")}),
        (
            "WITH a AS (SELECT * FROM ledger.`a`) SELECT * FROM a JOIN silver.b USING (id)",
            {("ledger", "a"), ("silver", "b")},
        ),
        ("SELECT * FROM bronze.a UNION ALL (SELECT * FROM lake.intake)", {("bronze", "a"), ("lake", "intake")}),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM bronze.a)", {("bronze", "a")}),
        ("TABLE bronze.a", None),
        ("SHOW TABLES IN bronze", None),
        ("DESCRIBE HISTORY bronze.a", None),
        ("SELEC 1 FRM", None),
    ],
)
def test_tables_of_a_query(query: str, tables: set[tuple[str, str]] | None) -> None:
    assert asked_tables(query) == tables


@pytest.mark.parametrize(
    ("query", "bare"),
    [
        ("SELECT * FROM lake.quarantine", "SELECT * FROM quarantine"),
        ("SELECT Lake.`quarantine`.key FROM\nlake . QUARANTINE q", "SELECT `quarantine`.key FROM\nQUARANTINE q"),
        ("SELECT 'lake.quarantine', a.lake.quarantined FROM lake.intake", None),
        ("SELECT 'lake' || '.' || 'quarantine' -- lake.quarantine", None),
        (
            "WITH quarantine AS (SELECT * FROM lake.quarantine) SELECT 'ü' FROM quarantine",
            "WITH quarantine AS (SELECT * FROM quarantine) SELECT 'ü' FROM quarantine",
        ),
    ],
)
def test_a_view_without_a_schema_stands_for_one_with(query: str, bare: str | None) -> None:
    assert without_schema(query, "lake", "quarantine") == (bare or query)


NOT_FOUND = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `bronze`.`order` cannot be found."


def test_of_many_tables_an_error_names_those_that_may_be_meant() -> None:
    assert suggest_tables(NOT_FOUND, []) == "none yet"
    assert suggest_tables(NOT_FOUND, ["bronze.a", "lake.intake"]) == "bronze.a, lake.intake"
    many = [f"bronze.landing__t{n}" for n in range(1000)] + ["bronze.orders", "ledger.orders"]
    message = suggest_tables(NOT_FOUND, many)
    assert message.startswith("bronze.orders, ledger.orders, ")
    assert message.endswith(" and 990 more, see SHOW TABLES IN bronze")
    assert suggest_tables("something else", many).endswith("bronze.landing__t11, …")


def test_a_table_of_lake_yaml_that_nothing_has_come_to_is_reported() -> None:
    assert explain_missing_table(NOT_FOUND, [], {"order": None})[0].startswith(
        "no run of the table order has ended yet: `tidegate trace"
    )
    assert explain_missing_table(NOT_FOUND, [], {"other": None}) == []
    (hint,) = explain_missing_table(NOT_FOUND, ["ledger.order"], {"order": "s3://out/orders/"})
    assert hint == "order is an output: its rows are in the objects of s3://out/orders/, and no table has them"
    (hint,) = explain_missing_table(NOT_FOUND, ["ledger.order"], {"order": None})
    assert "SELECT key, status, reason FROM ledger.order WHERE" in hint


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
        ("('o', '2026-11-31')", "'2026-11-31' is not a day: write"),
        ("(", "write inventory_as_of"),
    ],
)
def test_wrong_arguments_are_refused(call: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        with_days(f"SELECT * FROM inventory_as_of{call}", view)
