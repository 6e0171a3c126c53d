"""How texts for people are written: on one line, the first few of many, numbers with a noun or a unit, and commands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

#: What moves a terminal's cursor or ends a line, turns the direction of the text around it, is not visible, or is not a
#: character. Joiners stay, which some scripts and emoji need.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)

#: A no-break space: the UI gives a page a narrow column.
NARROW = "\u202f"


def first_line(said: Exception | str) -> str:
    """Return the first line of an error or of a text, as `one_line` writes it.

    For an error without a text, its class.
    """
    lines = str(said).strip().splitlines()
    if lines:
        return one_line(lines[0])
    return type(said).__name__ if isinstance(said, Exception) else ""


def one_line(text: str) -> str:
    """Return a text with its line ends and control characters written out as Python does: a backslash and a code.

    Producers write keys, cells and messages. These must not control a terminal or forge a line of a log.
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def show_controls(text: str) -> str:
    """Return a text with its control characters written out, like `one_line`, but with its line ends."""
    return "\n".join(map(one_line, text.split("\n")))


def visible_json(text: str) -> str:
    """Return a JSON text with the control characters of its values written as JSON's own escapes. It stays JSON."""
    return _CONTROL.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], text)


def first_texts(texts: Sequence[str], most: int, total: int | None = None) -> list[str]:
    """Return the first texts, and after them the number of the others as a text, if there are others.

    Args:
        texts: the texts, or the first of them.
        most: maximum number of texts.
        total: number of all texts. None: `texts` has all.
    """
    more = (len(texts) if total is None else total) - len(texts[:most])
    return [*texts[:most], *([f"and {more:,} more"] if more > 0 else [])]


def number_of(count: int, noun: str) -> str:
    """Return a number and its noun: `1 row`, `0 rows`, `1,200 rows`.

    Args:
        count: the number.
        noun: in the singular. Its plural has an `s`.
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def size_text(size: int) -> str:
    """Return a number of bytes in short form, such as `1.2 MB`."""
    value, units = float(size), iter(("B", "kB", "MB", "GB", "TB", "PB"))
    unit = next(units)
    while value >= 1000 and unit != "PB":
        value, unit = value / 1000, next(units)
    return f"{value:.3g}{NARROW}{unit}" if value < 1000 else f"{value:,.0f}{NARROW}{unit}"


def span(seconds: float) -> str:
    """Return a duration in short form: `2d 3h`, `2h 5m`, `4m`, `5s`."""
    left = max(0, int(seconds))
    if left < 3600:
        return f"{left // 60}m" if left >= 60 else f"{left}s"
    (unit, length), (lesser, part) = (("d", 86400), ("h", 3600)) if left >= 86400 else (("h", 3600), ("m", 60))
    rest = left % length // part
    return f"{left // length}{unit}" + (f"{NARROW}{rest}{lesser}" if rest else "")


def command(*words: str) -> str:
    """Return a command that a shell runs with these words, whatever their letters.

    A word that is not plain is between single quotes: between double ones an interactive shell replaces `!`, `$` and
    backticks, and what it puts there may end the quotes.

    Args:
        words: the command's, after `tidegate`.
    """
    return shlex.join(["tidegate", *words])
