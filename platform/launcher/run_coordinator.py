"""The queue of runs. A table in an active shared run gets no second run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dagster import DagsterRunStatus, QueuedRunCoordinator, RunsFilter

from tidegate.assets.runs.held_tables import PARTITION_TAG, held_tables, is_shared

if TYPE_CHECKING:
    from dagster._core.run_coordinator.queued_run_coordinator import RunQueueConfig

_AT_WORK = [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]


class TableRunCoordinator(QueuedRunCoordinator):
    """Dagster's queue with limits for shared runs.

    Dagster limits runs by the value of a tag, and a run that fifty tables share cannot have fifty values of
    `dagster/partition`. So each table of an active shared run adds a limit: no run of that partition.
    """

    def get_run_queue_config(self) -> RunQueueConfig:
        """Return the present limits. The daemon calls this before it takes runs out of the queue."""
        config = super().get_run_queue_config()
        at_work = self._instance.get_runs(RunsFilter(statuses=_AT_WORK))
        held = {table for run in at_work if is_shared(run) for table in held_tables(run)}
        limits = [{"key": PARTITION_TAG, "value": table, "limit": 0} for table in sorted(held)]
        return config._replace(tag_concurrency_limits=[*config.tag_concurrency_limits, *limits])
