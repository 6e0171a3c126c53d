"""The text of a value of a key: what a person writes, and what two keys are compared by."""

from __future__ import annotations

import json

from tidegate.platform.core.schema.casts import cast, try_cast
from tidegate.platform.core.schema.column_types import Array, Simple, Struct, Type
from tidegate.platform.core.schema.exact_json import exact_json, from_exact_json
from tidegate.platform.core.schema.sql_literal import literal

_BINARY, _TEXT = Simple("binary"), Simple("string")


def text_of(kind: Type, value: str) -> str:
    """Returns SQL of the text of a value. Different values have different texts.

    A struct and an array have JSON, and binary values have base64.
    """
    if isinstance(kind, Array | Struct):
        return exact_json(value)
    return f"base64({value})" if kind == _BINARY else f"CAST({value} AS STRING)"


def value_of(kind: Type, text: str) -> str:
    """Returns SQL of the value that has a text."""
    if isinstance(kind, Array | Struct):
        return from_exact_json(text, kind.sql())
    return f"unbase64({literal(text)})" if kind == _BINARY else cast(_TEXT, kind, literal(text))


def is_no_value(kind: Type, text: str) -> str:
    """Returns the condition that a text is that of no value."""
    if isinstance(kind, Array | Struct):
        return "false" if _is_json(text, list if isinstance(kind, Array) else dict) else "true"
    given = literal(text)
    tried = f"try_to_binary({given}, 'base64')" if kind == _BINARY else try_cast(_TEXT, kind, given)
    return f"{tried} IS NULL"


def _is_json(text: str, kind: type) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except ValueError:
        return False
