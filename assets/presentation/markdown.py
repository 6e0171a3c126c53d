"""Markdown and tables as metadata of Dagster's pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

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


#: Lines of a table on a page.
MAX_LINES = 100
_Line = TypeVar("_Line")


def shown_lines(
    name: str, lines: Sequence[_Line], record: Callable[[_Line], Mapping[str, Any]], command: str
) -> dict[str, Any]:
    """Return a table as metadata. If it does not have all lines, `more_<name>` says how many it lacks.

    Args:
        name: of the table in the metadata.
        lines: all lines. Without any, there is no table.
        record: returns the cells of a line by the names of their columns.
        command: prints the lines, and takes their maximum number with `--limit`.
    """
    if not lines:
        return {}
    table = dg.MetadataValue.table([dg.TableRecord(dict(record(line))) for line in lines[:MAX_LINES]])
    more = len(lines) - MAX_LINES
    left_out = {f"more_{name}": f"{more:,} more lines: {command} --limit {len(lines)}"} if more > 0 else {}
    return {name: table, **left_out}
