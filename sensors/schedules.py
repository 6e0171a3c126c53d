"""The schedules of a lake that bring their own jobs. They run, but for one; a person may stop or start each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import dagster as dg

from tidegate.assets.keys import FORGET_JOB, LakeNames
from tidegate.assets.runs.executor import run_executor
from tidegate.platform.core.config.lake import LakeConfig

_RUNNING = dg.DefaultScheduleStatus.RUNNING


def build_schedules(config: LakeConfig) -> Iterator[dg.ScheduleDefinition]:
    """Build the schedules of the assets that no sensor asks for: those that `lake.yaml` has.

    That of `catalog` makes up for a run that died, or that Glue did not answer, after it had changed the columns of a
    table.
    """
    names = LakeNames.from_config(config)
    if config.forget:
        text = "Works off the requests to forget persons."
        yield _daily_schedule(names.name(FORGET_JOB), names.forgotten, "30 2 * * *", text)
    if config.catalog:
        text = "Brings the Glue Data Catalog in step."
        yield _daily_schedule(names.name("catalog_sync"), names.catalog, "10 3 * * *", text)
    for spec in config.tables:
        if spec.storage_reports:
            text = f"Reports on the objects in the table of inventories {spec.name}."
            name = names.name(f"storage_{spec.name}")
            yield _schedule_of_reports(name, names.reports(spec.name), spec.storage_reports.schedule, text)
    if config.costs:
        text = "Computes what the tables of the lake cost."
        yield _schedule_of_reports(names.name("lake_costs"), [names.lake_costs], config.costs.schedule, text)


def build_history_schedules(runs: dg.JobDefinition, events: dg.JobDefinition) -> list[dg.ScheduleDefinition]:
    """Build the schedules of the jobs that delete from Dagster's storage, so that it stops growing.

    Args:
        runs: deletes runs by Dagster's own method.
        events: deletes events by SQL in Dagster's private tables. Its schedule is off until a person starts it.
    """
    return [
        _history_schedule(runs, "30 3 * * *", _RUNNING, "Once a day."),
        _history_schedule(events, "45 3 * * *", dg.DefaultScheduleStatus.STOPPED, "Once a day, if you start it."),
    ]


def _daily_schedule(name: str, asset: dg.AssetKey, cron: str, job_text: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=name,
        job=dg.define_asset_job(name, [asset], description=job_text),
        cron_schedule=cron,
        default_status=_RUNNING,
        description=f"Materializes `{asset.path[-1]}` each day.",
    )


def _schedule_of_reports(name: str, assets: Iterable[dg.AssetKey], cron: str, job_text: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{name}_schedule",
        job=dg.define_asset_job(f"{name}_job", selection=list(assets), executor_def=run_executor, description=job_text),
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=_RUNNING,
        tags={"dagster/priority": "-2"},
    )


def _history_schedule(
    job: dg.JobDefinition, cron: str, status: dg.DefaultScheduleStatus, description: str
) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=status,
        description=description,
    )
