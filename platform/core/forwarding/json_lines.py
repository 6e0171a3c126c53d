"""JSON arrays as JSON lines. The text of each value stays as it is, so that numbers keep all of their digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tidegate.platform.core.json_end import TooDeep, json_end

_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_ENDS = re.compile(r"[\r\n]+")


def json_lines(text: str, ask: Callable[[], object] = lambda: None) -> Iterator[str]:
    """Yield the elements of an array, each on a line. A text of other values, one after the other, gives these values.

    Args:
        text: the array, or the values.
        ask: is called for each element, and again and again within a long one. What it raises ends the work.

    Raises:
        ValueError: the text is not JSON. The message says where.
    """
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if not text.startswith("[", start):
        while start < len(text):
            line, start = _value(text, start, ask)
            yield line
        return
    place = _skip(text, start + 1)
    if text.startswith("]", place):
        _require_end(text, place + 1)
        return
    while True:
        line, place = _value(text, place, ask)
        yield line
        if text.startswith("]", place):
            _require_end(text, place + 1)
            return
        if not text.startswith(",", place):
            raise ValueError(f"neither ',' nor ']' follows the element of the array that ends at character {place:,}")
        place = _skip(text, place + 1)


def _value(text: str, start: int, ask: Callable[[], object]) -> tuple[str, int]:
    """Return the value at a place, without line ends, and the place of what follows."""
    try:
        end = json_end(text, start, ask)
    except TooDeep:
        raise ValueError(f"the value at character {start:,} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    return _LINE_ENDS.sub(" ", text[start:end]), _skip(text, end)


def _require_end(text: str, place: int) -> None:
    if _skip(text, place) != len(text):
        raise ValueError(f"something follows the array, at character {_skip(text, place):,}")


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
