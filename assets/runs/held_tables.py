"""Tables that a Dagster run works on: that of its partition, those of its range, those that share it, or its config's.

This module imports little because Dagster's daemon imports it, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tidegate.assets.keys import FORGET_JOB, MAINTENANCE_JOB, REBUILD_JOB, SHARED_JOB, LakeNames, is_job_of_a_lake

PARTITION_TAG = "dagster/partition"
#: Dagster's tags of a run of a backfill. Their values are its first and last partition, in the order in which the
#: partitions were added.
RANGE_START_TAG, RANGE_END_TAG = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
#: Tag of a run of a backfill: `<run id>/<table key>`. All tables before that table are up to date. A repetition of the
#: run has a copy of the tag, so its value contains the run.
TURN_TAG = "tidegate/turn"
#: The only ops of the jobs whose runs are shared by tables, and that compute a table again.
SHARED_OP, REBUILD_OP = "bronze_shared", "rebuild_op"
#: Tag of a run of several tables that ended: its failed tables, as JSON.
FAILED_TAG = "tidegate/failed"
#: Statuses of runs that are queued or running.
ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


@dataclass(frozen=True)
class RunTables:
    """Finds the tables of runs, whatever their kind.

    It asks Dagster once for the partitions of a lake, and only if a run has a range of them.
    """

    instance: dg.DagsterInstance
    _partitions: dict[str, Sequence[str]] = field(default_factory=dict)

    def find(self, run: dg.DagsterRun) -> list[str]:
        """Return the table keys of a run, in the order of their turns. The list may be empty."""
        if is_shared(run):
            config: Any = run.run_config
            with suppress(LookupError, TypeError):  # Dagster does not start a run with such a config
                return [str(table) for table in config["ops"][_shared_op(run)]["config"]["tables"]]
            return []
        return self._range(run) if is_range(run) else [run.tags[PARTITION_TAG]] if PARTITION_TAG in run.tags else []

    def find_held(self, run: dg.DagsterRun) -> list[str]:
        """Return the table keys of a queued or active run with which it is not finished."""
        tables = self.find(run)
        by, _, turn = run.tags.get(TURN_TAG, "").partition("/")
        return tables[tables.index(turn) :] if by == run.run_id and turn in tables else tables

    def find_failed(self, run: dg.DagsterRun) -> list[str]:
        """Return the tables that failed in a failed run. If its process died, these are all of its tables."""
        if FAILED_TAG in run.tags:
            return [str(table) for table in json.loads(run.tags[FAILED_TAG])]
        return self.find(run)

    def _range(self, run: dg.DagsterRun) -> list[str]:
        first, last = run.tags[RANGE_START_TAG], run.tags[RANGE_END_TAG]
        # Only partitions that are in the instance have a name.
        name = getattr(getattr(run.partitions_subset, "partitions_snap", None), "name", None)
        if first == last or name is None:
            return [first] if first == last else []  # partitions without a name in the instance are not tables
        keys = self._partitions.get(name)
        if keys is None:
            keys = self._partitions[name] = self.instance.get_dynamic_partitions(name)
        # Dagster does not start a run of which it does not have both partitions any more.
        return list(keys[keys.index(first) : keys.index(last) + 1]) if first in keys and last in keys else []


def is_shared(run: dg.DagsterRun) -> bool:
    """Return whether several tables share a run that a sensor requested, of whatever lake they are."""
    return is_job_of_a_lake(run, SHARED_JOB)


def is_range(run: dg.DagsterRun) -> bool:
    """Return whether a run has a range of partitions. Its range may consist of one."""
    return PARTITION_TAG not in run.tags and RANGE_START_TAG in run.tags and RANGE_END_TAG in run.tags


def _shared_op(run: dg.DagsterRun) -> str:
    return f"{run.job_name.removesuffix(SHARED_JOB)}{SHARED_OP}"


def is_maintenance(run: dg.DagsterRun, names: LakeNames) -> bool:
    """Return whether a run maintains tables of a lake, by its job or by the assets that a person selected."""
    of_all = names.maintained_bronze.path[:-1]
    selected = run.asset_selection or ()
    return run.job_name == names.name(MAINTENANCE_JOB) or any(key.path[: len(of_all)] == of_all for key in selected)


def is_forgetting(run: dg.DagsterRun, names: LakeNames) -> bool:
    """Return whether a run forgets persons of a lake, by its job or by the assets that a person selected."""
    return run.job_name == names.name(FORGET_JOB) or names.forgotten in (run.asset_selection or ())


def is_rebuild(run: dg.DagsterRun, names: LakeNames, name: str) -> bool:
    """Return whether a run rebuilds a table. A dry run does not.

    Args:
        names: the lake of the table.
        name: the table as the job's config names it, such as `silver.orders`.
    """
    if run.job_name != names.name(REBUILD_JOB):
        return False
    config: Any = run.run_config
    with suppress(LookupError, TypeError, AttributeError):  # Dagster does not start a run with such a config
        given = config["ops"][names.name(REBUILD_OP)]["config"]
        return given["table"] == name and not given.get("dry_run", True)
    return False


def other_run(instance: dg.DagsterInstance, run_id: str, is_writer: Callable[[dg.DagsterRun], bool]) -> str | None:
    """Return the id of another run that is at work on a table. None if there is none.

    Args:
        run_id: the run that asks.
        is_writer: whether a run writes the table.
    """
    for run in instance.get_runs(dg.RunsFilter(statuses=AT_WORK)):
        if run.run_id != run_id and is_writer(run):
            return run.run_id
    return None


def shared_config(names: LakeNames, tables: list[str]) -> dict[str, object]:
    """Return the run config of a run that these tables share.

    Args:
        tables: table keys, in the order of their processing.
    """
    return {"ops": {names.name(SHARED_OP): {"config": {"tables": tables}}}}
