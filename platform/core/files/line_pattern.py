"""A pattern whose named groups are the columns of a line of text.

Python only checks a pattern, and never matches a producer's line with it: the server does, in bounded steps.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.schema.column_types import fold_name

_ESCAPE = r"\\(?:[dDwWsStnrf]|x[0-9A-Fa-f]{2}|u(?![dD][89A-Fa-f])[0-9A-Fa-f]{4}|[ -/:-@\[-`{-~])"
#: What a pattern consists of: only what Python and each Java read alike. A reference, to name it; an escape; a class;
#: groups, of which one may have a name; how often; a character.
_PART = re.compile(
    rf"(?P<reference>\\[1-9]|\(\?(?:P[=>]|\())|{_ESCAPE}|\[\^?+(?:{_ESCAPE}|&(?!&)|[^\\\[\]&])+\]"
    r"|\(\?P?<(?P<name>[A-Za-z_]\w*)>|(?P<group>\((?!\?))|\(\?(?:-?i)?:|\(\?(?:<?[=!]|>)|\A\(\?i\)"
    r"|[*+?][?+]?|\{[0-9]{1,4}(?:,[0-9]{0,4})?\}[?+]?|[^\\\[({*+?]"
)
#: The server's engine knows no letters and digits but those of ASCII, and its dot is any character.
MEANING = re.ASCII | re.DOTALL
#: Groups of a pattern: within each other, each takes room on the stack of a compiler.
_MAX_GROUPS = 150
#: Characters of a pattern that a message shows.
_SHOWN = 10
_REFERENCES = "a reference to a group (\\1, (?P=name)) is not possible: write what it stands for"


@dataclass(frozen=True)
class LinePattern:
    """A pattern of whole lines.

    Attributes:
        names: of the columns, in the order of the groups.
        groups: the pattern as Java's regular expression, whose only groups are the columns. With `MEANING`, it is
            Python's, too.
    """

    names: tuple[str, ...]
    groups: str


def parse_line_pattern(text: str) -> LinePattern:
    """Return the columns of a pattern. What Python and Java read differently, or one of them not at all, is refused.

    Raises:
        BadSetting: it is not such a pattern; the message is the problem.
    """
    if text.count("(") > _MAX_GROUPS:
        raise BadSetting(
            f"it has more than {_MAX_GROUPS} groups; name the parts that you need, and leave the rest to .*"
        )
    names: list[str] = []
    groups, at = "", 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise BadSetting(
                f"it cannot have {text[at : at + _SHOWN]!r}, because not every engine reads it alike: write a sign by "
                r"itself as \[, \{ or \\, also in a class, or as \u005b; there are \d, \w, \s, {2,5}, (?i), (?:…)"
            )
        if part["reference"]:
            raise BadSetting(_REFERENCES)
        if part["name"]:
            names.append(part["name"])
        groups += "(" if part["name"] else "(?:" if part["group"] else part[0]
        at = part.end()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Sets that Python may read otherwise one day.
            known = re.compile(groups, MEANING).groups
    except (re.error, FutureWarning, OverflowError) as error:
        raise BadSetting(f"it is not a regular expression: {error}") from error
    if known != len(names) or not names:
        raise BadSetting("it names no columns: give each part that is a column a name, such as (?P<status>[0-9]+)")
    twice = {name for name in names if [fold_name(other) for other in names].count(fold_name(name)) > 1}
    if twice:
        raise BadSetting(f"it has two parts with the name {min(twice)}; rename one")
    return LinePattern(tuple(names), groups)
