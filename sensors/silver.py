"""What starts silver merges: level-triggered schedules, or sensors where less than a minute is wanted."""

from typing import Any

import dagster as dg

from tidegate.assets.silver.asset import silver_key
from tidegate.assets.silver.pending import pending
from tidegate.platform.core.lake import LakeConfig
from tidegate.platform.core.table_spec import TableSpec
from tidegate.resources.lake_resource import LakeResource
from tidegate.resources.spark import SparkUnreachable

_ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def job_name(spec: TableSpec) -> str:
    """Name of the job that merges one silver table."""
    return f"silver_{spec.name}_job"


def silver_job(spec: TableSpec) -> Any:
    """The job that merges one silver table."""
    return dg.define_asset_job(
        job_name(spec),
        selection=[silver_key(spec)],
        executor_def=dg.in_process_executor,
        description=f"Merges silver.{spec.name}.",
    )


def evaluate(instance: dg.DagsterInstance, lake: LakeResource, spec: TableSpec) -> dg.RunRequest | dg.SkipReason:
    """Whether a merge is due: bronze's ledger has moved past what silver holds, and no merge is active.

    Level-triggered on the tables themselves: no update is lost while a merge runs, a failed merge is asked for again,
    and nothing depends on Dagster's memory.
    """
    if instance.get_run_records(dg.RunsFilter(job_name=job_name(spec), statuses=_ACTIVE), limit=1):
        return dg.SkipReason(f"a merge of silver.{spec.name} is active")
    try:
        with lake.opened() as handles:
            work = pending(handles, spec)
    except SparkUnreachable as error:
        return dg.SkipReason(str(error))
    if work is None:
        return dg.SkipReason(f"silver.{spec.name} holds everything that bronze has recorded")
    return dg.RunRequest(tags={"tidegate/silver": f"{work.mark or 0}..{work.n}"})


def build_silver_triggers(config: LakeConfig) -> list[dg.ScheduleDefinition | dg.SensorDefinition]:
    """A schedule, or a sensor for ``every``, for each silver table."""
    return [_sensor(spec) if spec.silver.every else _schedule(spec) for spec in config.tables if spec.silver]


def _sensor(spec: TableSpec) -> dg.SensorDefinition:
    every = spec.silver.every if spec.silver else None

    @dg.sensor(
        name=f"silver_{spec.name}_sensor",
        job_name=job_name(spec),
        minimum_interval_seconds=every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Asks for a merge of silver.{spec.name} when bronze has moved past it.",
    )
    def silver_sensor(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        return evaluate(context.instance, lake, spec)

    return silver_sensor


def _schedule(spec: TableSpec) -> dg.ScheduleDefinition:
    cron = spec.silver.schedule if spec.silver else None

    @dg.schedule(
        name=f"silver_{spec.name}_schedule",
        job_name=job_name(spec),
        cron_schedule=cron or "",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Asks for a merge of silver.{spec.name} when bronze has moved past it.",
    )
    def silver_schedule(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        return evaluate(context.instance, lake, spec)

    return silver_schedule
