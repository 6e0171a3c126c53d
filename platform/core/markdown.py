"""Texts of others as Markdown of Dagster's pages, where nothing in them becomes a link, an image or HTML.

The UI loads images of any server and makes links of addresses, so a name of a column could call a reader elsewhere, and
report who looks at a page. Every text that is not Tidegate's own goes through one of these functions. What they return
is of a type of its own, which is the only one that descriptions of check results and metadata of Markdown take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tidegate.platform.core.wording import one_line

#: Characters with a meaning in Markdown, wherever they are.
_MARKS = re.compile(r"([\\`*_\[\]<>|~&])")
#: What begins a heading, or an item of a list.
_START = re.compile(r"^(\d*)([#+.)-])")
#: What Markdown of GitHub makes a link of, whatever is escaped in it.
_LINK = re.compile(r"://|www\.|@|mailto:|xmpp:", re.IGNORECASE)


class Markdown(str):
    """A text in Markdown, in which all that is not Tidegate's own is escaped."""

    __slots__ = ()


def code(text: str) -> Markdown:
    """Return a text as code of Markdown, which the UI shows as it is: no `*` or `_` of it changes the letters."""
    text = one_line(text)
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return Markdown(f"{marks} {text} {marks}" if len(marks) > 1 else f"`{text}`")


def prose(text: object) -> Markdown:
    """Return a text as Markdown that shows it. Words that would become links are shown as code."""
    words = one_line(str(text).strip()).split(" ")
    written = " ".join(code(word) if _LINK.search(word) else _MARKS.sub(r"\\\1", word) for word in words)
    return Markdown(_START.sub(r"\1\\\2", written))


def sentence(template: str, *texts: object) -> Markdown:
    """Return Tidegate's own Markdown with other texts in it.

    Args:
        template: a literal with `{}` for each text.
        texts: Markdown is taken as it is, and any other text as `prose`.
    """
    return Markdown(template.format(*(text if isinstance(text, Markdown) else prose(text) for text in texts)))


def join_texts(separator: str, texts: Iterable[object]) -> Markdown:
    """Return texts one after another, as `sentence` takes them, with a separator of Tidegate's own between them."""
    return Markdown(separator.join(sentence("{}", text) for text in texts))


def code_block(query: str) -> Markdown:
    """Return a query of one line as a block that the UI lets a person copy."""
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", query)), default=0))
    return Markdown(f"{marks}sql\n{one_line(query)}\n{marks}")


def cell(text: str, show: Callable[[str], Markdown] = prose) -> Markdown:
    """Return a text as `prose` or as `code`, for a cell of a table."""
    # Within a table, a backslash keeps a bar from ending the cell in code, too.
    return Markdown(re.sub(r"(?<!\\)\|", r"\\|", show(" ".join(text.split()))))
