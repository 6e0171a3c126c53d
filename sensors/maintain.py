"""The job that maintains tables, and its schedule: each table has one night of the week."""

import zlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import dagster as dg

from tidegate.assets.bronze.asset import TABLES
from tidegate.assets.maintenance.asset import MAINTAINED_BRONZE, MAINTAINED_LAKE, maintained_silver, maintenance_keys
from tidegate.assets.runs.held_tables import MAINTENANCE_JOB
from tidegate.assets.runs.tags import TABLE_TAG
from tidegate.platform.core.config.lake import LakeConfig

_DAYS = 7
#: Lower than that of every run that brings rows.
_PRIORITY = {"dagster/priority": "-2"}


def maintenance_job(config: LakeConfig) -> Any:
    """Build the job of all maintenance. A run of it has one asset."""
    return dg.define_asset_job(
        MAINTENANCE_JOB,
        selection=maintenance_keys(config),
        executor_def=dg.in_process_executor,
        description="Maintains tables: merges small files, writes checkpoints, deletes what no version needs.",
    )


def build_maintenance_schedule(config: LakeConfig) -> dg.ScheduleDefinition:
    """Build the schedule. It runs if lake.yaml has `maintain`; a person may start or stop it."""

    @dg.schedule(
        name=f"{MAINTENANCE_JOB}_schedule",
        job_name=MAINTENANCE_JOB,
        cron_schedule="30 4 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING if config.maintain else dg.DefaultScheduleStatus.STOPPED,
        description="Each table has its maintenance in one night of the week.",
    )
    def maintain_schedule(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
        tables = context.instance.get_dynamic_partitions(TABLES.name or "")
        return requests(config, tables, context.scheduled_execution_time)

    return maintain_schedule


def requests(config: LakeConfig, tables: Iterable[str], at: datetime) -> list[dg.RunRequest]:
    """Returns the runs of a night.

    Args:
        config: the lake.
        tables: keys of all tables that have a partition.
        at: the time of the tick.
    """
    day = at.toordinal()
    bronze = [
        _request(MAINTAINED_BRONZE, table, partition_key=table, tags={TABLE_TAG: table})
        for table in sorted(tables)
        if is_night_of(table, day)
    ]
    silver = [
        _request(maintained_silver(spec), f"silver.{spec.name}")
        for spec in config.tables
        if spec.silver and is_night_of(f"silver.{spec.name}", day)
    ]
    return [*bronze, *silver, *([_request(MAINTAINED_LAKE, "lake")] if is_night_of("lake", day) else [])]


def is_night_of(name: str, day: int) -> bool:
    """Whether a day, by its number, is that of the name. Each name has one day in seven."""
    return zlib.crc32(name.encode()) % _DAYS == day % _DAYS


def _request(key: dg.AssetKey, name: str, *, partition_key: str | None = None, tags: Any = None) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=None,
        partition_key=partition_key,
        asset_selection=[key],
        run_config={"ops": {key.to_python_identifier(): {"config": {"dry_run": False}}}},
        tags={**_PRIORITY, "tidegate/maintained": name, **(tags or {})},
    )
