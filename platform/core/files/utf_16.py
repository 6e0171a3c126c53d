"""Text in UTF-16, which a byte order mark proves."""

from __future__ import annotations

import codecs

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_utf_16(head: bytes) -> bool:
    """Return whether a file begins with a byte order mark of UTF-16."""
    return head.startswith(_MARKS)


def utf_16_text(head: bytes) -> str:
    """Return the text of the first bytes of such a file. They may end within a character."""
    return head[: len(head) & ~1].decode("utf-16", "replace")
