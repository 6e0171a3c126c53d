"""The job that maintains tables, and its schedule: each table has one night of the week.

A table whose night Dagster slept through has the next one.
"""

import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.keys import MAINTENANCE_JOB, LakeNames
from tidegate.assets.runs.tags import TABLE_TAG
from tidegate.platform.core.config.lake import LakeConfig

SCHEDULE = f"{MAINTENANCE_JOB}_schedule"
_DAYS = 7
#: The tag that Dagster gives to the runs of a schedule.
_SCHEDULE_TAG = "dagster/schedule_name"
#: Lower than that of every run that brings rows.
_PRIORITY = {"dagster/priority": "-2"}


def build_maintenance_schedule(config: LakeConfig) -> dg.ScheduleDefinition:
    """Build the schedule. It runs if lake.yaml has `maintain`; a person may start or stop it."""

    names = LakeNames.from_config(config)

    @dg.schedule(
        name=names.name(SCHEDULE),
        job_name=names.name(MAINTENANCE_JOB),
        cron_schedule="30 4 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING if config.maintain else dg.DefaultScheduleStatus.STOPPED,
        description="Each table has its maintenance in one night of the week.",
    )
    def maintain_schedule(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
        tables, last = names.known_tables(context.instance), _last_scheduled_run(context.instance, names)
        return requests(config, tables, context.scheduled_execution_time, last)

    return maintain_schedule


def _last_scheduled_run(instance: dg.DagsterInstance, names: LakeNames) -> datetime | None:
    """Return when the schedule last requested a run; None if it never did."""
    asked = dg.RunsFilter(job_name=names.name(MAINTENANCE_JOB), tags={_SCHEDULE_TAG: names.name(SCHEDULE)})
    records = instance.get_run_records(asked, limit=1)
    return records[0].create_timestamp.astimezone(UTC) if records else None


def requests(
    config: LakeConfig, tables: Iterable[str], at: datetime, last: datetime | None = None
) -> list[dg.RunRequest]:
    """Return the runs of a night, and those of the nights before in which Dagster was not there.

    Args:
        tables: keys of all tables that have a partition.
        at: the time of the tick.
        last: when the schedule last requested runs, in UTC. None: it is its first night.
    """
    today, names = at.toordinal(), LakeNames.from_config(config)
    slept = range(max(today - _DAYS + 1, last.toordinal() + 1), today) if last else ()
    nights = (*slept, today)
    bronze = [
        _request(names.maintained_bronze, table, partition_key=table, tags={TABLE_TAG: names.label(table)})
        for table in sorted(tables)
        if any(is_night_of(table, night) for night in nights)
    ]
    silver = [
        _request(names.maintained_silver(spec.name), f"silver.{spec.name}")
        for spec in config.tables
        if spec.silver and any(is_night_of(f"silver.{spec.name}", night) for night in nights)
    ]
    of_lake = [_request(names.maintained_lake, "lake")] if any(is_night_of("lake", night) for night in nights) else []
    return [*bronze, *silver, *of_lake]


def is_night_of(name: str, day: int) -> bool:
    """Return whether a day, by its number, is that of the name. Each name has one day in seven."""
    return zlib.crc32(name.encode()) % _DAYS == day % _DAYS


def _request(key: dg.AssetKey, name: str, *, partition_key: str | None = None, tags: Any = None) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=None,
        partition_key=partition_key,
        asset_selection=[key],
        run_config={"ops": {key.to_python_identifier(): {"config": {"dry_run": False}}}},
        tags={**_PRIORITY, "tidegate/maintained": name, **(tags or {})},
    )
