"""Queries to copy from the page of a table."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from tidegate.assets.presentation.markdown import markdown
from tidegate.platform.core.markdown import code_block, join_texts, sentence
from tidegate.platform.core.schema.sql_literal import literal


def bronze_queries(name: str) -> list[str]:
    """Return queries of a bronze table, its history, its files and what is in quarantine.

    Args:
        name: SQL name of the table.
    """
    return [
        f"SELECT * FROM bronze.{name} LIMIT 100",
        _history(f"bronze.{name}"),
        f"SELECT key, status, rows, n, recorded_at FROM ledger.{name} WHERE kind = 'row' ORDER BY n DESC LIMIT 100",
        f"SELECT at, kind, key, reason, raw FROM lake.quarantine WHERE table_name = {literal(name)} ORDER BY at DESC",
    ]


def silver_queries(name: str) -> list[str]:
    """Return queries of a silver table, its history and its deleted keys.

    Args:
        name: SQL name of the table.
    """
    return [
        f"SELECT * FROM silver.{name} LIMIT 100",
        _history(f"silver.{name}_with_tombstones"),
        f"SELECT * FROM silver.{name}_with_tombstones WHERE _deleted ORDER BY _changed_at DESC LIMIT 100",
    ]


def format_queries(queries: Sequence[str]) -> dg.MetadataValue[str]:
    """Return queries as metadata, each in a block that the UI lets a person copy."""
    return markdown(
        sentence(
            "For `tidegate sql`, or any Spark session that has the lake's names. Add `VERSION AS OF` and a version "
            "that the history lists to the name of a table to read it as it was:\n\n{}",
            join_texts("\n\n", map(code_block, queries)),
        )
    )


def _history(table: str) -> str:
    # A query of a fixed version would fail as soon as maintenance has deleted the files of that version.
    return f"DESCRIBE HISTORY {table} LIMIT 20"
