"""The job that brings one bronze table up to date."""

import dagster as dg

from tidegate.assets.keys import BRONZE

BRONZE_JOB = dg.define_asset_job(
    "bronze_job",
    selection=dg.AssetSelection.assets(BRONZE),
    executor_def=dg.in_process_executor,
    description="Brings one bronze table up to date with its inbox.",
)
