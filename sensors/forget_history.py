"""The job that deletes old runs and events from Dagster's storage once a day, so that it stops growing."""

import time

import dagster as dg

from tidegate.assets.bronze.asset import BRONZE
from tidegate.assets.bronze.job import BRONZE_JOB
from tidegate.assets.bronze.report import page_key
from tidegate.assets.health.asset import LAKE_HEALTH
from tidegate.assets.maintenance.asset import maintenance_keys
from tidegate.assets.maintenance.history import EVENT_DAYS, RUN_DAYS, forget
from tidegate.assets.operations.jobs import rebuild_job, redrive_job
from tidegate.assets.runs.held_tables import MAINTENANCE_JOB, SHARED_JOB
from tidegate.assets.silver.asset import silver_key
from tidegate.assets.sources.asset import dead_letters_of, queue_key, queue_keys
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.sensors.silver import job_name

_JOB = "forget_history"
_REPOSITORY_TAG = ".dagster/repository"


def lake_assets(config: LakeConfig) -> list[dg.AssetKey]:
    """Return every asset of a lake for which events are reported."""
    return [
        BRONZE,
        LAKE_HEALTH,
        *queue_keys(config),
        *map(queue_key, dead_letters_of(config)),
        *map(page_key, config.tables),
        *(silver_key(spec) for spec in config.tables if spec.silver),
        *maintenance_keys(config),
    ]


def lake_jobs(config: LakeConfig) -> list[str]:
    """Return the names of a lake's jobs."""
    return [
        BRONZE_JOB.name,
        SHARED_JOB,
        redrive_job.name,
        rebuild_job.name,
        MAINTENANCE_JOB,
        _JOB,
        *(job_name(spec) for spec in config.tables if spec.silver),
    ]


def build_history_schedule(config: LakeConfig, *, is_alone: bool = True) -> dg.ScheduleDefinition:
    """Build the schedule of the job. A person may also run the job, or stop the schedule.

    Args:
        config: the lake.
        is_alone: whether every run of the code location is the lake's. Otherwise only runs of the lake's jobs are
            deleted.
    """

    @dg.op(name="forget_history_op", description="Deletes old runs and events of this lake from Dagster's storage.")
    def forget_op(context: dg.OpExecutionContext) -> None:
        done = forget(
            context.instance,
            time.time(),
            assets=lake_assets(config),
            jobs=lake_jobs(config),
            repository=context.run.tags.get(_REPOSITORY_TAG) if is_alone else None,
        )
        context.log.info(
            f"forgot {done.runs} runs, {done.events} events without a run and {done.checks} results of checks"
            + ("; the time was up, the rest is deleted tomorrow" if done.left else "")
        )

    @dg.job(
        name=_JOB,
        executor_def=dg.in_process_executor,
        description=f"Deletes from Dagster's storage what this lake's runs of {RUN_DAYS} days ago and its sensors of "
        f"{EVENT_DAYS} days ago left there, but for the last of each asset, partition and check. The lake itself loses "
        "nothing: ledgers and operations log keep what was done.",
    )
    def forget_job() -> None:
        forget_op()

    return dg.ScheduleDefinition(
        name=f"{_JOB}_schedule",
        job=forget_job,
        cron_schedule="30 3 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Once a day.",
    )
