"""The schedules of the jobs that delete old runs and events from Dagster's storage, so that it stops growing."""

from __future__ import annotations

import dagster as dg


def build_history_schedules(runs: dg.JobDefinition, events: dg.JobDefinition) -> list[dg.ScheduleDefinition]:
    """Build the schedules. A person may also run a job, and start or stop a schedule.

    Args:
        runs: deletes runs by Dagster's own method.
        events: deletes events by SQL in Dagster's private tables. Its schedule is off until a person starts it.
    """
    return [
        _nightly(runs, "30 3 * * *", dg.DefaultScheduleStatus.RUNNING, "Once a day."),
        _nightly(events, "45 3 * * *", dg.DefaultScheduleStatus.STOPPED, "Once a day, if you start it."),
    ]


def _nightly(
    job: dg.JobDefinition, cron: str, status: dg.DefaultScheduleStatus, description: str
) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=status,
        description=description,
    )
