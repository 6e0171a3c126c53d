"""Finds the lake's tables that a query names."""

from __future__ import annotations

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

_QUERIES = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)


def asked_tables(query: str) -> set[tuple[str, str]] | None:
    """Returns schema and name, in lower case, of every table with a schema; None if they are not known.

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
    """Returns the query with `schema.name` replaced by the bare name, because a temporary view has no schema.

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
