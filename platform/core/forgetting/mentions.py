"""Mentions of a subject in a text that is not a proper row, as that of a bad row or of a message: found, or made null.

`Mentions` and `PlainNumber` of platform/jvm do the same. They are tested with the same texts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from json import JSONDecoder

from tidegate.platform.core.json_scanner import json_end
from tidegate.platform.core.schema.column_types import fold_name

#: What ends a word of JSON, and a cell of any CSV. An identity may contain any other character.
_WORD_ENDS = re.compile(r"[\s\"',:;|{}\[\]()<>=\\]", re.ASCII)
_CELL_ENDS = re.compile(r"[\r\n,;|\t]")
#: Delimiters of CSV. The cells of each are cells of their own.
_DELIMITERS = (*map(chr, range(ord(" "))), *",;|:~^!#$%&*?`\x7f¦§¬")
#: What is between two quotation marks that are not escaped, or a mark and an end of the text.
_QUOTED = re.compile(r"[^\"\\]*+(?:\\.?[^\"\\]*+)*+", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

#: A number has so many digits at most: a short text such as 1e999999999 has no end.
MAX_DIGITS = 1_000
_MAX_EXPONENT_DIGITS = 9
_NUMBER = re.compile(
    r"([+-]?)(?=[.,]?[0-9])([0-9]*+)(?:[.,]([0-9]*+))?(?:[eE]([+-]?)0*+([0-9]*+))?+(?<=[0-9.,])", re.ASCII
)

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = JSONDecoder()


def mentions(text: str, is_known: Callable[[str], bool]) -> bool:
    """Return whether a word, a cell or a quoted part of a text is a known subject, or a number that is one.

    A line that is not UTF-8 is Base64 in the quarantine. Each part is asked for when it is found, because a text of
    many megabytes has very many.
    """
    if any(map(is_known, _identities(text))):
        return True
    if len(text) % 4 or not _BASE64.fullmatch(text):
        return False
    line = base64.b64decode(text)
    # A broken byte in one place leaves the letters of other places whole.
    return any(any(map(is_known, _identities(line.decode(name, "replace")))) for name in ("latin-1", "utf-8"))


def _identities(text: str) -> Iterator[str]:
    for part in filter(None, _parts(text)):
        yield part
        number = plain_number(part)
        if number is not None and number != part:
            yield number


def _parts(text: str) -> Iterator[str]:
    yield from _cells(text, _WORD_ENDS)
    # The text between two quotation marks: the line may be cut off, or begin in a quoted part.
    yield from _cells(text, re.compile(r'["\r\n]'))
    yield from _cells(text, _CELL_ENDS)
    for delimiter in _DELIMITERS:
        if delimiter in text:
            yield from _cells(text, re.compile(f"[\r\n{re.escape(delimiter)}]"))
    yield from _quoted_texts(text)
    for mark in "\"'":
        if mark in text:
            yield from _csv_quoted_texts(text, mark)


def _cells(text: str, ends: re.Pattern[str]) -> Iterator[str]:
    """Yield each part as it is, without the spaces around it, and also without quotation marks."""
    start = 0
    while start <= len(text):
        end = ends.search(text, start)
        part = text[start : end.start() if end else len(text)]
        cell = part.strip()
        unquoted = cell.strip("\"'")
        yield part
        if len(cell) < len(part):
            yield cell
        if len(unquoted) < len(cell):
            yield unquoted
        start = end.end() if end else len(text) + 1


def _quoted_texts(text: str) -> Iterator[str]:
    """Yield what is between quotation marks, with and without escapes, in one pass.

    What is outside of quotation marks is yielded too, because the text may begin in a quoted part.
    """
    for found in _QUOTED.finditer(text):
        yield found[0]
        if "\\" in found[0]:
            yield _undo_escapes(found[0])


def _csv_quoted_texts(text: str, mark: str) -> Iterator[str]:
    """Yield what is between quotation marks of CSV, in which a doubled mark stands for one.

    An odd number of marks begins or ends a cell, and all but one of them are doubled marks within the cell.
    """
    kept, at = list[str](), 0
    for found in re.finditer(f"{mark}+", text):
        pairs, is_end = divmod(len(found[0]), 2)
        kept += [text[at : found.start()], mark * pairs]
        at = found.end()
        if is_end:
            yield "".join(kept)
            kept = [mark * pairs]
    yield "".join([*kept, text[at:]])


def _undo_escapes(quoted: str) -> str:
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else escape[2], quoted)
    # JSON escapes a character outside of Unicode's first plane as two surrogates.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def plain_number(text: str) -> str | None:
    """Return the plain spelling of a number of JSON or CSV: 42, as Spark writes it, is that of 42.0 and 4.2e001.

    Returns None for another text, and for a number of too many digits.
    """
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    sign, whole, fraction, minus, exponent = (group or "" for group in found.groups())
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "0"
    if len(exponent) > _MAX_EXPONENT_DIGITS:
        return None
    shift = int(f"{minus}{exponent or 0}") - len(fraction) + len(digits) - len(kept)
    if len(kept) + abs(shift) > MAX_DIGITS:
        return None
    if shift >= 0:
        plain = kept + "0" * shift
    else:
        padded = kept.rjust(1 - shift, "0")
        plain = f"{padded[:shift]}.{padded[shift:]}"
    return f"-{plain}" if sign == "-" else plain


def blanked_members(text: str, paths: Sequence[Sequence[str]]) -> str:
    """Return the text with null in place of some members. Their names are compared in any case.

    Args:
        text: of a JSON object. It may begin with a byte order mark, as for `foreign_json`.
        paths: the names of each such member, from outside to inside.
    """
    wanted = [[fold_name(name) for name in path] for path in paths]
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    found = sorted(span for path in wanted for span in _spans(text, path, start))
    for start, end in reversed(found):
        text = f"{text[:start]}null{text[end:]}"
    return text


def _spans(text: str, path: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Yield where the values of a member begin and end, in the object that begins at a place."""
    for name, begin, end in _members(text, start):
        if fold_name(name) != path[0]:
            continue
        if len(path) == 1:
            yield begin, end
        elif text[begin] == "{":
            yield from _spans(text, path[1:], begin)


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each member of an object, and where its value begins and ends."""
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
