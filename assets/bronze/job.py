"""The job that brings one bronze table up to date."""

from typing import Any

import dagster as dg

from tidegate.assets.keys import BRONZE_JOB, LakeNames
from tidegate.assets.runs.executor import run_executor
from tidegate.platform.core.config.lake import LakeConfig


def bronze_job(config: LakeConfig) -> Any:
    """Build the job. A run of it has one partition of `bronze`."""
    names = LakeNames.from_config(config)
    return dg.define_asset_job(
        names.name(BRONZE_JOB),
        selection=dg.AssetSelection.assets(names.bronze),
        executor_def=run_executor,
        description="Brings one bronze table up to date with its inbox.",
    )
