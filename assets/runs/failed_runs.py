"""Tables whose last run failed, and why, from Dagster's run storage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.keys import MAINTENANCE, SHARED_JOB, LakeNames
from tidegate.assets.runs.held_tables import PARTITION_TAG, RunTables, is_maintenance, is_range, is_shared
from tidegate.assets.runs.tags import BACKFILL, TRIGGER_TAG
from tidegate.platform.core.wording import first_line

#: Newest failed runs that are read, and as many of each kind of runs of several tables. Failed tables for which a later
#: successful run is queried.
_MAX_RUNS, _MAX_TABLES = 500, 100
#: Good runs of a table's partition among which its last run is searched. Maintenance has few.
_MAX_GOOD = 10
#: Between asset and table in the key of a run of maintenance.
_PARTITION_SEPARATOR = " of "
#: Characters of an error's first line that are shown.
_MAX_CHARACTERS = 300
_FAILURE, _SUCCESS = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS


@dataclass(frozen=True)
class FailedRun:
    """The last run of a table, which failed.

    Attributes:
        run_id: Dagster's id of the run.
        at: epoch seconds of its end.
        why: first line of the error. Empty if Dagster has no error.
    """

    run_id: str
    at: float
    why: str

    def __str__(self) -> str:
        at = f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M:%SZ}"
        return f"failed at {at} (run {self.run_id})" + (f": {self.why}" if self.why else "")


def failed_runs(
    instance: dg.DagsterInstance, names: LakeNames, tables: Collection[str], silver: Collection[str] = ()
) -> dict[str, FailedRun]:
    """Return the last runs of the tables whose last run failed, the newest first.

    It takes two queries if none failed, and two more for each table whose run failed.

    Args:
        tables: table keys.
        silver: names of silver tables. Their keys in the result are `silver.<name>`. Maintenance has the key of its
            asset, with its table: `maintenance/bronze of <table key>`.
    """
    latest: dict[str, dg.RunRecord] = {}
    of_runs = RunTables(instance)
    for record in instance.get_run_records(dg.RunsFilter(statuses=[_FAILURE]), limit=_MAX_RUNS):
        for table in _describe_failed(record.dagster_run, of_runs, names, tables, silver):
            latest.setdefault(table, record)
    if not latest:
        return {}
    good = _last_runs_of_several(of_runs, names)
    found = {}
    for table, record in list(latest.items())[:_MAX_TABLES]:
        if max(good.get(table, -1), _last_successful_run(instance, names, table)) < record.storage_id:
            found[table] = FailedRun(
                record.dagster_run.run_id, _end_time(record), _explain_failure(instance, record, table)
            )
    return found


def _describe_failed(
    run: dg.DagsterRun, of_runs: RunTables, names: LakeNames, tables: Collection[str], silver: Collection[str]
) -> list[str]:
    selected = run.asset_selection or ()
    if merged := [
        f"silver.{name}"
        for name in silver
        # A person, and Dagster's automation, select the asset.
        if run.job_name == names.silver_job(name) or names.silver_table(name) in selected
    ]:
        return merged
    if is_maintenance(run, names):
        return _describe_maintained(run, names, tables, silver)  # the table itself may be up to date
    # Other jobs have partitions, too, which are not tables.
    return [table for table in of_runs.find_failed(run) if table in tables] if names.holds(run) else []


def _describe_maintained(
    run: dg.DagsterRun, names: LakeNames, tables: Collection[str], silver: Collection[str]
) -> list[str]:
    """Return what a run maintained, as its asset and partition: `maintenance/bronze of landing.orders`."""
    whole = {names.maintained_lake, *map(names.maintained_silver, silver)}
    found = []
    for key in run.asset_selection or ():
        name, table = _without_lake(key, names), run.tags.get(PARTITION_TAG)
        if table in tables:
            found.append(f"{name}{_PARTITION_SEPARATOR}{table}")
        elif table is None and key in whole:
            found.append(name)
    return found


def _without_lake(key: dg.AssetKey, names: LakeNames) -> str:
    return "/".join(key.path[1:] if names.lake else key.path)


def _last_runs_of_several(of_runs: RunTables, names: LakeNames) -> dict[str, int]:
    """Return for each table the storage id of the newest run of several tables in which it did not fail."""
    ended = [_FAILURE, _SUCCESS]
    shared = dg.RunsFilter(job_name=names.name(SHARED_JOB), statuses=ended)
    backfills = dg.RunsFilter(tags={TRIGGER_TAG: BACKFILL}, statuses=ended)
    found: dict[str, int] = {}
    for wanted in (shared, backfills):
        for record in of_runs.instance.get_run_records(wanted, limit=_MAX_RUNS):
            run = record.dagster_run
            failed = of_runs.find_failed(run) if run.status is _FAILURE else ()
            for table in set(of_runs.find(run)).difference(failed) if names.holds(run) else ():
                found[table] = max(found.get(table, -1), record.storage_id)
    return found


def _last_successful_run(instance: dg.DagsterInstance, names: LakeNames, table: str) -> int:
    name = table.removeprefix("silver.")
    if table.startswith(f"{MAINTENANCE}/"):
        asset, _, partition = table.partition(_PARTITION_SEPARATOR)
        of = dg.AssetRecordsFilter(names.key(*asset.split("/")), asset_partitions=[partition] if partition else None)
        done = instance.fetch_materializations(of, limit=1).records
        records = instance.get_run_records(dg.RunsFilter(run_ids=[done[0].run_id]), limit=1) if done else []
        return records[0].storage_id if records else -1
    if name != table:
        # A user may materialize the asset itself, which is a run of another job.
        made = instance.get_latest_materialization_event(names.silver_table(name))
        wanted = dg.RunsFilter(run_ids=[made.run_id]) if made else None
    else:
        wanted = dg.RunsFilter(statuses=[_SUCCESS], tags={PARTITION_TAG: table})
    records = instance.get_run_records(wanted, limit=_MAX_GOOD) if wanted else []
    runs = [record for record in records if name != table or names.holds(record.dagster_run)]
    return next((record.storage_id for record in runs if not is_maintenance(record.dagster_run, names)), -1)


def _end_time(record: dg.RunRecord) -> float:
    return record.end_time or record.update_timestamp.replace(tzinfo=UTC).timestamp()


def _explain_failure(instance: dg.DagsterInstance, record: dg.RunRecord, table: str) -> str:
    run = record.dagster_run
    for event in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=1).records:
        happened = event.event_log_entry.dagster_event
        if happened and (error := happened.step_failure_data.error):
            # Dagster wraps the raised error in an error of its own.
            return _line_of((error.cause or error).message, table if is_shared(run) or is_range(run) else "")
    # The run's process died, or never started.
    for event in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE, limit=1).records:
        return first_line(event.event_log_entry.user_message)[:_MAX_CHARACTERS]
    return ""


def _line_of(message: str, table: str) -> str:
    """Return the line of an error message that begins with a table key, or the first line if there is none."""
    of_table = [line for line in message.splitlines() if table and line.startswith(f"{table}: ")]
    return (of_table[0].removeprefix(f"{table}: ") if of_table else first_line(message))[:_MAX_CHARACTERS]
