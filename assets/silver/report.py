"""What a silver asset shows in Dagster: what its merges did, and what its table holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from pyspark.sql import SparkSession

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.columns import column_schema
from tidegate.assets.presentation.markdown import list_lines
from tidegate.platform.core.bronze.volume import volume
from tidegate.platform.core.catalog.descriptions import column_descriptions
from tidegate.platform.core.catalog.readers import readers_of
from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES, own_columns, shown_rows_condition
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.markdown import code, join_texts, sentence
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import select
from tidegate.platform.silver.merge import MergeResult
from tidegate.platform.silver.pending_merge import pending_merge

#: Metadata of a materialization: the result of `silver_mark`.
MARK = "mark"


def merge_metadata(merged: MergeResult | None) -> dict[str, Any]:
    """Return the metadata of a run's merges; None if there was nothing to merge."""
    if merged is None:
        return {**volume([]), "batches": 0}
    order = {"late": merged.late, "tied": merged.tied, "order_ahead_seconds": merged.ahead_seconds}
    return {
        **merged.volume,
        "batches": merged.batches,
        "inserted": merged.inserted,
        "updated": merged.updated,
        "deleted": merged.deleted,
        **{name: number for name, number in order.items() if number is not None},
        "unordered": merged.unordered,
        **merged.collapse.metadata(),
        "skipped": merged.skipped,
        **({"violations": dict(merged.violations)} if merged.violations else {}),
        **({"incomplete_dumps": list(merged.incomplete_dumps)} if merged.incomplete_dumps else {}),
        "batch": merged.n,
        "delta_version": merged.version,
        "full_merge": merged.why_full or "no",
    }


def silver_mark(lake: Lake, spec: TableSpec, merged: MergeResult | None) -> str:
    """Return the batch up to which silver holds bronze after a run, as `<generation>:<n>`. Empty if it is not known.

    The triggers read it if no Spark server runs.
    """
    if merged is not None:
        return f"{merged.generation}:{merged.n}"
    table = lake.table(spec.table_key.encode())
    if table.birth is None:
        return ""
    n = table.ledger.clock().n  # before the question: a batch that is recorded after it is not held
    return "" if pending_merge(lake, spec) else f"{table.birth.generation}:{n}"


def known_sources(
    merged: MergeResult | None, instance: dg.DagsterInstance, asset: dg.AssetKey
) -> Mapping[str, Sequence[str]]:
    """Return the columns of bronze that each column comes from, by the rules of the last merge.

    Args:
        merged: the merges of the run. If there were none, the last materialization has the columns.
        asset: the silver asset.
    """
    if merged is not None:
        return merged.sources
    last = instance.get_latest_materialization_event(asset)
    made = last.asset_materialization if last else None
    lineage = made.metadata.get("dagster/column_lineage") if made else None
    if not isinstance(lineage, dg.TableColumnLineageMetadataValue):
        return {}
    return {name: [dep.column_name for dep in deps] for name, deps in lineage.column_lineage.deps_by_column.items()}


def table_metadata(
    lake: Lake,
    spec: TableSpec,
    location: str,
    state: TableState,
    sources: Mapping[str, Sequence[str]],
    rows: int | None,
) -> dict[str, Any]:
    """Return the metadata of the silver table as it is now.

    Args:
        lake: counts its rows if `rows` is None.
        location: `s3a://` URI of the silver table.
        state: its latest state; a table that does not exist yet has no metadata.
        sources: columns of bronze that each column comes from.
        rows: number of rows in the view. None if no merge has counted them.
    """
    if not state.exists:
        return {}
    return {
        "dagster/row_count": _visible_rows(lake.delta.session, location, own_columns(spec.silver))
        if rows is None
        else rows,
        "dagster/uri": S3Address.parse_s3a(location).s3,
        "dagster/table_name": f"silver.{spec.name}",
        "readers": list_lines(readers_of(state.features, state.schema)),
        **columns_metadata(LakeNames.from_config(lake.config), spec, state.schema, sources),
    }


def columns_metadata(
    names: LakeNames, spec: TableSpec, schema: TableSchema, sources: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the columns, and their lineage. The description of a column has its lineage too.

    Dagster's open UI shows descriptions on the page of an asset, and lineage of columns only among its events.
    """
    origins = {
        name: sentence("from bronze.{}: {}", spec.name, join_texts(", ", columns)) for name, columns in sources.items()
    }
    for name in {field.name for field in schema.fields} & set(own_columns(spec.silver)):
        # `SELECT *` of the view does not have it.
        table = sentence("only in {}", code(f"silver.{spec.name}{WITH_TOMBSTONES}"))
        origins[name] = join_texts("; ", [origins[name], table] if name in origins else [table])
    bronze = names.bronze_table(spec.name)
    deps = {
        name: [dg.TableColumnDep(asset_key=bronze, column_name=column) for column in columns]
        for name, columns in sources.items()
    }
    return {
        "dagster/column_schema": column_schema(schema, column_descriptions(spec), origins),
        **({"dagster/column_lineage": dg.TableColumnLineage(deps_by_column=deps)} if deps else {}),
    }


def _visible_rows(session: SparkSession, location: str, own: Sequence[str]) -> int:
    shown = select(session, f"SELECT count(*) FROM {delta_table(location)} WHERE {shown_rows_condition(own)}")
    return int(shown.collect()[0][0])
