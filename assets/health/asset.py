"""The asset lake_health, and the check of each configured table that goes with it."""

import time
from collections.abc import Iterator
from dataclasses import replace

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.assets.bronze.report import page_key
from tidegate.assets.health.measure import measure
from tidegate.assets.health.remembered import earlier_lags, last_commit
from tidegate.assets.health.report import DESCRIPTIONS, KEEPS_UP_CHECK, MOST_EARLIER, MOST_SHOWN, Shown, keeps_up
from tidegate.assets.runs.failed_runs import failed_runs
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.health.measurement import Health
from tidegate.platform.core.health.metrics import metric_data
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource

LAKE_HEALTH = dg.AssetKey(["lake_health"])


def build_lake_health(config: LakeConfig) -> dg.AssetsDefinition:
    """The asset that a person reads in the morning; the sensor ``health`` materializes it, and a person may."""

    @dg.asset(
        key=LAKE_HEALTH,
        group_name="health",
        owners=table_owners(config),
        kinds={"s3", "sqs"},
        description="What waits for each table and in each queue, how old it is, when each table was last written, "
        "and what is in quarantine. Measured every five minutes by the sensor health.",
        check_specs=[
            dg.AssetCheckSpec(name, asset=LAKE_HEALTH, description=description)
            for name, description in DESCRIPTIONS.items()
        ],
    )
    def lake_health(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
        shown = look(lake.open(), context.instance, time.time())
        return dg.MaterializeResult(metadata=shown.metadata(), check_results=shown.checks(LAKE_HEALTH))

    return lake_health


def build_health_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """The check of each configured table: the sensor ``health`` evaluates it, and a person may."""
    pages = {page_key(spec): spec.table_key.encode() for spec in config.tables}
    if not pages:
        return []

    @dg.multi_asset_check(
        name="tables_keep_up",
        specs=[
            dg.AssetCheckSpec(
                KEEPS_UP_CHECK,
                asset=page,
                description="No event waits for the table for longer than its window and max_lag.",
            )
            for page in pages
        ],
        can_subset=True,
        description="What waits for the tables now.",
    )
    def tables_keep_up(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        tables = {one.key: one for one in measure(lake.open(), context.instance, time.time()).tables}
        for check in context.selected_asset_check_keys:
            yield keeps_up(tables[pages[check.asset_key]], check.asset_key)

    return [tables_keep_up]


def look(lake: Lake, instance: dg.DagsterInstance, now: float) -> Shown:
    """Measure, publish the metrics, and remember what the page shows beside it.

    Args:
        lake: handles.
        instance: Dagster's instance.
        now: epoch seconds.
    """
    health = _published(lake, measure(lake, instance, now))
    commits = {one.key: last_commit(instance, one.key) for one in health.tables[:MOST_SHOWN]}
    silver = [spec.name for spec in lake.config.tables if spec.silver]
    failed = failed_runs(instance, {one.key for one in health.tables}, silver)
    return Shown(health, earlier_lags(instance, LAKE_HEALTH, MOST_EARLIER), commits, failed)


def _published(lake: Lake, health: Health) -> Health:
    """The same, with a word where CloudWatch did not take the metrics: that fails a check, and nothing else."""
    if lake.cloudwatch is None:
        return health
    try:
        lake.cloudwatch.publish(metric_data(health, lake.config))
    except (BotoCoreError, ClientError) as error:
        return replace(health, unknown=(*health.unknown, f"CloudWatch does not take the metrics: {error}"))
    return health
