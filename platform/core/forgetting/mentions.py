"""Finds out whether a text that is no proper row names a subject: the text of a bad row, or of a message.

`Suppression.mentions` of platform/jvm does the same. Both are tested with the same texts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from decimal import Decimal

#: What ends a word of JSON, and a cell of CSV. An identity may contain any other character.
_WORDS = re.compile(r"[\s\"',:;|{}\[\]()<>=\\]+", re.ASCII)
_CELLS = re.compile(r"[\r\n,;|\t]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
#: A number of JSON that may be a whole one in another spelling, as 42.0 and 4.2e1 are: a load reads it as that.
_NUMBER = re.compile(r"-?\d{1,38}(?:\.\d{1,38})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def mentions(text: str, is_known: Callable[[str], bool]) -> bool:
    """Return whether a word, a cell or a quoted part of a text is a known subject.

    A line that is no UTF-8 is Base64 in the quarantine.
    """
    parts = set(_parts(text))
    if len(text) % 4 == 0 and _BASE64.fullmatch(text):
        parts.update(_parts(base64.b64decode(text).decode("latin-1")))
    parts.update(filter(None, map(_whole_number, list(parts))))
    return any(is_known(part) for part in parts if part)


def _whole_number(part: str) -> str | None:
    """Return the digits of a whole number, however it is written."""
    if not _NUMBER.fullmatch(part):
        return None
    digits, _, fraction = format(Decimal(part), "f").partition(".")
    return None if fraction.strip("0") else digits


def _parts(text: str) -> Iterator[str]:
    yield from _WORDS.split(text)
    for cell in _CELLS.split(text):
        yield cell.strip()
        yield cell.strip().strip("\"'")
    # A quotation mark that has no other: the line may be cut off.
    yield from re.split(r'["\r\n]', text)
    for quoted in _QUOTED.finditer(text):
        yield quoted[1]
        yield _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], quoted[1])
