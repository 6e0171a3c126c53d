"""Finds what a query asks for: the lake's tables, and days, as in `inventory_as_of('objects', '2026-11-01')`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from tidegate.platform.core.errors import BadSetting

_QUERIES = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)

_NAME = "inventory_as_of"
_USAGE_TEXT = (
    f"write {_NAME}('<table>', '<yyyy-mm-dd>') with the table's name, such as {_NAME}('objects', '2026-11-01')"
)


def asked_tables(query: str) -> set[tuple[str, str]] | None:
    """Return schema and name, in lower case, of every table with a schema; None if they are not known.

    They are known for queries. Other statements, such as SHOW TABLES, may concern any table.

    Args:
        query: Spark SQL.
    """
    try:
        first = sqlglot.tokenize(query, read="databricks")[:1]
        # sqlglot prints a warning on the terminal for what it does not know.
        if not first or first[0].token_type not in _QUERIES:
            return None
        tree = sqlglot.parse_one(query, read="databricks")
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Query):
        return None
    return {(table.db.lower(), table.name.lower()) for table in tree.find_all(exp.Table) if table.db}


def without_schema(query: str, schema: str, name: str) -> str:
    """Return the query with `schema.name` replaced by the bare name, because a temporary view has no schema.

    Args:
        query: Spark SQL that can be parsed.
        schema: in lower case.
        name: in lower case.
    """
    tokens = sqlglot.tokenize(query, read="databricks")
    for token, dot, other in reversed(list(zip(tokens, tokens[1:], tokens[2:], strict=False))):
        is_name = (token.text.lower(), other.text.lower()) == (schema, name) and TokenType.STRING not in (
            token.token_type,
            other.token_type,
        )
        if is_name and dot.token_type is TokenType.DOT:
            query = query[: token.start] + query[other.start :]
    return query


def with_days(query: str, view: Callable[[str, date], str]) -> str:
    """Return the query with each `inventory_as_of(…)` replaced by the name of a view.

    Args:
        query: Spark SQL. If it cannot be split into tokens, it is returned unchanged.
        view: makes the view of a table's name and a day, and returns its name.

    Raises:
        BadSetting: the arguments are not the name of a table and a day.
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
        if [token.token_type for token in call] != [
            TokenType.STRING,
            TokenType.COMMA,
            TokenType.STRING,
            TokenType.R_PAREN,
        ]:
            raise BadSetting(_USAGE_TEXT)
        try:
            day = date.fromisoformat(call[2].text)
        except ValueError:
            raise BadSetting(f"{call[2].text!r} is not a day: {_USAGE_TEXT}") from None
        query = query[: token.start] + view(call[0].text, day) + query[call[3].end + 1 :]
    return query
