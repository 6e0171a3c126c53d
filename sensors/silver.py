"""The triggers of silver merges: schedules, or sensors for intervals below a minute. Both are level-triggered."""

import time
from dataclasses import dataclass

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import result_of
from tidegate.assets.private_dagster import last_check_executions
from tidegate.assets.runs.tags import server_tags
from tidegate.assets.silver.export_check import EXPORT_CHECK
from tidegate.assets.silver.report import MARK
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.batches import GenerationRetired
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
        with lake.open_lake(spec.table_key.encode()) as handles:
            table = handles.table(spec.table_key.encode())
            if _is_unchanged(table, held):
                return Verdict(everything, held)
            if not handles.delta.server.is_always_there:
                return _ask_without_spark(instance, names, table, spec)
            home = server_tags(handles.delta.server, spec.table_key.encode())
            recorded = table.ledger.clock().n
            work = pending_merge(handles, spec)
            if work is None and is_behind(handles.delta, handles.store, spec):
                return Verdict(_export_request(instance, job, spec, home))
            if work is not None and (why := why_silver_rests(handles.config, handles.store.losses, spec.name)):
                return Verdict(dg.SkipReason(why))
    except (SparkUnreachable, BronzeGone, GenerationRetired) as error:
        return Verdict(dg.SkipReason(str(error)))
    if work is None:
        return Verdict(everything, f"{table.birth.generation}:{recorded}" if table.birth and recorded else "")
    return Verdict(dg.RunRequest(tags={"tidegate/silver": f"{work.mark or 0}..{work.n}", **home}))


def _ask_without_spark(instance: dg.DagsterInstance, names: LakeNames, table: Table, spec: TableSpec) -> Verdict:
    """Decide by S3 and by the last materialization, so that no trigger starts a Spark server or keeps one running."""
    lake, job, asset = table.lake, names.silver_job(spec.name), names.silver_table(spec.name)
    last = instance.get_latest_materialization_event(asset)
    made = last.asset_materialization if last else None
    mark = str(made.metadata[MARK].value) if made and MARK in made.metadata else ""
    n = max(table.batches.sizes(held := _held_number(table, mark)), default=held)
    if n == 0:
        return Verdict(dg.SkipReason(f"bronze.{spec.name} has no batch"))
    if n == held and (_silver_exists(table) or not (made and "dagster/uri" in made.metadata)):
        if spec.exports and not _was_exported(instance, asset):
            return Verdict(_export_request(instance, job, spec, {}))
        return Verdict(dg.SkipReason(f"silver.{spec.name} holds everything that bronze has recorded"), mark)
    if why := why_silver_rests(lake.config, lake.store.losses, spec.name):
        return Verdict(dg.SkipReason(why))
    if _is_being_recorded(table, n):
        if n - 1 <= held:
            return Verdict(dg.SkipReason(f"batch {n} of bronze.{spec.name} is being recorded"))
        n -= 1  # Bronze records each batch before it decides the next one.
    tags = {"tidegate/silver": f"{held}..{n}"}
    asked = instance.get_run_records(dg.RunsFilter(job_name=job), limit=1)
    if asked and asked[0].dagster_run.status == dg.DagsterRunStatus.SUCCESS:
        # It did not find the batch in the ledger, so bronze has to record it first.
        left = end_time(asked[0]) + EXPORT_PACE - time.time()
        if asked[0].dagster_run.tags.get("tidegate/silver") == tags["tidegate/silver"] and left > 0:
            return Verdict(dg.SkipReason(f"batch {n} of bronze.{spec.name} is not recorded; tried in {left:.0f} s"))
    return Verdict(dg.RunRequest(tags=tags))


def _held_number(table: Table, mark: str) -> int:
    """Return the batch of a mark; 0 if it is not of this generation of bronze, or if bronze has no such batch."""
    generation, _, n = mark.rpartition(":")
    if table.birth is None or table.birth.generation != generation or not table.batches.is_decided(int(n)):
        return 0
    return int(n)


def _is_being_recorded(table: Table, n: int) -> bool:
    """Return whether manifests of a batch are still in the inbox. They leave it once the ledger has the batch."""
    batch = table.batches.read(n)
    return batch is not None and not {each.id for each in table.inbox.waiting_manifests()}.isdisjoint(batch.manifests)


def _was_exported(instance: dg.DagsterInstance, asset: dg.AssetKey) -> bool:
    """Return whether the last run that exported the changes of a silver table left none."""
    check = dg.AssetCheckKey(asset, EXPORT_CHECK)
    last = last_check_executions(instance, [check]).get(check)
    result = result_of(last) if last else None
    return result is None or result.passed


def _export_request(
    instance: dg.DagsterInstance, job: str, spec: TableSpec, more: dict[str, str]
) -> dg.RunRequest | dg.SkipReason:
    last = instance.get_run_records(dg.RunsFilter(job_name=job), limit=1)
    left = end_time(last[0]) + EXPORT_PACE - time.time() if last else 0.0
    if left > 0:
        return dg.SkipReason(f"silver.{spec.name} has changes to export; the next run is requested in {left:.0f} s")
    return dg.RunRequest(tags={"tidegate/silver": "export", **more})


def _is_unchanged(table: Table, held: str) -> bool:
    """Return whether the batch that silver holds is still the last of its table, and silver still exists."""
    generation, _, n = held.rpartition(":")
    if table.birth is None or table.birth.generation != generation:
        return False
    if table.batches.is_decided(int(n) + 1) or not table.batches.is_decided(int(n)):
        return False
    return _silver_exists(table)


def _silver_exists(table: Table) -> bool:
    store = table.lake.store
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
