"""The silver assets: unpartitioned, one per configured table, each with its own pool."""

from typing import Any

import dagster as dg
from pyspark.sql import SparkSession

from tidegate.assets.bronze.report import page_key
from tidegate.assets.presentation.columns import column_schema
from tidegate.assets.presentation.volume import volume
from tidegate.assets.silver.merge import merge_table
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.resources.lake import DELETED
from tidegate.resources.lake_resource import LakeResource


def silver_key(spec: TableSpec) -> dg.AssetKey:
    """Asset key of a table's silver asset."""
    return dg.AssetKey([f"silver_{spec.name}"])


def build_silver_assets(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """One asset for each table with a ``silver`` specification."""
    return [_build(spec) for spec in config.tables if spec.silver]


def _build(spec: TableSpec) -> dg.AssetsDefinition:
    silver = spec.silver
    if silver is None:
        raise AssertionError("only tables with a silver specification are built")
    when = f"by the schedule {silver.schedule}" if silver.schedule else f"every {silver.every} s at most"

    @dg.asset(
        key=silver_key(spec),
        group_name="silver",
        pool=f"silver.{spec.name}",
        owners=list(spec.owners),
        kinds={"deltalake", "pyspark", "silver"},
        tags={"tidegate/layer": "silver"},
        deps=[page_key(spec)],
        description=f"{spec.description or spec.name}: one row per ({', '.join(silver.keys)}), the newest by "
        f"{silver.order}, merged from bronze {when}.",
    )
    def silver_asset(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[Any]:
        handles = lake.open()
        merged = merge_table(handles, spec, context.log.info)
        location = handles.store.uri("silver", spec.name)
        state = handles.delta.table_state(location)
        metadata: dict[str, Any] = {**(merged.volume if merged else volume([]))}
        metadata["batches"] = merged.batches if merged else 0
        if merged:
            metadata |= {
                "inserted": merged.inserted,
                "updated": merged.updated,
                "deleted": merged.deleted,
                "batch": merged.n,
                "delta_version": merged.version,
                "full_merge": merged.why_full or "no",
            }
        if state.exists:
            metadata |= {
                "dagster/row_count": _rows(handles.delta.session, f"delta.`{location}`"),
                "dagster/uri": location.replace("s3a://", "s3://"),
                "dagster/table_name": f"silver.{spec.name}",
                "dagster/column_schema": column_schema(state.schema),
            }
        return dg.MaterializeResult(metadata=metadata)

    return silver_asset


def _rows(session: SparkSession, table: str) -> int:
    """The rows that the view shows: all, which the log knows, without the tombstones, which few files have."""
    rows, dead = (
        session.sql(f"SELECT count(*) FROM {table}{where}").collect()[0][0] for where in ("", f" WHERE {DELETED}")
    )
    return int(rows - dead)
