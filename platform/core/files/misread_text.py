"""Text that was decoded by another encoding than its own: UTF-8 that was read byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.schema.sql_literal import literal

_ENCODINGS = ("latin-1", "windows-1252")
#: What decoders write for bytes that they cannot read.
_REPLACEMENT = "\ufffd"
#: Of a character in UTF-8: the bytes that begin it, and those that follow.
_FIRST, _NEXT = range(0xC2, 0xF5), range(0x80, 0xC0)
#: Of two bytes, characters that are not usual ones of Latin. One of them alone may be two others, as in `CAFÉ…`.
_UNUSUAL = range(0x100, 0x800)
_USUAL_FIRST, _FIRST_OF_MORE = range(0xC2, 0xC4), range(0xE0, 0xF5)


def is_misread(text: str) -> bool:
    """Return whether a text has replacement characters, or is UTF-8 that was read otherwise, such as `GrÃ¶ÃŸe`."""
    if _REPLACEMENT in text:
        return True
    if text.isascii():
        return False
    for encoding in _ENCODINGS:
        try:
            decoded = text.encode(encoding).decode()
        except UnicodeError:
            continue
        found = [character for character in decoded if not character.isascii()]
        if len(found) > 1 or any(ord(character) not in _UNUSUAL for character in found):
            return True
    return False


def misread_sql(columns: Sequence[str], encoding: str) -> str:
    """Return the condition that the texts of a row are UTF-8 that was read in another encoding.

    Every character beyond ASCII is then one of a sequence of UTF-8. Text that is really in that encoding hardly ever
    has such sequences only.

    Args:
        columns: names of columns of text.
        encoding: as `csv` of `lake.yaml` names it, of one byte a character.
    """
    if not columns:
        return "false"
    first, usual, of_more, after = (
        f"[{_characters(numbers, encoding)}]" for numbers in (_FIRST, _USUAL_FIRST, _FIRST_OF_MORE, _NEXT)
    )
    sequence = f"{usual}{after}|{of_more}{after}{after}|{first}{after}[\\s\\S]*{first}{after}"
    stray = f"{first}(?!{after})|(?<!{first}|{after}){after}|[^\\x00-\\x7F{first[1:-1]}{after[1:-1]}]"
    text = f"concat_ws('\\n', {', '.join(map(quote_name, columns))})"
    return f"({text} RLIKE {literal(sequence)} AND NOT {text} RLIKE {literal(stray)})"


def _characters(numbers: Sequence[int], encoding: str) -> str:
    """Return what bytes are in an encoding, as a class of a regular expression has it."""
    text = bytes(numbers).decode(encoding, "ignore")
    return "".join(f"\\x{{{ord(character):X}}}" for character in dict.fromkeys(text))
