"""Values as YAML that `read_yaml` reads as the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

#: What YAML does not allow in a text, and what would be read as a line end.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def flow(value: Any) -> str:
    """Returns a text, a number, a list or a mapping as YAML in one line. Nothing in it is expanded when it is read."""
    if isinstance(value, Mapping):
        # Variables are expanded in values, not in keys.
        return "{" + ", ".join(f"{_quoted(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _quoted(value.replace("${", "$${")) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
