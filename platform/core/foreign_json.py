"""JSON documents that others write: events, manifests, rows, and what is kept of them. They may hold anything."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, NoReturn

#: Levels of objects and arrays in each other. Python's parser takes as many as the stack has room for, which differs
#: from place to place: what the intake parsed could not be parsed again where it was forwarded. Rows have 30 at most.
MAX_LEVELS = 200
#: Values of a document, where its reader has no bound of its own. A value may be two characters of the text, and takes
#: up to two hundred bytes when it is parsed. A message of 1 MiB has no more, if it is an array of numbers of a digit.
MAX_VALUES = 1 << 19
#: A text, or what begins one and does not end it.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
#: A text, or in a group what begins a level, and in another what ends one.
_LEVEL = re.compile(rf"{_STRING}|([\[{{])|([\]}}])", re.DOTALL)
#: What each value but the outermost one is behind.
_MARKS = ",[{"
#: A text, or in a group such a mark.
_MARK = re.compile(rf"{_STRING}|([,\[{{])", re.DOTALL)
#: Characters of a name in an error.
_SHOWN = 100


def foreign_json(text: str | bytes, *, is_row: bool = False, max_values: int = MAX_VALUES) -> Any:
    """Parse a document. It may begin with a byte order mark, and has `MAX_LEVELS` at most.

    Its values are counted before it is parsed.

    A member that an object has twice refuses the document: what is decided from one of both would not hold for a reader
    that takes the other one. Names are compared as they are read, so `"a"` and its escaped form are one name.

    Args:
        text: the document.
        is_row: it is a row of data. Its numbers stay texts, so that no digit is lost and no number is too long, and the
            reader of rows judges members that it has twice.
        max_values: values, arrays and objects among them, that the document may have.

    Raises:
        ValueError: it is no such document. The message continues a sentence whose subject is the document.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        text = text.removeprefix("\ufeff")
        require_few_values(text, max_values)
        if _is_deep(text):
            raise _TooDeep
        if is_row:
            return json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_number)
        return json.loads(text, object_pairs_hook=_each_once)
    except _RepeatedMember as error:
        raise ValueError(f"has the member {error} twice, and readers differ on which one counts") from None
    except (_TooDeep, RecursionError):
        raise ValueError("is nested too deeply") from None
    except _TooManyValues as error:
        raise ValueError(str(error)) from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None


def require_few_values(text: str, max_values: int = MAX_VALUES) -> None:
    """Refuse a text of JSON with more values before it is parsed. An empty array or object counts as two.

    Raises:
        ValueError: it has more. The message continues a sentence whose subject is the text.
    """
    if sum(map(text.count, _MARKS)) < max_values:
        return
    # One by one: to leave out the texts of a document takes memory for each of them.
    marks = (found for found in _MARK.finditer(text) if found.lastindex)
    if next(islice(marks, max_values - 1, None), None):
        raise _TooManyValues(f"has more than {max_values:,} values; write it in parts")


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_LEVELS:
        return False
    level = 0
    for found in _LEVEL.finditer(text):
        level += (0, 1, -1)[found.lastindex or 0]
        if level > MAX_LEVELS:
            return True
    return False


class _RepeatedMember(ValueError):
    pass


class _TooDeep(ValueError):
    pass


class _TooManyValues(ValueError):
    pass


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in members:
        if name in content:
            raise _RepeatedMember(repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}…")
        content[name] = value
    return content


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
