"""Doubts about the files that gave a table its columns, because what a birth decides cannot be changed later."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.bronze.prepare.formats.registry import format_for
from tidegate.platform.bronze.prepare.load.readable_files import head_of
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.lake import Table


def birth_doubts(table: Table, candidates: Iterable[Candidate], schema: TableSchema) -> list[str]:
    """Return what a user should check before more files come.

    Returns no doubts if the beginning of a file cannot be read now.

    Args:
        table: the table that was born.
        candidates: files that gave the table its columns.
        schema: the table's columns.
    """
    for candidate in candidates:
        format = format_for(table.spec, candidate.key)
        if format and format.guesses:
            try:
                found = format.doubts(candidate.key, *head_of(table.source, candidate), table.spec, schema)
            except Exception:  # doubts are advice, and a file may hold anything
                return []
            return [f"{doubt}; then start the table over with `tidegate reset`" for doubt in found]
    return []
