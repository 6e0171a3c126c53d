"""What Dagster remembers of the runs of one table: whether one is active, and whether the last ones failed."""

from collections.abc import Mapping
from datetime import UTC

import dagster as dg

ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_FAILED = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_LONGEST_BACKOFF = 3600.0


def is_active(instance: dg.DagsterInstance, job: str | None = None, tags: Mapping[str, str] | None = None) -> bool:
    """Whether a run of the job, or with the tags, is queued or at work."""
    return bool(instance.get_run_records(dg.RunsFilter(job_name=job, tags=tags, statuses=ACTIVE), limit=1))


def backoff_seconds(failures: int, pace: float) -> float:
    """How long to rest after so many failures in a row.

    Args:
        failures: how many.
        pace: seconds between runs when all is well.
    """
    return 0.0 if failures == 0 else min(max(pace, 5.0) * 2 ** (failures - 1), _LONGEST_BACKOFF)


def rest_seconds(
    instance: dg.DagsterInstance, job: str, pace: float, now: float, tags: Mapping[str, str] | None = None
) -> float:
    """How long it is until the next run may be asked for; 0 unless the last one failed lately.

    Args:
        job: name of the job.
        pace: seconds between runs when all is well.
        now: epoch seconds.
        tags: of the runs that count.
    """
    failures, latest = 0, 0.0
    for record in instance.get_run_records(dg.RunsFilter(job_name=job, tags=tags), limit=12):
        if record.dagster_run.status not in _FAILED:
            break
        failures += 1
        latest = max(latest, record.end_time or record.update_timestamp.replace(tzinfo=UTC).timestamp())
    return max(0.0, latest + backoff_seconds(failures, pace) - now)
