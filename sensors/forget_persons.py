"""The schedule that works off the requests to forget persons."""

from __future__ import annotations

import dagster as dg

from tidegate.assets.keys import FORGOTTEN
from tidegate.assets.runs.held_tables import FORGET_JOB
from tidegate.platform.core.config.lake import LakeConfig


def build_forget_schedules(config: LakeConfig) -> list[dg.ScheduleDefinition]:
    """Build the schedule that materializes the asset `forgotten` each day. None without `forget` in lake.yaml."""
    if config.forget is None:
        return []
    job = dg.define_asset_job(FORGET_JOB, [FORGOTTEN], description="Works off the requests to forget persons.")
    return [
        dg.ScheduleDefinition(
            name=FORGET_JOB,
            job=job,
            cron_schedule="30 2 * * *",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Materializes `forgotten` each day.",
        )
    ]
