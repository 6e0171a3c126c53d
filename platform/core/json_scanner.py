"""Where a JSON value in a text ends. The value is checked and not built: that takes up to forty times its bytes."""

from __future__ import annotations

import re
from collections.abc import Callable

from tidegate.platform.core.errors import BadValue

#: Levels of arrays and objects in each other, as in a row (`JsonRecords` of platform/jvm).
MAX_LEVELS = 1_000
#: Levels that one expression takes at once. Each of them makes it three times as long.
_AT_ONCE = 2
#: Values that one expression takes at once, after which the time is asked for again.
_RUN = 10_000

_SPACE = r"[ \t\r\n]*+"
_STRING = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
_SCALAR = rf"(?:{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity)"
_NAME = rf"{_STRING}{_SPACE}:{_SPACE}"


def _one_level_more(value: str) -> str:
    """Return the expression of a scalar, or of an array or an object of such values."""
    elements = rf"(?:{value}{_SPACE}(?:,{_SPACE}(?!\])|(?=\])))*+"
    members = rf"(?:{_NAME}{value}{_SPACE}(?:,{_SPACE}(?!\}})|(?=\}})))*+"
    return rf"(?:{_SCALAR}|\[{_SPACE}{elements}\]|\{{{_SPACE}{members}\}})"


def _nested_pattern(levels: int) -> str:
    return _one_level_more(_nested_pattern(levels - 1)) if levels else _SCALAR


_FLAT = _nested_pattern(_AT_ONCE)
#: A value of a few levels. No repetition gives back what it took, so none takes memory for its length.
_VALUE = re.compile(_FLAT)
#: The beginning of a larger value, up to the first value in it.
_OPENING = re.compile(rf"\[{_SPACE}|\{{{_SPACE}{_NAME}")
#: By what closes the array or object: values, each with what leads to the next one.
_VALUES = {
    "]": re.compile(rf"(?:{_FLAT}{_SPACE},{_SPACE}){{0,{_RUN}}}+"),
    "}": re.compile(rf"(?:{_FLAT}{_SPACE},{_SPACE}{_NAME}){{0,{_RUN}}}+"),
}
#: By what closes the array or object: what follows a value in it.
_NEXT = {
    "]": re.compile(rf"{_SPACE}(?:\]|,{_SPACE})"),
    "}": re.compile(rf"{_SPACE}(?:\}}|,{_SPACE}{_NAME})"),
}


class TooDeep(ValueError):
    """The value has more than `MAX_LEVELS` levels."""


def json_end(text: str, start: int, ask: Callable[[], object] = lambda: None) -> int:
    """Return where the JSON value that begins at a place ends. It accepts what `json.loads` accepts.

    Args:
        start: first character of the value.
        ask: is called again and again. What it raises ends the work.

    Raises:
        TooDeep: it has too many levels.
        BadValue: it is not a JSON value. The message says where.
    """
    # What closes the arrays and objects around the place, the innermost last.
    around = list[str]()
    place = start
    while True:
        ask()
        if around:
            place = _end(_VALUES[around[-1]].match(text, place), place)
        if flat := _VALUE.match(text, place):
            place = _find_next_place(text, flat.end(), around)
            if not around:
                return place
            continue
        opening = _OPENING.match(text, place)
        if opening is None:
            raise BadValue(f"no value at character {place:,}")
        if len(around) == MAX_LEVELS - _AT_ONCE:
            raise TooDeep(f"more than {MAX_LEVELS:,} levels at character {place:,}")
        around.append("]" if text[place] == "[" else "}")
        place = opening.end()


def _find_next_place(text: str, place: int, around: list[str]) -> int:
    """Return where the next value begins, or where the whole one ends, behind the values that end at a place."""
    while around:
        following = _NEXT[around[-1]].match(text, place)
        if following is None:
            raise BadValue(f"neither ',' nor {around[-1]!r} follows the value that ends at character {place:,}")
        place = following.end()
        if text[place - 1] != around[-1]:
            break
        around.pop()
    return place


def _end(found: re.Match[str] | None, otherwise: int) -> int:
    return found.end() if found else otherwise
