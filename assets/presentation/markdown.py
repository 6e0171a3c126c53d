"""Markdown as metadata of Dagster's pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dagster as dg

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.markdown import Markdown, prose


def markdown(text: Markdown) -> dg.MarkdownMetadataValue:
    """Return Markdown as metadata."""
    return dg.MetadataValue.md(text)


def list_lines(lines: Iterable[object], show: Callable[[str], Markdown] = prose) -> dg.MarkdownMetadataValue:
    """Return lines as metadata, each in a line of its own.

    Args:
        lines: texts.
        show: `code` for commands.
    """
    return markdown(Markdown("\n".join(f"- {show(str(line))}" for line in lines)))


def describe_table(spec: TableSpec) -> str:
    """Return what a table is called at the beginning of a description: the owner's text, or its name."""
    return (spec.description or spec.name).rstrip(" .:")
