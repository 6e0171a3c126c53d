"""Which of the lake's tables a query names."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


def asked_tables(query: str) -> set[tuple[str, str]] | None:
    """Schema and name, in lower case, of every table with a schema; None where they cannot be told.

    They can be told of queries; other statements, such as SHOW TABLES, may mean any table.

    Args:
        query: Spark SQL.
    """
    try:
        tree = sqlglot.parse_one(query, read="databricks")
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Query):
        return None
    return {(table.db.lower(), table.name.lower()) for table in tree.find_all(exp.Table) if table.db}
