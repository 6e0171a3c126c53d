"""JSON files that are not one object a line: arrays, objects over several lines, objects side by side."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from tidegate.assets.bronze.prepare.formats.format import Rewrite
from tidegate.platform.core.schema.column_types import MAX_LEVELS
from tidegate.platform.core.schema.misfit import Misfit

#: A file is rewritten up to this many bytes, unpacked, because it is parsed as a whole.
_MAX_BYTES = 1 << 28
_SPACE = re.compile(r"[ \t\r\n]*")
_SEPARATOR = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")
_LINE_END = re.compile(r"[\r\n]+")
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DECODER = json.JSONDecoder()
_TOO_DEEP = f"its objects are nested deeper than {MAX_LEVELS} levels; write deeper parts as text"


class OneObjectALine(Rewrite):
    """The same objects as JSON lines, each written as before except for its line ends."""

    limit = _MAX_BYTES
    streams = False
    too_large = f"a JSON file that is not one object a line is read up to {_MAX_BYTES >> 20} MiB; write JSON lines"

    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        """Copy a whole file."""
        for value in _values(_text(body.read())):
            target.write(_LINE_END.sub(" ", value).encode())
            target.write(b"\n")


def needs_rewrite(head: bytes, *, whole: bool) -> bool:
    """Return whether a file is JSON, but not one object a line, by its first bytes.

    Raises:
        Misfit: the file is nested so deep that its shape cannot be found.
    """
    if head.startswith(_BOMS):
        return True
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head, final=whole)
    start = _end(_SPACE, text, 0)
    if text.startswith("[", start):
        return True
    if not text.startswith("{", start):
        return False
    try:
        return _is_split(text, start, whole=whole)
    except RecursionError as error:
        raise Misfit(_TOO_DEEP) from error


def _is_split(text: str, start: int, *, whole: bool) -> bool:
    """Return whether the object that begins at `start` does not fill exactly one line."""
    line = text[start:].split("\n", 1)[0]
    try:
        _, end = _DECODER.raw_decode(line)
    except ValueError:
        # The line is broken, or the object continues in the next line: its first line alone is no object.
        return _continues(text, start, whole=whole)
    rest = line[end:].strip()
    return rest.startswith(("{", ",")) and _is_json(rest.lstrip(","))


def _continues(text: str, start: int, *, whole: bool) -> bool:
    try:
        _, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        # The text may be cut off: it has no fault as far as it was read.
        return not whole and getattr(error, "pos", 0) >= len(text) - 1
    return "\n" in text[start:end]


def _is_json(text: str) -> bool:
    try:
        _DECODER.raw_decode(text.lstrip())
    except ValueError:
        return False
    return True


def _text(raw: bytes) -> str:
    encoding = "utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return io.TextIOWrapper(io.BytesIO(raw), encoding, newline="").read()
    except UnicodeDecodeError as error:
        raise Misfit(f"not UTF-8: {error.reason} at byte {error.start}") from error


def _values(text: str) -> Iterator[str]:
    """Yield the text of each top-level value, or of each element if the file is one array."""
    at = _end(_SPACE, text, 0)
    inside = text.startswith("[", at)
    at = _end(_SPACE, text, at + 1) if inside else at
    while at < len(text):
        if inside and text[at] == "]":
            if _end(_SPACE, text, at + 1) < len(text):
                raise Misfit(f"something follows its JSON array, at character {at + 1}; leave it out")
            return
        try:
            _, end = _DECODER.raw_decode(text, at)
        except ValueError as error:
            raise Misfit(f"not JSON: {error}; write one JSON object a line") from error
        except RecursionError as error:
            raise Misfit(_TOO_DEEP) from error
        yield text[at:end]
        at = _end(_SEPARATOR, text, end)
    if inside:
        raise Misfit("its JSON array has no end: the file was cut off; write it again")


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
