"""What Dagster remembers of runs: which are active, and whether the last ones of a table failed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.runs.held_tables import ACTIVE, PARTITION_TAG, SHARED_JOB, failed_tables, held_tables

#: How runs end that did not do their work.
FAILED = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_LONGEST_BACKOFF = 3600.0
#: Tag of a run that follows failed ones: how many, in a row.
FAILURES_TAG = "tidegate/failures"
#: Runs that one query fetches, the newest ones: a second or two of Dagster's time. More than these are not waited for,
#: and then a table may have a second run in the queue, which finds nothing to do.
_MAX_RECORDS = 5000


@dataclass(frozen=True)
class Failures:
    """The failed runs of a table since its last good one: how many, and when the last of them ended."""

    number: int
    at: float

    def backoff_left(self, pace: float, now: float) -> float:
        """How long it is until the next run may be asked for, in seconds.

        Args:
            pace: seconds between runs when all is well.
            now: epoch seconds.
        """
        return max(0.0, self.at + backoff_seconds(self.number, pace) - now)


@dataclass(frozen=True)
class TableRuns:
    """The runs of all tables, as far as the next ones depend on them.

    Attributes:
        active: tables that have a run that is queued or at work, whoever asked for it.
        tagged: how many of all active runs have the tag that was asked for.
        failures: tables whose last run failed, if that was lately enough to matter.
    """

    active: frozenset[str] = frozenset()
    tagged: int = 0
    failures: Mapping[str, Failures] = field(default_factory=dict)


def table_runs(instance: dg.DagsterInstance, job: str, tag: tuple[str, str], now: float) -> TableRuns:
    """Ask for the runs of all tables at once: four queries, however many tables there are.

    Args:
        instance: Dagster's instance.
        job: name of the job whose failures count, beside those of shared runs.
        tag: of the runs to count among the active ones.
        now: epoch seconds.
    """
    records = instance.get_run_records(dg.RunsFilter(statuses=ACTIVE), limit=_MAX_RECORDS)
    runs = [record.dagster_run for record in records]
    active = frozenset(table for run in runs for table in held_tables(run))
    return TableRuns(active, sum(run.tags.get(tag[0]) == tag[1] for run in runs), _failures(instance, job, now))


def _failures(instance: dg.DagsterInstance, job: str, now: float) -> dict[str, Failures]:
    # A rest is an hour at most, and the next run, which has the count of those before, comes right after it.
    since = datetime.fromtimestamp(now - 2 * _LONGEST_BACKOFF, UTC)
    latest: dict[str, dg.RunRecord] = {}
    for name in (job, SHARED_JOB):
        failed = dg.RunsFilter(job_name=name, statuses=FAILED, updated_after=since)
        for record in instance.get_run_records(failed, limit=_MAX_RECORDS):
            for table in failed_tables(record.dagster_run):
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
    return {table: Failures(_earlier(record) + 1, ended(record)) for table, record in latest.items()}


def _earlier(record: dg.RunRecord) -> int:
    """How many runs had failed before this one, as whoever asked for it knew."""
    said = record.dagster_run.tags.get(FAILURES_TAG, "")
    return int(said) if said.isdecimal() and said.isascii() else 0


def ended(record: dg.RunRecord) -> float:
    """Epoch seconds at which a run ended; of one whose end nobody wrote down, at which it changed last."""
    return record.end_time or record.update_timestamp.replace(tzinfo=UTC).timestamp()


def is_active(instance: dg.DagsterInstance, job: str) -> bool:
    """Whether a run of the job is queued or at work."""
    return bool(instance.get_run_records(dg.RunsFilter(job_name=job, statuses=ACTIVE), limit=1))


def backoff_seconds(failures: int, pace: float) -> float:
    """How long to rest after so many failures in a row.

    Args:
        failures: how many.
        pace: seconds between runs when all is well.
    """
    return 0.0 if failures == 0 else min(max(pace, 5.0) * 2 ** (failures - 1), _LONGEST_BACKOFF)


def backoff_seconds_left(instance: dg.DagsterInstance, job: str, pace: float, now: float) -> float:
    """How long it is until the next run of a job may be asked for; 0 unless the last one failed lately.

    Args:
        instance: Dagster's instance.
        job: name of the job.
        pace: seconds between runs when all is well.
        now: epoch seconds.
    """
    failures, latest = 0, 0.0
    for record in instance.get_run_records(dg.RunsFilter(job_name=job), limit=12):
        if record.dagster_run.status not in FAILED:
            break
        failures += 1
        latest = max(latest, ended(record))
    return Failures(failures, latest).backoff_left(pace, now)
