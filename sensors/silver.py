"""The triggers of silver merges: schedules, or sensors for intervals below a minute. Both are level-triggered."""

import time
from dataclasses import dataclass

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.silver.export import is_behind
from tidegate.platform.silver.pending_merge import BronzeGone, pending_merge
from tidegate.platform.silver.server_losses import why_silver_rests
from tidegate.resources.lake_resource import LakeResource, with_lake
from tidegate.sensors.run_history import backoff_seconds_left, end_time, is_active

#: Seconds after a run until the next run that only exports. An export that fails does not fail its run.
EXPORT_PACE = 900


@dataclass(frozen=True)
class Verdict:
    """Whether a merge is due.

    Attributes:
        answer: the run to request, or why there is none.
        held: silver holds bronze's batches up to this one, as `<generation>:<n>`. Empty if that is not known.
    """

    answer: dg.RunRequest | dg.SkipReason
    held: str = ""


def silver_request(
    instance: dg.DagsterInstance, names: LakeNames, lake: LakeResource, spec: TableSpec, held: str = ""
) -> Verdict:
    """Decide whether a merge is due: bronze's ledger has batches that silver lacks, and no merge is active.

    A table with `export` is due also if only its export is behind, at most every `EXPORT_PACE` seconds.

    The decision is level-triggered by the tables themselves. No update is lost while a merge runs. A failed merge is
    requested again, by a sensor after a growing backoff and by a schedule at its next time. Nothing else depends on
    Dagster's storage.

    Args:
        held: what an earlier verdict found. While no later batch is decided, Spark is not called.
    """
    job = names.silver_job(spec.name)
    if is_active(instance, job):
        return Verdict(dg.SkipReason(f"a merge of silver.{spec.name} is active"))
    every = spec.silver.every if spec.silver else None
    if every and (left := backoff_seconds_left(instance, job, every, time.time())):
        return Verdict(dg.SkipReason(f"the last merge of silver.{spec.name} failed; the next is tried in {left:.0f} s"))
    everything = dg.SkipReason(f"silver.{spec.name} holds everything that bronze has recorded")
    try:
        with lake.open_lake() as handles:
            table = handles.table(spec.table_key.encode())
            if _is_unchanged(table, held):
                return Verdict(everything, held)
            recorded = table.ledger.clock().n
            work = pending_merge(handles, spec)
            if work is None and is_behind(handles.delta, handles.store, spec):
                return Verdict(_export_request(instance, job, spec))
            if work is not None and (why := why_silver_rests(handles.config, handles.store.losses, spec.name)):
                return Verdict(dg.SkipReason(why))
    except (SparkUnreachable, BronzeGone) as error:
        return Verdict(dg.SkipReason(str(error)))
    if work is None:
        return Verdict(everything, f"{table.birth.generation}:{recorded}" if table.birth and recorded else "")
    return Verdict(dg.RunRequest(tags={"tidegate/silver": f"{work.mark or 0}..{work.n}"}))


def _export_request(instance: dg.DagsterInstance, job: str, spec: TableSpec) -> dg.RunRequest | dg.SkipReason:
    last = instance.get_run_records(dg.RunsFilter(job_name=job), limit=1)
    left = end_time(last[0]) + EXPORT_PACE - time.time() if last else 0.0
    if left > 0:
        return dg.SkipReason(f"silver.{spec.name} has changes to export; the next run is requested in {left:.0f} s")
    return dg.RunRequest(tags={"tidegate/silver": "export"})


def _is_unchanged(table: Table, held: str) -> bool:
    """Return whether the batch that silver holds is still the last of its table, and silver still exists."""
    store, (generation, _, n) = table.lake.store, held.rpartition(":")
    if table.birth is None or table.birth.generation != generation:
        return False
    if table.batches.is_decided(int(n) + 1) or not table.batches.is_decided(int(n)):
        return False
    return not store.objects.is_empty(store.bucket, store.key("silver", table.spec.name, "_delta_log/"))


def build_silver_triggers(config: LakeConfig) -> list[dg.ScheduleDefinition | dg.SensorDefinition]:
    """Build a schedule or a sensor for each silver table, and one sensor for all tables with `automation`."""
    names = LakeNames.from_config(config)
    of_dagster = [names.silver_table(spec.name) for spec in config.tables if spec.silver and spec.silver.automation]
    return [
        *(_sensor(names, spec) for spec in config.tables if spec.silver and spec.silver.every),
        *(_schedule(names, spec) for spec in config.tables if spec.silver and spec.silver.schedule),
        *([_automation(names, of_dagster)] if of_dagster else []),
    ]


def _automation(names: LakeNames, assets: list[dg.AssetKey]) -> dg.SensorDefinition:
    return dg.AutomationConditionSensorDefinition(
        names.name("silver_automation"),
        target=dg.AssetSelection.assets(*assets),
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests merges by the automation conditions of the silver assets, which Dagster's UI explains.",
    )


def _sensor(names: LakeNames, spec: TableSpec) -> dg.SensorDefinition:
    every = spec.silver.every if spec.silver else None

    @dg.sensor(
        name=names.name(f"silver_{spec.name}_sensor"),
        job_name=names.silver_job(spec.name),
        minimum_interval_seconds=every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Requests a merge of silver.{spec.name} when bronze has batches that it lacks.",
    )
    @with_lake(names.resource)
    def silver_sensor(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        verdict = silver_request(context.instance, names, lake, spec, context.cursor or "")
        if verdict.held:
            context.update_cursor(verdict.held)
        return verdict.answer

    return silver_sensor


def _schedule(names: LakeNames, spec: TableSpec) -> dg.ScheduleDefinition:
    cron = spec.silver.schedule if spec.silver else None

    @dg.schedule(
        name=names.name(f"silver_{spec.name}_schedule"),
        job_name=names.silver_job(spec.name),
        cron_schedule=cron or "",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Requests a merge of silver.{spec.name} when bronze has batches that it lacks.",
    )
    @with_lake(names.resource)
    def silver_schedule(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        return silver_request(context.instance, names, lake, spec).answer

    return silver_schedule
