"""Which columns of bronze a column of silver comes from, by the rules of the merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.platform.core.config.silver_columns import DELETED, KEY
from tidegate.platform.core.schema.column_types import fold_name, quote_name
from tidegate.platform.core.silver.row_value import ROW_VALUE
from tidegate.platform.core.silver.rules import MergeRules


def column_sources(rules: MergeRules, bronze: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of bronze that decide the value of each column of silver, in bronze's order.

    A column whose expression cannot be read is left out: the merge does not depend on this.

    Args:
        bronze: names of bronze's columns.
    """
    known = {fold_name(name): name for name in bronze}
    row = _named_columns(rules.row, known) if rules.row else set()

    def sources(sql: str) -> set[str]:
        found = _named_columns(sql, {**known, ROW_VALUE: ROW_VALUE})
        return (found - {ROW_VALUE}) | (row if ROW_VALUE in found else set())

    own = {name: sources(value) for name, value in rules.values.items() if name != KEY}
    if KEY in rules.values:
        # Its parts are expressions over the columns of silver.
        parts = _named_columns(rules.values[KEY], {fold_name(name): name for name in own})
        own[KEY] = set().union(*(own[name] for name in parts))
    own[DELETED] = sources(rules.deleted)
    return {name: tuple(column for column in bronze if column in found) for name, found in own.items() if found}


def _named_columns(sql: str, known: Mapping[str, str]) -> set[str]:
    """Return those of the known columns that an expression names, alone or with a nested field.

    Args:
        sql: an expression.
        known: names as they are, by name in lower case: Spark resolves columns case-insensitively.
    """
    plain = {quote_name(name): name for name in known.values()} | {"false": None}
    if sql in plain:
        return {name} if (name := plain[sql]) else set()
    # The code location and merges of plain columns do without this import.
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, read="databricks")
    except SqlglotError:
        return set()
    roots = {fold_name(column.parts[0].name) for column in tree.find_all(exp.Column)}
    return {name for lower, name in known.items() if lower in roots}
