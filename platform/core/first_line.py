"""What an error, or a text of somebody else, says in one line."""

import re

#: What moves a terminal's cursor or ends a line, turns the direction of the text around it, or is no character.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def first_line(said: Exception | str) -> str:
    """The first line of an error or of a text. For an error without a text, the name of its class."""
    lines = str(said).strip().splitlines()
    if lines:
        return lines[0]
    return type(said).__name__ if isinstance(said, Exception) else ""


def one_line(text: str) -> str:
    """A text with its line ends and control characters written out as Python does: a backslash and a code.

    Producers write keys, cells and messages. These must not control a terminal or forge a line of a log.
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def visible(text: str) -> str:
    """A text with its control characters written out, like `one_line`, but with its line ends."""
    return "\n".join(map(one_line, text.split("\n")))
