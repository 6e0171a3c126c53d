"""Documents that others write: events, manifests, rows, and what is kept of them. They may hold anything.

Batches, the ledger and the Spark server keep fields of events for ever, so the fields are bounded where they are
parsed. What exceeds a bound is not a value of S3, and counts as absent, as a wrong time does.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, NoReturn

from tidegate.platform.core.errors import BadValue

#: Levels of objects and arrays in each other. Python's parser takes as many as the stack has room for, which differs
#: from place to place and from one Python to the next: what the intake parsed could not be parsed again where it was
#: forwarded. Rows have 30 at most.
MAX_LEVELS = 200
#: Values of a document, where its reader has no bound of its own. A value may be two characters of the text, and takes
#: up to two hundred bytes when it is parsed. A message of 1 MiB has no more, if it is an array of numbers of a digit.
MAX_VALUES = 1 << 19
#: What JSON takes for a space.
_SPACE = " \t\r\n"
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

#: The largest whole number that Delta, Spark and Java's `long` have.
MAX_LONG = (1 << 63) - 1
#: Characters. S3's names of events have up to 50, its sequencers 16 to 34, its etags 32 to 40, its version ids 32; AWS
#: documents 1,024 bytes for a version id.
MAX_EVENT_NAME, MAX_SEQUENCER, MAX_ETAG, MAX_VERSION_ID, MAX_TIME = 64, 64, 128, 1024, 64
#: Characters of a bucket's name. Old buckets may have 255.
MAX_BUCKET = 255


def foreign_json(text: str | bytes, *, max_values: int = MAX_VALUES) -> Any:
    """Parse a document. It may begin with one byte order mark, and has `MAX_LEVELS` at most.

    Its values are counted before it is parsed.

    A member that an object has twice refuses the document: what is decided from one of both would not hold for a reader
    that takes the other one. Names are compared as they are read, so `"a"` and its escaped form are one name.

    Args:
        text: the document.
        max_values: values, arrays and objects among them, that the document may have.

    Raises:
        ValueError: it is not such a document. The message continues a sentence whose subject is the document.
    """
    return _parse(text, max_values, _DOCUMENTS)[1]


def foreign_row(text: str) -> tuple[str, dict[str, Any]]:
    """Parse a row of data. Returns its text, which begins with `{` and ends with `}`, and its members.

    It is the text that was parsed: the byte order mark and the spaces around it are removed here and nowhere else. Its
    numbers stay texts, so that no digit is lost and no number is too long, and the reader of rows judges members that
    it has twice.

    Args:
        text: a row's text, as `foreign_json` takes a document.

    Raises:
        BadValue: it is not such a document, or no object. The message continues a sentence whose subject is the row.
    """
    parsed, content = _parse(text, MAX_VALUES, _ROWS)
    if not isinstance(content, dict):
        raise BadValue("is JSON but not an object; send one object a message")
    row = parsed.strip(_SPACE)
    if not (row.startswith("{") and row.endswith("}")):
        raise BadValue("is an object whose text is not in braces, please report it")
    return row, content


def _parse(text: str | bytes, max_values: int, decoder: json.JSONDecoder) -> tuple[str, Any]:
    """Return the text of a document without its byte order mark, and what it has."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        text = text.removeprefix("\ufeff")
        require_few_values(text, max_values)
        require_few_levels(text)
        return text, decoder.decode(text)
    except _RepeatedMember as error:
        raise BadValue(f"has the member {error} twice, and readers differ on which one counts") from None
    except _OutOfBounds as error:
        raise BadValue(str(error)) from None
    except ValueError as error:
        raise BadValue(f"is not JSON: {error}") from None


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
        raise _OutOfBounds(f"has more than {max_values:,} values; write it in parts")


def require_few_levels(text: str) -> None:
    """Refuse a text of JSON with more than `MAX_LEVELS` levels before it is parsed.

    Raises:
        ValueError: it has more. The message continues a sentence whose subject is the text.
    """
    if text.count("[") + text.count("{") <= MAX_LEVELS:
        return
    level = 0
    for found in _LEVEL.finditer(text):
        level += (0, 1, -1)[found.lastindex or 0]
        if level > MAX_LEVELS:
            raise _OutOfBounds("is nested too deeply")


def deep_value_end(text: str, start: int, max_levels: int) -> int | None:
    """Return where a value ends that has more levels; None if it has no more. Its other syntax is not looked at.

    Args:
        text: JSON.
        start: first character of the value.
        max_levels: levels that it may have.
    """
    if text[start] not in "[{":
        return None
    level = deepest = 0
    for found in _LEVEL.finditer(text, start):
        level += (0, 1, -1)[found.lastindex or 0]
        deepest = max(deepest, level)
        if level <= 0:
            return found.end() if deepest > max_levels else None
    return len(text) if deepest > max_levels else None


class _RepeatedMember(ValueError):
    pass


class _OutOfBounds(ValueError):
    pass


def _parse_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in members:
        if name in content:
            raise _RepeatedMember(repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}…")
        content[name] = value
    return content


def _refuse_number(name: str) -> NoReturn:
    raise BadValue(f"{name} is not a JSON number")


# `json.loads` would make one for each document, which takes as long as to parse a row.
_DOCUMENTS = json.JSONDecoder(object_pairs_hook=_parse_members)
_ROWS = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_number)


def bounded_text(value: Any, characters: int) -> str | None:
    """Return a text that is not empty, has up to so many characters, and can be written as UTF-8. None otherwise."""
    if not isinstance(value, str) or not 0 < len(value) <= characters:
        return None
    # JSON can escape half of a surrogate pair, which no UTF-8 file of ours could hold.
    return value if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value) else None


def size_within(value: Any) -> int | None:
    """Return a size in bytes that fits into 63 bits. None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_LONG else None
