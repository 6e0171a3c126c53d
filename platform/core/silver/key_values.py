"""The key of a silver row as a person writes it: `order_id=42`, one argument for each part of the key."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tidegate.platform.core.errors import DataError
from tidegate.platform.core.schema.column_types import folded


class WrongKey(DataError, ValueError):
    """The arguments are no key of the table. The message says what to write."""


def key_values(name: str, keys: Sequence[str], given: Sequence[str]) -> tuple[str | None, ...]:
    """Returns the value of each part of a key, as text. None is NULL.

    `NULL` in any case means that; a value within single quotes is taken as it is.

    Args:
        name: the silver table, for errors.
        keys: the parts of the key, as in `lake.yaml`: columns, nested fields or expressions.
        given: `part=value` each, in any order. The value begins after the first `=` behind the part.

    Raises:
        WrongKey: an argument names no part of the key, a part is named twice, or one is missing.
    """
    wanted = f"the key of {name} is {', '.join(keys)}: write {' '.join(_quoted(f'{key}=…') for key in keys)}"
    found: dict[str, str | None] = {}
    for argument in given:
        # A part may have "=" itself, and one part may begin another.
        parts = [key for key in keys if folded(argument).startswith(f"{folded(key)}=")]
        if not parts:
            raise WrongKey(f"{argument!r} gives no part of a key: {wanted}")
        key = max(parts, key=len)
        if key in found:
            raise WrongKey(f"{key} is given twice: {wanted}")
        found[key] = _value(argument[len(key) + 1 :])
    if missing := [key for key in keys if key not in found]:
        raise WrongKey(f"no value is given for {', '.join(missing)}: {wanted}")
    return tuple(found[key] for key in keys)


def _value(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    return None if text.lower() == "null" else text


def _quoted(argument: str) -> str:
    """Returns an argument as a shell takes it. The name of a column may have `$` or a backtick."""
    is_plain = argument.replace("_", "").replace("=…", "").replace(".", "").isalnum()
    return argument if is_plain else shlex.quote(argument)
