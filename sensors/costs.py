"""The schedule of the asset `lake_costs`."""

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.executor import run_executor
from tidegate.platform.core.config.lake import LakeConfig


def build_costs_schedules(config: LakeConfig) -> list[dg.ScheduleDefinition]:
    """Build the schedule of a lake with `costs`. It runs; a person may stop it."""
    if config.costs is None:
        return []
    names = LakeNames.from_config(config)
    return [
        dg.ScheduleDefinition(
            name=names.name("lake_costs_schedule"),
            job=dg.define_asset_job(
                names.name("lake_costs_job"),
                selection=[names.lake_costs],
                executor_def=run_executor,
                description="Computes what the tables of the lake cost.",
            ),
            cron_schedule=config.costs.schedule,
            execution_timezone="UTC",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            tags={"dagster/priority": "-2"},
        )
    ]
