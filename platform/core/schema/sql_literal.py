"""Values as literals of Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tidegate.platform.core.schema.column_types import quote_name

_QUOTED_OR_SPACE = re.compile(r"""('[^']*'|"[^"]*"|`[^`]*`)|\s+""")
#: With one of these, a line end may mean something, or a quotation mark may not be an end.
_MARKS = ("--", "/*", "\\")


def literal(value: str | bool | int) -> str:
    """Return a value as a SQL literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L"
    # Tidegate substitutes nothing, but SQL that it shows is copied to sessions that replace ${…}, in literals, too.
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def parenthesize(text: str) -> str:
    """Return an expression in parentheses. They are on lines of their own: the text may end in a comment."""
    return f"(\n{text}\n)"


def format_on_one_line(sql: str) -> str:
    """Return SQL to show, on one line if that does not change its meaning.

    Spaces in quotes stay. SQL with a comment or a backslash is returned as it is.
    """
    if any(mark in sql for mark in _MARKS):
        return sql
    return _QUOTED_OR_SPACE.sub(lambda found: found[1] or " ", sql).strip()


def properties_sql(properties: Mapping[str, str]) -> str:
    """Return table properties as SQL has them within the parentheses of TBLPROPERTIES."""
    return ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())


def delta_table(location: str) -> str:
    """Return a Delta table as SQL names it by its location. A location may contain what a key of S3 may."""
    return f"delta.{quote_name(location)}"
