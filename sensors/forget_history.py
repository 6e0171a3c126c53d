"""The job that deletes old runs and events from Dagster's storage once a day, so that it stops growing."""

import time
from collections.abc import Iterable
from dataclasses import asdict

import dagster as dg
from pydantic import Field

from tidegate.assets.keys import LakeNames
from tidegate.assets.maintenance.history import EVENT_DAYS, RUN_DAYS, forget
from tidegate.assets.presentation.run_log import RunLog

_JOB = "forget_history"
_REPOSITORY_TAG = ".dagster/repository"


class HistoryConfig(dg.Config):
    """How Dagster's history is deleted."""

    dry_run: bool = Field(False, description="Only count what would be deleted.")


def build_history_schedule(
    names: LakeNames,
    assets: Iterable[dg.AssetsDefinition | dg.AssetSpec],
    jobs: Iterable[str],
    *,
    is_alone: bool = True,
) -> dg.ScheduleDefinition:
    """Build the schedule of the job. A person may also run the job, or stop the schedule.

    Args:
        names: the lake.
        assets: every asset of the lake.
        jobs: names of the lake's other jobs.
        is_alone: whether every run of the code location is the lake's. Otherwise only runs of the lake's jobs are
            deleted.
    """
    keys = {key for asset in assets for key in ([asset.key] if isinstance(asset, dg.AssetSpec) else asset.keys)}
    job = names.name(_JOB)
    every_job = {*jobs, job}

    @dg.op(
        name=names.name("forget_history_op"),
        description="Deletes old runs and events of this lake from Dagster's storage.",
    )
    def forget_op(context: dg.OpExecutionContext, config: HistoryConfig) -> None:
        done = forget(
            context.instance,
            time.time(),
            assets=keys,
            jobs=every_job,
            repository=context.run.tags.get(_REPOSITORY_TAG) if is_alone else None,
            dry_run=config.dry_run,
        )
        context.add_output_metadata({"dry_run": config.dry_run, **asdict(done)})
        RunLog(context.log).info(
            f"{'would forget' if config.dry_run else 'forgot'} {done.runs} runs, {done.events} events without a run "
            f"and {done.checks} results of checks"
            + ("; the time was up, the rest is deleted tomorrow" if done.left else "")
        )

    @dg.job(
        name=job,
        executor_def=dg.in_process_executor,
        description=f"Deletes from Dagster's storage what this lake's runs of {RUN_DAYS} days ago and its sensors of "
        f"{EVENT_DAYS} days ago left there, but for the last of each asset, partition and check. The lake itself loses "
        "nothing: ledgers and operations log keep what was done.",
    )
    def forget_job() -> None:
        forget_op()

    return dg.ScheduleDefinition(
        name=f"{job}_schedule",
        job=forget_job,
        cron_schedule="30 3 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Once a day.",
    )
