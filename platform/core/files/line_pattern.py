"""A pattern whose named groups are the columns of a line of text.

Python only checks a pattern, and never matches a producer's line with it: the server does, in bounded steps.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.schema.column_types import fold_name

#: What a pattern consists of, as far as groups are concerned: a reference, an escape, a class, a named group, a group.
_PART = re.compile(
    r"(?P<reference>\\[1-9]|\(\?(?:P[=>]|\())|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|\(\?P?<(?P<name>[A-Za-z_]\w*)>|(?P<group>\((?!\?))",
    re.DOTALL,
)
#: Groups of a pattern: within each other, each takes room on the stack of a compiler.
_MAX_GROUPS = 150
_REFERENCES = "a reference to a group (\\1, (?P=name)) is not possible: write what it stands for"


@dataclass(frozen=True)
class LinePattern:
    """A pattern of whole lines.

    Attributes:
        names: of the columns, in the order of the groups.
        groups: the pattern as Java's regular expression, whose only groups are the columns.
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

    def replace_part(part: re.Match[str]) -> str:
        if part["reference"]:
            raise BadSetting(_REFERENCES)
        if part["name"]:
            names.append(part["name"])
            return "("
        return "(?:" if part["group"] else part[0]

    groups = _PART.sub(replace_part, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # A set within a set, which only Java knows.
            known = re.compile(groups).groups
    except (re.error, FutureWarning, OverflowError) as error:
        raise BadSetting(f"it is not a regular expression: {error}") from error
    if known != len(names) or not names:
        raise BadSetting("it names no columns: give each part that is a column a name, such as (?P<status>[0-9]+)")
    twice = {name for name in names if [fold_name(other) for other in names].count(fold_name(name)) > 1}
    if twice:
        raise BadSetting(f"it has two parts with the name {min(twice)}; rename one")
    return LinePattern(tuple(names), groups)
