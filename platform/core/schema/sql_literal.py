"""Values as literals of Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping


def literal(value: str | bool | int) -> str:
    """Returns a value as a SQL literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L"
    # Spark substitutes ${…} in a SQL text, inside literals too.
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def in_parentheses(text: str) -> str:
    """Returns an expression in parentheses. They are on lines of their own: the text may end in a comment."""
    return f"(\n{text}\n)"


def properties_sql(properties: Mapping[str, str]) -> str:
    """Returns table properties as SQL has them within the parentheses of TBLPROPERTIES."""
    return ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
