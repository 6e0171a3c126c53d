"""Finds the days of inventories that a query asks for: `inventory_as_of('objects', '2026-11-01')`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from tidegate.platform.query.query_error import QueryError

_NAME = "inventory_as_of"
_USAGE_TEXT = (
    f"write {_NAME}('<table>', '<yyyy-mm-dd>') with the table's name, such as {_NAME}('objects', '2026-11-01')"
)


def with_days(query: str, view: Callable[[str, date], str]) -> str:
    """Returns the query with each `inventory_as_of(…)` replaced by the name of a view.

    Args:
        query: Spark SQL. If it cannot be split into tokens, it is returned unchanged.
        view: makes the view of a table's name and a day, and returns its name.

    Raises:
        QueryError: the arguments are not the name of a table and a day.
    """
    if _NAME not in query.lower():
        return query
    try:
        tokens = sqlglot.tokenize(query, read="databricks")
    except SqlglotError:
        return query
    for at in reversed(range(len(tokens) - 1)):
        token = tokens[at]
        is_call = token.text.lower() == _NAME and tokens[at + 1].token_type is TokenType.L_PAREN
        if not is_call or token.token_type is TokenType.STRING:
            continue
        call = tokens[at + 2 : at + 6]
        if [one.token_type for one in call] != [
            TokenType.STRING,
            TokenType.COMMA,
            TokenType.STRING,
            TokenType.R_PAREN,
        ]:
            raise QueryError(_USAGE_TEXT)
        try:
            day = date.fromisoformat(call[2].text)
        except ValueError:
            raise QueryError(f"{call[2].text!r} is no day: {_USAGE_TEXT}") from None
        query = query[: token.start] + view(call[0].text, day) + query[call[3].end + 1 :]
    return query
