"""The schedule that brings the Glue Data Catalog in step."""

from __future__ import annotations

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.platform.core.config.lake import LakeConfig


def build_catalog_schedules(config: LakeConfig) -> list[dg.ScheduleDefinition]:
    """Build the schedule that materializes the asset `catalog` each day. None without `catalog` in lake.yaml.

    It makes up for a run that died, or that Glue did not answer, after it had changed the columns of a table.
    """
    if config.catalog is None:
        return []
    names = LakeNames.from_config(config)
    name = names.name("catalog_sync")
    job = dg.define_asset_job(name, [names.catalog], description="Brings the Glue Data Catalog in step.")
    return [
        dg.ScheduleDefinition(
            name=name,
            job=job,
            cron_schedule="10 3 * * *",
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Materializes `catalog` each day.",
        )
    ]
