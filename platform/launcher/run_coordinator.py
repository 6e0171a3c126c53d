"""The queue of runs. A table in an active run of several tables gets no second run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dagster import QueuedRunCoordinator, RunsFilter

from tidegate.assets.runs.held_tables import AT_WORK, PARTITION_TAG, RunTables, is_range, is_shared

if TYPE_CHECKING:
    from dagster._core.run_coordinator.queued_run_coordinator import RunQueueConfig


class TableRunCoordinator(QueuedRunCoordinator):
    """Dagster's queue with limits for runs of several tables.

    Dagster limits runs by the value of a tag, and a run that fifty tables share, or a run of a backfill, cannot have
    fifty values of `dagster/partition`. So each table of such a run adds a limit while the run is active: no run of
    that partition. Runs of several tables are not limited: they leave out, or wait for, a table of another active run.
    """

    def get_run_queue_config(self) -> RunQueueConfig:
        """Return the present limits. The daemon calls this before it takes runs out of the queue."""
        config = super().get_run_queue_config()
        at_work = self._instance.get_runs(RunsFilter(statuses=AT_WORK))
        tables = RunTables(self._instance)
        held = {table for run in at_work if is_shared(run) or is_range(run) for table in tables.find_held(run)}
        limits = [{"key": PARTITION_TAG, "value": table, "limit": 0} for table in sorted(held)]
        return config._replace(tag_concurrency_limits=[*config.tag_concurrency_limits, *limits])
