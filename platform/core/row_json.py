"""JSON that Spark writes of rows. Its VARIANTs may have more levels than Python parses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tidegate.platform.core.foreign_json import MAX_LEVELS

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def row_json(
    text: str,
    *,
    parse_float: Callable[[str], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Parse JSON of a row or of a value. What is below `MAX_LEVELS` levels becomes the text of its JSON.

    Spark takes 1,000 levels, and Python as many as its stack has room for.

    Args:
        text: the JSON. It is valid.
        parse_float: as `json.loads` has it.
        object_pairs_hook: as `json.loads` has it.
    """
    return json.loads(flatten_deep_json(text), parse_float=parse_float, object_pairs_hook=object_pairs_hook)


def flatten_deep_json(text: str) -> str:
    """Return JSON in which what is below `MAX_LEVELS` levels is the text of its JSON.

    Args:
        text: JSON. It is valid.
    """
    if text.count("[") + text.count("{") <= MAX_LEVELS:
        return text
    parts, level, start, end = list[str](), 0, 0, 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if found[0] in "[{":
            level += 1
            if level == MAX_LEVELS + 1:
                start = found.start()
        elif found[0] in "]}":
            if level == MAX_LEVELS + 1:
                parts += text[end:start], json.dumps(text[start : found.end()], ensure_ascii=False)
                end = found.end()
            level -= 1
    return "".join([*parts, text[end:]])
