"""Which tables' last run failed, and why, as Dagster remembers it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.runs.held_tables import PARTITION_TAG, SHARED_JOB, failed_tables, held_tables
from tidegate.platform.core.first_line import first_line

#: The newest failed runs, and as many shared ones, that are looked at; and tables of which a later good run is sought.
_MOST_RUNS, _MOST_TABLES = 500, 100
#: Of an error's first line, as much is told.
_MOST_CHARACTERS = 300
_FAILURE, _SUCCESS = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS


@dataclass(frozen=True)
class FailedRun:
    """The last run of a table, which failed.

    Attributes:
        run_id: Dagster's id of the run.
        at: epoch seconds of its end.
        why: first line of the error; empty where Dagster has none.
    """

    run_id: str
    at: float
    why: str

    def __str__(self) -> str:
        at = f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M:%SZ}"
        return f"failed at {at} (run {self.run_id})" + (f": {self.why}" if self.why else "")


def failed_runs(
    instance: dg.DagsterInstance, tables: Collection[str], silver: Collection[str] = ()
) -> dict[str, FailedRun]:
    """The last runs of those tables whose last run failed, the newest first.

    Two queries where none failed; else one more for each table that did, and one for its error.

    Args:
        instance: Dagster's instance.
        tables: table keys.
        silver: names of silver tables; told as ``silver.<name>``.
    """
    latest: dict[str, dg.RunRecord] = {}
    for record in instance.get_run_records(dg.RunsFilter(statuses=[_FAILURE]), limit=_MOST_RUNS):
        for table in _failed(record.dagster_run, tables, silver):
            latest.setdefault(table, record)
    if not latest:
        return {}
    good = _shared_good(instance)
    found = {}
    for table, record in list(latest.items())[:_MOST_TABLES]:
        if max(good.get(table, -1), _last_good(instance, table)) < record.storage_id:
            found[table] = FailedRun(record.dagster_run.run_id, _ended(record), _why(instance, record, table))
    return found


def _failed(run: dg.DagsterRun, tables: Collection[str], silver: Collection[str]) -> list[str]:
    name = run.job_name.removeprefix("silver_").removesuffix("_job")
    if run.job_name == f"silver_{name}_job" and name in silver:
        return [f"silver.{name}"]
    # Other jobs have partitions too, which are no tables.
    return [table for table in failed_tables(run) if table in tables]


def _shared_good(instance: dg.DagsterInstance) -> dict[str, int]:
    """The storage id of the newest shared run in which a table did not fail."""
    shared = dg.RunsFilter(job_name=SHARED_JOB, statuses=[_FAILURE, _SUCCESS])
    found: dict[str, int] = {}
    for record in instance.get_run_records(shared, limit=_MOST_RUNS):
        run = record.dagster_run
        for table in set(held_tables(run)).difference(failed_tables(run) if run.status is _FAILURE else ()):
            found.setdefault(table, record.storage_id)
    return found


def _last_good(instance: dg.DagsterInstance, table: str) -> int:
    name = table.removeprefix("silver.")
    if name != table:
        # A person may materialize the asset itself, which is a run of another job.
        made = instance.get_latest_materialization_event(dg.AssetKey([f"silver_{name}"]))
        wanted = dg.RunsFilter(run_ids=[made.run_id]) if made else None
    else:
        wanted = dg.RunsFilter(statuses=[_SUCCESS], tags={PARTITION_TAG: table})
    records = instance.get_run_records(wanted, limit=1) if wanted else []
    return records[0].storage_id if records else -1


def _ended(record: dg.RunRecord) -> float:
    return record.end_time or record.update_timestamp.replace(tzinfo=UTC).timestamp()


def _why(instance: dg.DagsterInstance, record: dg.RunRecord, table: str) -> str:
    run = record.dagster_run
    for event in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=1).records:
        happened = event.event_log_entry.dagster_event
        if happened and (error := happened.step_failure_data.error):
            # Dagster's own error is around the one that was raised.
            return _line_of((error.cause or error).message, table if run.job_name == SHARED_JOB else "")
    # Its process died, or never began.
    for event in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE, limit=1).records:
        return first_line(event.event_log_entry.user_message)[:_MOST_CHARACTERS]
    return ""


def _line_of(said: str, table: str) -> str:
    """The line of an error that is a table's; else its first."""
    of_table = [line for line in said.splitlines() if table and line.startswith(f"{table}: ")]
    return (of_table[0].removeprefix(f"{table}: ") if of_table else first_line(said))[:_MOST_CHARACTERS]
