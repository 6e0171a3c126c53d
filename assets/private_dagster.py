"""What assets and sensors need of Dagster under names that are not public: results of checks, and planned runs.

Only this module has these names, so that only it has to follow them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import dagster as dg
from dagster._core.events import AssetMaterializationPlannedData
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecord,
    AssetCheckExecutionRecordStatus,
)

#: An execution of a check, as Dagster keeps it: `id`, `partition`, `create_timestamp` and `evaluation`.
CheckExecution = AssetCheckExecutionRecord
_FAILED = frozenset({AssetCheckExecutionRecordStatus.FAILED})
_ENDED = _FAILED | {AssetCheckExecutionRecordStatus.SUCCEEDED}


def last_check_executions(
    instance: dg.DagsterInstance, checks: Collection[dg.AssetCheckKey]
) -> Mapping[dg.AssetCheckKey, CheckExecution]:
    """Return the last execution of each check that has one, also if it has not ended. It takes one query."""
    return instance.event_log_storage.get_latest_asset_check_execution_by_key(list(checks))


def ended_check_executions(
    instance: dg.DagsterInstance,
    check: dg.AssetCheckKey,
    limit: int,
    *,
    before: int | None = None,
    failed: bool = False,
) -> Sequence[CheckExecution]:
    """Return the executions of a check that ended, the newest first. It takes one query.

    Args:
        limit: how many at most.
        before: id of an execution. Only older ones are returned.
        failed: whether only those that failed are returned.
    """
    return instance.event_log_storage.get_asset_check_execution_history(
        check, limit=limit, cursor=before, status=_FAILED if failed else _ENDED
    )


def materialization_planned(job: str, step: str, asset: dg.AssetKey, partition: str) -> dg.DagsterEvent:
    """Return the event with which a run says that it will materialize a partition."""
    return dg.DagsterEvent.build_asset_materialization_planned_event(
        job, step, AssetMaterializationPlannedData(asset, partition=partition)
    )
