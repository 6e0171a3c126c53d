"""Texts of others as Markdown of Dagster's pages, where nothing in them becomes a link, an image or HTML.

The UI loads images of any server and makes links of addresses, so a name of a column could call a reader elsewhere, and
report who looks at a page. Every text that is not Tidegate's own goes through one of these functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import dagster as dg

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.first_line import one_line

#: Characters with a meaning in Markdown, wherever they are.
_MARKS = re.compile(r"([\\`*_\[\]<>|~&])")
#: What begins a heading, or an item of a list.
_START = re.compile(r"^(\d*)([#+.)-])")
#: What Markdown of GitHub makes a link of, whatever is escaped in it.
_LINK = re.compile(r"://|www\.|@|mailto:|xmpp:", re.IGNORECASE)


def code(text: str) -> str:
    """Returns a text as code of Markdown, which the UI shows as it is: no `*` or `_` of it changes the letters."""
    text = one_line(text)
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks} {text} {marks}" if len(marks) > 1 else f"`{text}`"


def prose(text: object) -> str:
    """Returns a text as Markdown that shows it. Words that would become links are shown as code."""
    words = one_line(str(text).strip()).split(" ")
    written = " ".join(code(word) if _LINK.search(word) else _MARKS.sub(r"\\\1", word) for word in words)
    return _START.sub(r"\1\\\2", written)


def cell(text: str, show: Callable[[str], str] = prose) -> str:
    """Returns a text as `prose` or as `code`, for a cell of a table."""
    # Within a table, a backslash keeps a bar from ending the cell in code, too.
    return re.sub(r"(?<!\\)\|", r"\\|", show(" ".join(text.split())))


def listed(lines: Iterable[object], show: Callable[[str], str] = prose) -> dg.MarkdownMetadataValue:
    """Returns lines as metadata, each in a line of its own.

    Args:
        lines: texts.
        show: `code` for commands.
    """
    return dg.MetadataValue.md("\n".join(f"- {show(str(line))}" for line in lines))


def described(spec: TableSpec) -> str:
    """Returns what a table is called at the beginning of a description: the owner's text, or its name."""
    return (spec.description or spec.name).rstrip(" .:")
