"""The asset `lake_health`, and the check `keeps_up` of each configured table."""

import time
from collections.abc import Iterator
from dataclasses import replace

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.health.history import earlier_lags, last_commit, merges_that_warn
from tidegate.assets.health.measure import measure
from tidegate.assets.health.report import (
    DATASET_DESCRIPTIONS,
    DESCRIPTIONS,
    KEEPS_UP_CHECK,
    MAX_EARLIER,
    MAX_SHOWN,
    ROUTE_DESCRIPTIONS,
    SILVER_DESCRIPTIONS,
    HealthReport,
    keeps_up,
)
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.shared_checks import check_of_each
from tidegate.assets.runs.failed_runs import failed_runs
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.measurement import Health
from tidegate.platform.core.health.metrics import metric_data
from tidegate.platform.lake.lake import Lake
from tidegate.resources.lake_resource import LakeResource, with_lake


def build_lake_health(config: LakeConfig) -> dg.AssetsDefinition:
    """Build the asset `lake_health`. The sensor `health` materializes it, and a user may."""
    names = LakeNames.from_config(config)

    @dg.asset(
        key=names.lake_health,
        group_name=names.name("health"),
        owners=table_owners(config),
        kinds={"s3", "sqs"},
        description="For each table: waiting events, their age, the last commit, and quarantined objects. For each "
        "queue: its messages. For each route: what waits to be forwarded. The sensor health measures this every "
        "five minutes.",
        check_specs=[
            dg.AssetCheckSpec(name, asset=names.lake_health, description=description)
            for name, description in _checks(config).items()
        ],
    )
    @with_lake(names.resource)
    def lake_health(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
        report = report_health(lake.open(), context.instance, time.time())
        return dg.MaterializeResult(metadata=report.metadata(), check_results=report.checks(names.lake_health))

    return lake_health


def _checks(config: LakeConfig) -> dict[str, str]:
    """Return the descriptions of the checks that a lake has, by name."""
    signals = any(spec.completion for spec in config.tables)
    silver = any(spec.silver for spec in config.tables)
    return {
        **DESCRIPTIONS,
        **(SILVER_DESCRIPTIONS if silver else {}),
        **(ROUTE_DESCRIPTIONS if config.routes else {}),
        **(DATASET_DESCRIPTIONS if signals else {}),
    }


def build_health_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the check `keeps_up` of each configured table. The sensor `health` evaluates it, and a user may."""
    names = LakeNames.from_config(config)
    pages = {names.bronze_table(spec.name): spec.table_key.encode() for spec in config.tables}
    if not pages:
        return []

    @check_of_each(
        pages,
        KEEPS_UP_CHECK,
        "No event waits for the table for longer than its window and max_lag.",
        name=names.name("tables_keep_up"),
        description="Measures the events that wait for the tables.",
    )
    @with_lake(names.resource)
    def tables_keep_up(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        tables = {table.key: table for table in measure(lake.open(), context.instance, time.time()).tables}
        for check in context.selected_asset_check_keys:
            yield keeps_up(tables[pages[check.asset_key]], check.asset_key)

    return [tables_keep_up]


def report_health(lake: Lake, instance: dg.DagsterInstance, now: float) -> HealthReport:
    """Measure the lake, publish the metrics, and read from Dagster what the page shows in addition.

    Args:
        now: epoch seconds.
    """
    return health_report(lake, instance, _publish_metrics(lake, measure(lake, instance, now)))


def health_report(lake: Lake, instance: dg.DagsterInstance, health: Health) -> HealthReport:
    """Return a measurement with the last commits, lags and failures, as Dagster has them."""
    names = LakeNames.from_config(lake.config)
    commits = {table.key: last_commit(instance, names, table.key) for table in health.tables[:MAX_SHOWN]}
    silver = [spec.name for spec in lake.config.tables if spec.silver]
    failed = failed_runs(instance, names, {table.key for table in health.tables}, silver)
    merged = merges_that_warn(instance, names, silver) if silver else None
    return HealthReport(health, earlier_lags(instance, names.lake_health, MAX_EARLIER), commits, failed, merged)


def _publish_metrics(lake: Lake, health: Health) -> Health:
    """Publish the metrics. Returns the measurement, with a sentence if CloudWatch refused them: that fails a check."""
    if lake.cloudwatch is None:
        return health
    try:
        lake.cloudwatch.publish(metric_data(health, lake.config))
    except (BotoCoreError, ClientError) as error:
        return replace(health, unknown=(*health.unknown, f"CloudWatch refused the metrics: {error}"))
    return health
