"""Queries to copy from the page of a table."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from tidegate.platform.core.schema.sql_literal import literal


def bronze_queries(name: str) -> list[str]:
    """Returns queries of a bronze table, its past, its files and what is in quarantine.

    Args:
        name: SQL name of the table.
    """
    return [
        f"SELECT * FROM bronze.{name} LIMIT 100",
        f"SELECT * FROM bronze.{name} VERSION AS OF 0 LIMIT 100",
        f"SELECT key, status, rows, n, recorded_at FROM ledger.{name} WHERE kind = 'row' ORDER BY n DESC LIMIT 100",
        f"SELECT at, kind, key, reason, raw FROM lake.quarantine WHERE table_name = {literal(name)} ORDER BY at DESC",
    ]


def silver_queries(name: str) -> list[str]:
    """Returns queries of a silver table, its past and its deleted keys.

    Args:
        name: SQL name of the table.
    """
    return [
        f"SELECT * FROM silver.{name} LIMIT 100",
        f"SELECT * FROM silver.{name} VERSION AS OF 1 LIMIT 100",
        f"SELECT * FROM silver.{name}_with_tombstones WHERE _deleted ORDER BY _changed_at DESC LIMIT 100",
    ]


def copied(queries: Sequence[str]) -> dg.MetadataValue[str]:
    """Returns queries as metadata, each in a block that the UI lets a person copy."""
    text = "\n\n".join(f"```sql\n{query}\n```" for query in queries)
    return dg.MetadataValue.md(f"For `tidegate sql`, or any Spark session that has the lake's names:\n\n{text}")
