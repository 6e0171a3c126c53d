"""Doubts about the files that gave a table its columns, because what a birth decides cannot be changed later."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.bronze.prepare.formats.registry import format_for
from tidegate.platform.bronze.prepare.load.readable_files import head_of
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.bucket import Bucket


def birth_doubts(spec: TableSpec, source: Bucket, candidates: Iterable[Candidate], schema: TableSchema) -> list[str]:
    """Return what a user should check before more files come.

    Returns no doubts if the beginning of a file cannot be read now.

    Args:
        spec: its configuration.
        source: the bucket of its files.
        candidates: files that gave the table its columns.
        schema: the table's columns.
    """
    for candidate in candidates:
        format = format_for(spec, candidate.key)
        if format and format.guesses:
            try:
                found = format.doubts(candidate.key, *head_of(source, candidate), spec, schema)
            except Exception:  # doubts are advice, and a file may hold anything
                return []
            return [f"{doubt}; then start the table over with `tidegate reset`" for doubt in found]
    return []
