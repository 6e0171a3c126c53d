"""Whether two SQL texts are the same but for what does not count: case, spaces, and quotes around names."""

from __future__ import annotations

import re

from tidegate.platform.core.schema.column_types import folded

#: A literal, a quoted name, a word or a number, or another character. The end of the text ends a literal, too.
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.?)*+'?|"(?:[^"\\]|\\.?)*+"?|`(?P<name>[^`]*)`|(?P<word>\w+)|\S""", re.DOTALL)


def are_alike(one: str, other: str) -> bool:
    """Returns whether two SQL texts differ in nothing but case, spaces and quotes around names. Literals count."""
    return tokens(one) == tokens(other)


def tokens(text: str) -> tuple[str, ...]:
    """Returns the parts of a SQL text. Names are in lower case, without quotes."""
    return tuple(folded(found["name"] or found["word"] or "") or found[0] for found in _TOKEN.finditer(text))
