"""The silver assets: one for each configured table, without partitions, each with its own pool."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.example_queries import format_queries, silver_queries
from tidegate.assets.presentation.failure_summary import readable_failure
from tidegate.assets.presentation.freshness import silver_freshness
from tidegate.assets.presentation.markdown import describe_table
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.long_runs import long_run
from tidegate.assets.silver.comparison_check import equals_bronze_key
from tidegate.assets.silver.expectation_checks import (
    collapse_spec,
    expectation_results,
    expectation_specs,
    results_of_merge,
)
from tidegate.assets.silver.export_check import check_export, exported_spec
from tidegate.assets.silver.report import MARK, known_sources, merge_metadata, silver_mark, table_metadata
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.wording import command
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.error_redaction import discreet_errors
from tidegate.platform.silver.expect.violations import ExpectationFailed
from tidegate.platform.silver.merge import MergeResult, merge_table
from tidegate.resources.lake_resource import LakeResource, with_lake

#: When Dagster's automation tries a failed merge again, and makes up for a first one.
_RETRIES = "*/10 * * * *"


def build_silver_assets(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build an asset for each table that has `silver` in `lake.yaml`."""
    return [_build(LakeNames.from_config(config), spec) for spec in config.tables if spec.silver]


def _build(names: LakeNames, spec: TableSpec) -> dg.AssetsDefinition:
    silver = spec.silver
    if silver is None:
        raise AssertionError("only tables with a silver specification are built")

    key = names.silver_table(spec.name)

    @dg.asset(
        key=key,
        group_name=names.name("silver"),
        pool=names.label(f"silver.{spec.name}"),
        owners=list(spec.owners),
        kinds={"deltalake", "pyspark", "silver"},
        tags={"tidegate/layer": "silver"},
        freshness_policy=silver_freshness(spec),
        automation_condition=_condition(silver),
        deps=[names.bronze_table(spec.name)],
        metadata={
            "dagster/table_name": f"silver.{spec.name}",
            "sql": format_queries(silver_queries(spec.name)),
            "why": command("why", f"silver.{spec.name}", *(f"{key}=VALUE" for key in silver.keys)),
        },
        check_specs=_check_specs(key, spec, silver),
        description=f"{describe_table(spec)}: {_rows(silver)}, merged from bronze {_trigger(silver)}.",
    )
    @with_lake(names.resource)
    @long_run
    def silver_asset(
        context: dg.AssetExecutionContext, lake: LakeResource
    ) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
        with readable_failure():
            handles = lake.open(spec.table_key.encode())
            try:
                with discreet_errors(spec):
                    merged = merge_table(handles, spec, RunLog(context.log).info)
            except ExpectationFailed as failed:
                yield from expectation_results(spec, key, failed.counts, failed.expectations)
                if spec.exports:
                    yield check_export(handles, spec, key)  # of the merges before the one that failed
                raise
            metadata, checks = silver_report(handles, spec, merged, context.instance)
            yield dg.MaterializeResult(metadata=metadata, check_results=checks)

    return silver_asset


def silver_job(names: LakeNames, spec: TableSpec) -> Any:
    """Build the job that merges one silver table."""
    key = names.silver_table(spec.name)
    return dg.define_asset_job(
        names.silver_job(spec.name),
        # A merge does not wait for its comparison with bronze, which has a job of its own.
        selection=dg.AssetSelection.assets(key) - dg.AssetSelection.checks(equals_bronze_key(key)),
        executor_def=run_executor,
        description=f"Merges silver.{spec.name}.",
    )


def silver_report(
    lake: Lake, spec: TableSpec, merged: MergeResult | None, instance: dg.DagsterInstance
) -> tuple[dict[str, Any], list[dg.AssetCheckResult]]:
    """Return the metadata and the checks of a materialization.

    Args:
        spec: a table with `silver`.
        merged: what the run merged.
        instance: has the materialization and the results of checks before.
    """
    key, location = LakeNames.from_config(lake.config).silver_table(spec.name), lake.store.uri("silver", spec.name)
    sources = known_sources(merged, instance, key)
    state = merged.table if merged and merged.table else lake.delta.table_state(location)
    rows = merged.shown if merged else None
    table = table_metadata(lake, spec, location, state, sources, rows)
    checks = results_of_merge(spec, key, merged, instance)
    if spec.exports:
        checks.append(check_export(lake, spec, key))
    # Only where the triggers may not ask Spark.
    mark = {} if lake.delta.server.is_always_there else {MARK: silver_mark(lake, spec, merged)}
    return {**merge_metadata(merged), **table, **mark}, checks


def _check_specs(key: dg.AssetKey, spec: TableSpec, silver: SilverSpec) -> list[dg.AssetCheckSpec]:
    return [
        *expectation_specs(spec, key),
        collapse_spec(key),
        *([exported_spec(key)] if silver.export else []),
    ]


def _condition(silver: SilverSpec) -> dg.AutomationCondition[Any] | None:
    """Return the condition of `automation`. It also requests what Dagster's own conditions leave.

    These are a merge that failed, and the first one of a table whose bronze table was there before.
    """
    if silver.automation is None:
        return None
    condition = dg.AutomationCondition
    # `on_cron` would wait for rows that come after the tick, and leave those before it for the next one.
    new_rows = condition.any_deps_updated().since_last_handled()
    tick = None if silver.automation == "eager" else condition.cron_tick_passed(silver.automation, "UTC")
    due = condition.eager() if tick is None else tick & new_rows & ~condition.in_progress()
    first = condition.missing() & ~condition.any_deps_missing()
    again = (condition.execution_failed() | first) & condition.cron_tick_passed(_RETRIES) & ~condition.in_progress()
    return due | again.with_label("the last merge failed, or there is none")


def _trigger(silver: SilverSpec) -> str:
    if silver.automation:
        return "when it has new rows" if silver.automation == "eager" else f"by the automation {silver.automation}"
    return f"by the schedule {silver.schedule}" if silver.schedule else f"every {silver.every} s at most"


def _rows(silver: SilverSpec) -> str:
    keys, order = ", ".join(silver.keys), ", ".join(silver.order) or "its position in the log of the database"
    if silver.is_history:
        return f"the history of each ({keys}) by {order}"
    return f"one row per ({keys}), the newest by {order}"
