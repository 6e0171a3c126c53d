"""How the beginning of a JSON file looks: whether each line has whole values, and its encoding."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, cast

from tidegate.platform.bronze.prepare.formats.format import Rewrite
from tidegate.platform.core.json_end import TooDeep, json_end
from tidegate.platform.core.schema.misfit import Misfit

_MAX_UNPACKED_BYTES = 4 << 30
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Utf8(Rewrite):
    """The file's text in UTF-8."""

    limit = _MAX_UNPACKED_BYTES
    streams = True
    too_large = f"unpacked, it has more than {_MAX_UNPACKED_BYTES >> 30} GiB of UTF-16; write it in UTF-8"

    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        """Copy a whole file."""
        reader = io.TextIOWrapper(io.BufferedReader(cast(io.RawIOBase, body)), "utf-16", newline="")
        try:
            while chunk := reader.read(1 << 20):
                target.write(chunk.encode())
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise Misfit(f"not UTF-16: {error.reason} at byte {error.start}; write it in UTF-8") from error


def is_utf_16(head: bytes) -> bool:
    """Return whether a file begins with a byte order mark of UTF-16."""
    return head.startswith(_UTF_16)


def is_by_line(head: bytes, *, whole: bool) -> bool:
    """Return whether the first line of a file has whole values, by its first bytes.

    The answer may be wrong: the reader of lines finds each line that is not whole. For a file of one line it is no.
    """
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head, final=whole).lstrip(" \t\r\n")
    line, end, _ = text.partition("\n")
    if not text.startswith(("{", "[")):
        return bool(end) or whole
    if not (end or whole) or text.startswith("["):
        return False
    try:
        json_end(line, 0)
    except TooDeep:
        return True
    except ValueError:
        return False
    return True
