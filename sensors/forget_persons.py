"""The schedule that works off the requests to forget persons."""

from __future__ import annotations

import dagster as dg

from tidegate.assets.keys import FORGET_JOB, LakeNames
from tidegate.platform.core.config.lake import LakeConfig


def build_forget_schedules(config: LakeConfig) -> list[dg.ScheduleDefinition]:
    """Build the schedule that materializes the asset `forgotten` each day. None without `forget` in lake.yaml."""
    if config.forget is None:
        return []
    names = LakeNames.from_config(config)
    name = names.name(FORGET_JOB)
    job = dg.define_asset_job(name, [names.forgotten], description="Works off the requests to forget persons.")
    return [
        dg.ScheduleDefinition(
            name=name,
            job=job,
            cron_schedule="30 2 * * *",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Materializes `forgotten` each day.",
        )
    ]
