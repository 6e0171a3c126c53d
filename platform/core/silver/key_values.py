"""The key of a silver row as a person writes it: `order_id=42`, one argument for each part, and its SQL."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.casts import cast, try_cast
from tidegate.platform.core.schema.column_types import Array, Simple, Struct, Type, fold_name
from tidegate.platform.core.schema.exact_json import exact_json, from_exact_json
from tidegate.platform.core.schema.sql_literal import literal

_BINARY, _TEXT = Simple("binary"), Simple("string")


def key_values(name: str, keys: Sequence[str], given: Sequence[str]) -> tuple[str | None, ...]:
    """Return the value of each part of a key, as text. None is NULL.

    `NULL` in any case means that; a value within single quotes is taken as it is.

    Args:
        name: the silver table, for errors.
        keys: the parts of the key, as in `lake.yaml`: columns, nested fields or expressions.
        given: `part=value` each, in any order. The value begins after the first `=` behind the part.

    Raises:
        BadValue: an argument names no part of the key, a part is named twice, or one is missing.
    """
    wanted = f"the key of {name} is {', '.join(keys)}: write {' '.join(_quote_argument(f'{key}=…') for key in keys)}"
    found: dict[str, str | None] = {}
    for argument in given:
        # A part may have "=" itself, and one part may begin another.
        parts = [key for key in keys if fold_name(argument).startswith(f"{fold_name(key)}=")]
        if not parts:
            raise BadValue(f"{argument!r} gives no part of a key: {wanted}")
        key = max(parts, key=len)
        if key in found:
            raise BadValue(f"{key} is given twice: {wanted}")
        found[key] = _value(argument[len(key) + 1 :])
    if missing := [key for key in keys if key not in found]:
        raise BadValue(f"no value is given for {', '.join(missing)}: {wanted}")
    return tuple(found[key] for key in keys)


def _value(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    return None if text.lower() == "null" else text


def _quote_argument(argument: str) -> str:
    """Return an argument as a shell takes it. The name of a column may have `$` or a backtick."""
    is_plain = argument.replace("_", "").replace("=…", "").replace(".", "").isalnum()
    return argument if is_plain else shlex.quote(argument)


def text_of(kind: Type, value: str) -> str:
    """Return SQL of the text of a value. Different values have different texts.

    A struct and an array have JSON, and binary values have base64.
    """
    if isinstance(kind, Array | Struct):
        return exact_json(value)
    return f"base64({value})" if kind == _BINARY else f"CAST({value} AS STRING)"


def value_of(kind: Type, text: str) -> str:
    """Return SQL of the value that has a text."""
    if isinstance(kind, Array | Struct):
        return from_exact_json(text, kind.sql())
    return f"unbase64({literal(text)})" if kind == _BINARY else cast(_TEXT, kind, literal(text))


def is_missing_value(kind: Type, text: str) -> str:
    """Return the condition that a text is that of no value."""
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
