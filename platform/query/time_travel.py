"""Time travel for silver tables, whose SQL names are views."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES, silver_query

_CATALOG, _SCHEMA = "spark_catalog", "silver"
_AS_OF_WORDS = re.compile(r"\bas\s+of\b", re.IGNORECASE)


class _Edit(NamedTuple):
    """A part of a query, from `start` to before `end`, and the text that replaces it."""

    start: int
    end: int
    text: str


_Own = Callable[[str, str], Sequence[str]]


def reach_silver(query: str, own: _Own) -> str:
    """Return the query with `silver.<name> VERSION|TIMESTAMP AS OF …` read from the table behind the view.

    Spark has no time travel for views. Everything else in the query stays as it is written. A query without a silver
    table is returned unchanged. So is a query that cannot be parsed, because Spark's own error is better.

    Args:
        query: Spark SQL.
        own: returns Tidegate's own columns in the silver table of a name, as a relation that has its version.
    """
    if not _AS_OF_WORDS.search(query):
        return query
    try:
        tokens = sqlglot.tokenize(query, read="databricks")
        tree = sqlglot.parse_one(query, read="databricks")
    except SqlglotError:
        return query
    edits, bare = [], set()
    for table in tree.find_all(exp.Table):
        if table.args.get("version") is None or not _is_view(table):
            continue
        edit = _edit(query, tokens, table, own)
        if edit is None:
            return query
        edits.append(edit)
        if not table.alias:
            bare.add(table.name.lower())
    # The replacement has the bare name of the view.
    edits += filter(None, (_without_schema(column, bare) for column in tree.find_all(exp.Column)))
    for edit in sorted(edits, reverse=True):
        query = query[: edit.start] + edit.text + query[edit.end :]
    return query


def _is_view(table: exp.Table) -> bool:
    names = [part.name.lower() for part in table.parts]
    is_silver = names[:-1] in ([_SCHEMA], [_CATALOG, _SCHEMA])
    return is_silver and not names[-1].endswith(WITH_TOMBSTONES)


def _edit(query: str, tokens: Sequence[Token], table: exp.Table, own: _Own) -> _Edit | None:
    """Return the replacement of a table with its version. None if its end is not known."""
    name = next(place for place, token in enumerate(tokens) if token.end == table.parts[-1].meta["end"])
    last = _last_of_version(query, tokens, name + 1, table.args["version"])
    if last is None:
        return None
    end = tokens[last].end + 1
    version = query[tokens[name].end + 1 : end]
    relation = f"{_SCHEMA}.`{table.name.lower()}{WITH_TOMBSTONES}`{version}"
    text = f"({silver_query(relation, own(table.name.lower(), relation))})"
    if not table.alias:
        after = tokens[_last_of_sample(tokens, last)].end + 1
        text, end = f"{text}{query[end:after]} AS {query[tokens[name].start : tokens[name].end + 1]}", after
    return _Edit(table.parts[0].meta["start"], end, text)


def _last_of_version(query: str, tokens: Sequence[Token], first: int, version: exp.Version) -> int | None:
    """Return the place of the last token of `VERSION AS OF …`. None if it is not found.

    The tree does not have the end of an expression. It is the end of the tokens that are parsed to that expression.
    """
    of = next(place for place in range(first, len(tokens)) if tokens[place].text.lower() == "of")
    for place in range(of + 1, len(tokens)):
        try:
            parsed = sqlglot.parse_one(
                f"SELECT {query[tokens[of + 1].start : tokens[place].end + 1]}", read="databricks"
            )
        except SqlglotError:
            continue
        if isinstance(parsed, exp.Select) and parsed.expressions == [version.expression]:
            # `current_timestamp` and `current_timestamp()` are parsed to the same.
            called = [token.token_type for token in tokens[place + 1 : place + 3]]
            return place + 2 if called == [TokenType.L_PAREN, TokenType.R_PAREN] else place
    return None


def _last_of_sample(tokens: Sequence[Token], place: int) -> int:
    """Return the place of the last token of `TABLESAMPLE (…) REPEATABLE (…)` after a place, or else the place.

    A sample is before the name that a table gets.
    """
    for start in (TokenType.TABLE_SAMPLE, TokenType.VAR):
        following = tokens[place + 1 : place + 3]
        if [token.token_type for token in following] != [start, TokenType.L_PAREN]:
            return place
        if start is TokenType.VAR and following[0].text.upper() != "REPEATABLE":
            return place
        depth = 0
        for end in range(place + 2, len(tokens)):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[end].token_type, 0)
            if not depth:
                place = end
                break
    return place


def _without_schema(column: exp.Column, names: set[str]) -> _Edit | None:
    """Return the removal of the schema in front of a column of one of some tables. None if there is no schema."""
    parts = column.parts
    texts = [part.name.lower() for part in parts]
    at = 1 if texts[0] == _CATALOG else 0
    if len(parts) < at + 3 or texts[at] != _SCHEMA or texts[at + 1] not in names:
        return None
    return _Edit(parts[0].meta["start"], parts[at + 1].meta["start"], "")
