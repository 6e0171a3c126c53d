"""The sensor that requests comparisons of silver with bronze, for tables that were merged since their last one."""

from __future__ import annotations

import time
from collections.abc import Collection

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import result_of
from tidegate.assets.private_dagster import CheckExecution, last_check_executions
from tidegate.assets.silver.comparison_check import (
    COMPARISON_JOB,
    COVERS,
    equals_bronze_key,
    last_materialization_ids,
)
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.sensors.run_history import is_active

#: Seconds between two comparisons of a table.
PACE = 3600
#: Tables that one run compares. If there are more, the others have their turn in the next runs.
MAX_TABLES = 25


def due_comparisons(
    instance: dg.DagsterInstance, assets: Collection[dg.AssetKey], now: float
) -> list[dg.AssetCheckKey]:
    """Return the checks of silver assets that were materialized since their last check, the longest waiting first.

    A table is tried at most every `PACE` seconds. A few queries answer it for any number of tables.

    Args:
        assets: the silver assets.
        now: epoch seconds.
    """
    merged = last_materialization_ids(instance, assets)
    last = last_check_executions(instance, [equals_bronze_key(asset) for asset in assets])
    waiting: list[tuple[float, dg.AssetCheckKey]] = []
    for asset in assets:
        check, materialized = equals_bronze_key(asset), merged.get(asset)
        execution = last.get(check)
        tried = execution.create_timestamp if execution else 0.0
        if materialized is not None and _last_compared_id(execution) < materialized and tried + PACE <= now:
            waiting.append((tried, check))
    return [check for _, check in sorted(waiting, key=lambda each: each[0])]


def _last_compared_id(execution: CheckExecution | None) -> int:
    """Return the number of the last materialization that was compared; 0 without a result, or without a comparison."""
    result = result_of(execution) if execution else None
    found = result.metadata.get(COVERS) if result else None
    return int(str(found.value)) if found else 0


def build_comparison_sensor(config: LakeConfig) -> list[dg.SensorDefinition]:
    """Build the sensor. None without silver tables."""
    names = LakeNames.from_config(config)
    assets = [names.silver_table(spec.name) for spec in config.tables if spec.silver]
    if not assets:
        return []

    @dg.sensor(
        name=names.name("compare_silver"),
        job_name=names.name(COMPARISON_JOB),
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the comparison of silver tables with bronze, within an hour of a merge.",
    )
    def compare_silver(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_active(context.instance, names.name(COMPARISON_JOB)):
            return dg.SkipReason("a comparison is active")
        due = due_comparisons(context.instance, assets, time.time())[:MAX_TABLES]
        if not due:
            return dg.SkipReason(f"no silver table was merged and not compared for {PACE} s")
        return dg.RunRequest(asset_selection=[], asset_check_keys=due)

    return [compare_silver]
