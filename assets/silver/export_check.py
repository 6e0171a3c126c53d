"""The check that the changes of a silver table are exported."""

from __future__ import annotations

import dagster as dg
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.errors import PySparkException

from tidegate.assets.presentation.check_events import check_result
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import TidegateError
from tidegate.platform.core.markdown import sentence
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.export import ExportResult, export_changes

EXPORT_CHECK = "changes_exported"


def exported_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the check of a silver table with `export`."""
    return dg.AssetCheckSpec(
        EXPORT_CHECK, asset=asset, description="The changes of every version are exported, as `export` says."
    )


def check_export(lake: Lake, spec: TableSpec, asset: dg.AssetKey) -> dg.AssetCheckResult:
    """Export the changes of a silver table, after its merges. A failure of the export is none of the merges."""
    try:
        return _result(asset, export_changes(lake, spec))
    except (PySparkException, TidegateError, ValueError, BotoCoreError, ClientError) as error:
        lake.delta.check_session_alive()
        return check_result(
            passed=False,
            check_name=EXPORT_CHECK,
            asset_key=asset,
            description=sentence("the changes are not exported, and the next run tries again: {}", first_line(error)),
        )


def _result(asset: dg.AssetKey, done: ExportResult) -> dg.AssetCheckResult:
    return check_result(
        passed=not done.behind,
        check_name=EXPORT_CHECK,
        asset_key=asset,
        severity=dg.AssetCheckSeverity.WARN,
        description=sentence("{} versions are left to the next run", done.behind) if done.behind else None,
        metadata={"manifests": done.manifests, "behind": done.behind, **done.rows},
    )
