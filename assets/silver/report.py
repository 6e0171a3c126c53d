"""What a silver asset shows in Dagster: what its merges did, and what its table holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from tidegate.assets.presentation.columns import column_schema
from tidegate.assets.presentation.volume import volume
from tidegate.assets.silver.merge import MergeResult
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.silver.columns import shown
from tidegate.resources.spark.results import TableState


def merge_metadata(merged: MergeResult | None) -> dict[str, Any]:
    """Returns the metadata of a run's merges; None if there was nothing to merge."""
    if merged is None:
        return {**volume([]), "batches": 0}
    return {
        **merged.volume,
        "batches": merged.batches,
        "inserted": merged.inserted,
        "updated": merged.updated,
        "deleted": merged.deleted,
        "unordered": merged.unordered,
        "skipped": merged.skipped,
        "batch": merged.n,
        "delta_version": merged.version,
        "full_merge": merged.why_full or "no",
    }


def table_metadata(
    session: SparkSession, name: str, location: str, state: TableState, own: Sequence[str]
) -> dict[str, Any]:
    """Returns the metadata of the silver table as it is now.

    Args:
        session: counts its rows.
        name: its name in lake.yaml.
        location: its `s3a://` URI.
        state: its latest state; a table that does not exist yet has no metadata.
        own: Tidegate's own columns in it.
    """
    if not state.exists:
        return {}
    return {
        "dagster/row_count": _visible_rows(session, f"delta.`{location}`", own),
        "dagster/uri": S3Address.parse_s3a(location).s3,
        "dagster/table_name": f"silver.{name}",
        "dagster/column_schema": column_schema(state.schema),
    }


def _visible_rows(session: SparkSession, table: str, own: Sequence[str]) -> int:
    """Returns the number of rows in the view: all rows, which the log knows, minus the few that it hides."""
    rows, hidden = (
        session.sql(f"SELECT count(*) FROM {table}{where}").collect()[0][0]
        for where in ("", f" WHERE NOT ({shown(own)})")
    )
    return int(rows - hidden)
