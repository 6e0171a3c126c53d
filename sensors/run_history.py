"""What Dagster's storage has of runs: which are active, and whether the last runs of a table failed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.keys import BRONZE_JOB, SHARED_JOB, LakeNames
from tidegate.assets.runs.held_tables import ACTIVE, PARTITION_TAG, RunTables
from tidegate.assets.runs.tags import SERVER_TAG

#: The statuses of runs that ended without doing their work.
FAILED = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_LONGEST_BACKOFF = 3600.0
#: Tag of a run that follows failed runs: how many failed in a row.
FAILURES_TAG = "tidegate/failures"
#: Runs that one query fetches, newest first, which takes Dagster a second or two. If there are more, a table may get a
#: second run, which finds nothing to do.
_MAX_RECORDS = 5000


@dataclass(frozen=True)
class Failures:
    """The failed runs of a table since its last successful run.

    Attributes:
        number: how many runs failed.
        at: epoch seconds at which the last one ended.
    """

    number: int
    at: float

    def backoff_left(self, pace: float, now: float) -> float:
        """Return the seconds until the next run may be requested.

        Args:
            pace: seconds between runs when none fails.
            now: epoch seconds.
        """
        return max(0.0, self.at + backoff_seconds(self.number, pace) - now)


@dataclass(frozen=True)
class TableRuns:
    """The runs of all tables, as far as the next requests depend on them.

    Attributes:
        active: tables that have a queued or active run, no matter who requested it.
        tagged: how many of all active runs have the wanted tag.
        by_server: how many of these each Spark server has, if there are several.
        failures: tables whose last run failed recently enough to matter.
    """

    active: frozenset[str] = frozenset()
    tagged: int = 0
    by_server: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, Failures] = field(default_factory=dict)


def table_runs(instance: dg.DagsterInstance, names: LakeNames, tag: tuple[str, str], now: float) -> TableRuns:
    """Read the runs of all tables, with four queries for any number of tables.

    Args:
        names: the lake whose tables they are.
        tag: the tag of the active runs to count.
        now: epoch seconds.
    """
    records = instance.get_run_records(dg.RunsFilter(statuses=ACTIVE), limit=_MAX_RECORDS)
    runs = names.select_held(record.dagster_run for record in records)
    tables = RunTables(instance)
    active = frozenset(table for run in runs for table in tables.find_held(run))
    tagged = [run.tags for run in runs if run.tags.get(tag[0]) == tag[1]]
    by_server = Counter(tags[SERVER_TAG] for tags in tagged if SERVER_TAG in tags)
    return TableRuns(active, len(tagged), by_server, _failures(tables, names, now))


def _failures(tables: RunTables, names: LakeNames, now: float) -> dict[str, Failures]:
    instance = tables.instance
    # A backoff is an hour at most, and the next run, whose tag has the count of the earlier ones, follows at once.
    since = datetime.fromtimestamp(now - 2 * _LONGEST_BACKOFF, UTC)
    latest: dict[str, dg.RunRecord] = {}
    job = names.name(BRONZE_JOB)
    for name in (job, names.name(SHARED_JOB)):
        failed = dg.RunsFilter(job_name=name, statuses=FAILED, updated_after=since)
        for record in instance.get_run_records(failed, limit=_MAX_RECORDS):
            for table in tables.find_failed(record.dagster_run):
                if table not in latest or latest[table].storage_id < record.storage_id:
                    latest[table] = record
    if not latest:
        return {}
    good = dg.RunsFilter(
        job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS], tags={PARTITION_TAG: sorted(latest)}, updated_after=since
    )
    for record in instance.get_run_records(good, limit=_MAX_RECORDS):
        table = record.dagster_run.tags[PARTITION_TAG]
        if table in latest and record.storage_id > latest[table].storage_id:
            del latest[table]
    return {table: Failures(_earlier_failures(record) + 1, end_time(record)) for table, record in latest.items()}


def _earlier_failures(record: dg.RunRecord) -> int:
    """Return how many runs had failed before this one, by the tag that its request got."""
    count = record.dagster_run.tags.get(FAILURES_TAG, "")
    return int(count) if count.isdecimal() and count.isascii() else 0


def end_time(record: dg.RunRecord) -> float:
    """Return the epoch seconds at which a run ended, or at which it changed last if its end was not recorded."""
    return record.end_time or record.update_timestamp.replace(tzinfo=UTC).timestamp()


def is_active(instance: dg.DagsterInstance, job: str) -> bool:
    """Return whether a run of the job is queued or active."""
    return bool(instance.get_run_records(dg.RunsFilter(job_name=job, statuses=ACTIVE), limit=1))


def backoff_seconds(failures: int, pace: float) -> float:
    """Return the seconds to wait after failures in a row.

    Args:
        failures: how many runs failed.
        pace: seconds between runs when none fails.
    """
    return 0.0 if failures == 0 else min(max(pace, 5.0) * 2 ** (failures - 1), _LONGEST_BACKOFF)


def backoff_seconds_left(instance: dg.DagsterInstance, job: str, pace: float, now: float) -> float:
    """Return the seconds until the next run of a job may be requested. 0 unless the last run failed recently.

    Args:
        job: name of the job.
        pace: seconds between runs when none fails.
        now: epoch seconds.
    """
    failures, latest = 0, 0.0
    for record in instance.get_run_records(dg.RunsFilter(job_name=job), limit=12):
        if record.dagster_run.status not in FAILED:
            break
        failures += 1
        latest = max(latest, end_time(record))
    return Failures(failures, latest).backoff_left(pace, now)
