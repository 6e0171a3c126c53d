"""Lines of text on Dagster's pages. The UI joins the lines of a plain text."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg


def listed(lines: Iterable[object]) -> dg.MarkdownMetadataValue:
    """Returns lines as metadata, each in a line of its own."""
    return dg.MetadataValue.md("\n".join(f"- {line}" for line in lines))
