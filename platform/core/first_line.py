"""What an error, or a text of somebody else, says in one line."""

import json
import re

#: What moves a terminal's cursor or ends a line, turns the direction of the text around it, is not visible, or is no
#: character. Joiners stay, which some scripts and emoji need.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)


def first_line(said: Exception | str) -> str:
    """The first line of an error or of a text, as `one_line` writes it. For an error without a text, its class."""
    lines = str(said).strip().splitlines()
    if lines:
        return one_line(lines[0])
    return type(said).__name__ if isinstance(said, Exception) else ""


def one_line(text: str) -> str:
    """A text with its line ends and control characters written out as Python does: a backslash and a code.

    Producers write keys, cells and messages. These must not control a terminal or forge a line of a log.
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def visible(text: str) -> str:
    """A text with its control characters written out, like `one_line`, but with its line ends."""
    return "\n".join(map(one_line, text.split("\n")))


def visible_json(text: str) -> str:
    """A JSON text with the control characters of its values written as JSON's own escapes. It stays JSON."""
    return _CONTROL.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], text)
