"""Members of the text of a JSON object that become null. The rest of the text stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from json import JSONDecoder

from tidegate.platform.core.json_end import json_end
from tidegate.platform.core.schema.column_types import folded

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = JSONDecoder()


def blanked_members(text: str, paths: Sequence[Sequence[str]]) -> str:
    """Returns the text with null in place of some members. Their names are compared in any case.

    Args:
        text: of a JSON object. It may begin with a byte order mark, as for `foreign_json`.
        paths: the names of each such member, from outside to inside.
    """
    wanted = [[folded(name) for name in path] for path in paths]
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    found = sorted(span for path in wanted for span in _spans(text, path, start))
    for start, end in reversed(found):
        text = f"{text[:start]}null{text[end:]}"
    return text


def _spans(text: str, path: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yields where the values of a member begin and end, in the object that begins at a place."""
    for name, begin, end in _members(text, start):
        if folded(name) != path[0]:
            continue
        if len(path) == 1:
            yield begin, end
        elif text[begin] == "{":
            yield from _spans(text, path[1:], begin)


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yields the name of each member of an object, and where its value begins and ends."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, end) + 1)
        end = json_end(text, begin)
        yield name, begin, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
