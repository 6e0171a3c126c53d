"""The schedule of the job that deletes old runs and events from Dagster's storage, so that it stops growing."""

from __future__ import annotations

import dagster as dg


def build_history_schedule(job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Build the schedule of the job. A person may also run the job, or stop the schedule."""
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule="30 3 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Once a day.",
    )
