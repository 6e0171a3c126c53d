"""Which tables a query of `tidegate sql` names."""

from __future__ import annotations

import pytest

from tidegate.platform.cli.asked_tables import asked_tables


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
