"""The schedules of the reports on storage: each table of inventories has its own."""

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.executor import run_executor
from tidegate.platform.core.config.lake import LakeConfig


def build_storage_schedules(config: LakeConfig) -> list[dg.ScheduleDefinition]:
    """Build the schedules. They run; a person may stop them."""
    names = LakeNames.from_config(config)
    return [
        dg.ScheduleDefinition(
            name=names.name(f"storage_{spec.name}_schedule"),
            job=dg.define_asset_job(
                names.name(f"storage_{spec.name}_job"),
                selection=names.reports(spec.name),
                executor_def=run_executor,
                description=f"Reports on the objects in the table of inventories {spec.name}.",
            ),
            cron_schedule=spec.storage_reports.schedule,
            execution_timezone="UTC",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            tags={"dagster/priority": "-2"},
        )
        for spec in config.tables
        if spec.storage_reports
    ]
