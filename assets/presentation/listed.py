"""Lines of text on Dagster's pages. The UI joins the lines of a plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable

import dagster as dg


def code(text: str) -> str:
    """Returns a text as code of Markdown, which the UI shows as it is: no `*` or `_` of it changes the letters."""
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks} {text} {marks}" if len(marks) > 1 else f"`{text}`"


def listed(lines: Iterable[object]) -> dg.MarkdownMetadataValue:
    """Returns lines as metadata, each in a line of its own."""
    return dg.MetadataValue.md("\n".join(f"- {line}" for line in lines))
