"""Time travel for silver tables, whose SQL names are views."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidegate.platform.core.silver.columns import WITH_TOMBSTONES, silver_query

_SCHEMA = "silver"
_MAYBE = re.compile(r"\bas\s+of\b", re.IGNORECASE)


def reach_silver(query: str, own: Callable[[str], Sequence[str]]) -> str:
    """Returns the query with `silver.<name> VERSION|TIMESTAMP AS OF …` read from the table behind the view.

    Spark has no time travel for views. A query without a silver table is returned unchanged. So is a query that cannot
    be parsed, because Spark's own error is better.

    Args:
        query: Spark SQL.
        own: returns Tidegate's own columns in the silver table of a name.
    """
    if not _MAYBE.search(query):
        return query
    try:
        tree = sqlglot.parse_one(query, read="databricks")
    except SqlglotError:
        return query
    old = [table for table in tree.find_all(exp.Table) if table.args.get("version") and _is_view(table)]
    if not old:
        return query
    for column in tree.find_all(exp.Column):
        # The replacement has the bare name of the view.
        if column.db.lower() == _SCHEMA:
            column.set("db", None)
            column.set("catalog", None)
    for table in old:
        table.replace(_behind(table, own(table.name.lower())))
    return tree.sql(dialect="spark")


def _is_view(table: exp.Table) -> bool:
    return table.db.lower() == _SCHEMA and not table.name.lower().endswith(WITH_TOMBSTONES)


def _behind(table: exp.Table, own: Sequence[str]) -> exp.Expression:
    name = table.name.lower()
    inner = sqlglot.parse_one(silver_query(f"{_SCHEMA}.`{name}{WITH_TOMBSTONES}`", own), read="databricks")
    source = inner.find(exp.Table)
    if source is None or not isinstance(inner, exp.Query):
        raise AssertionError("the view's query reads a table")
    source.set("version", table.args["version"].copy())
    subquery = inner.subquery(table.alias or name)
    for extra in ("joins", "laterals", "pivots", "sample"):
        subquery.set(extra, table.args.get(extra))
    return subquery
