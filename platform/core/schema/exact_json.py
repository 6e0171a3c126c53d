"""SQL of JSON that keeps every digit of a time. Spark's own formats cut a time to milliseconds."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.core.schema.sql_literal import literal

#: Options of JSON and CSV. A fraction is optional where a text is read: older versions wrote three digits, or none.
EXACT_TIMES: Mapping[str, str] = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}
_FORMATS = ", ".join(literal(text) for option in EXACT_TIMES.items() for text in option)


def exact_json(value: str) -> str:
    """Return SQL of a struct as JSON, in which different values differ."""
    return f"to_json({value}, map({_FORMATS}))"


def from_exact_json(text: str, sql_type: str) -> str:
    """Return SQL of the struct of a type whose JSON is in a text."""
    return read_exact_json(literal(text), sql_type)


def read_exact_json(value: str, sql_type: str) -> str:
    """Return SQL of the struct of a type whose JSON is the value of an expression."""
    return f"from_json({value}, {literal(sql_type)}, map({_FORMATS}))"
