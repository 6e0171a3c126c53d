"""Tables that a Dagster run works on: that of its partition, those that share the run, or that of its config.

This module imports little because Dagster's daemon imports it, too.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import dagster as dg

from tidegate.assets.keys import FORGET_JOB, MAINTENANCE_JOB, REBUILD_JOB, SHARED_JOB, LakeNames, is_job_of_a_lake

PARTITION_TAG = "dagster/partition"
#: The only ops of the jobs whose runs are shared by tables, and that compute a table again.
SHARED_OP, REBUILD_OP = "bronze_shared", "rebuild_op"
#: Tag of a shared run that ended: its failed tables, as JSON.
FAILED_TAG = "tidegate/failed"
#: Statuses of runs that are queued or running.
ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def held_tables(run: dg.DagsterRun) -> list[str]:
    """Return the table keys of a run. The list may be empty."""
    if not is_shared(run):
        return [run.tags[PARTITION_TAG]] if PARTITION_TAG in run.tags else []
    config: Any = run.run_config
    with suppress(LookupError, TypeError):  # Dagster does not start a run with such a config, so it has no table
        return [str(table) for table in config["ops"][_shared_op(run)]["config"]["tables"]]
    return []


def is_shared(run: dg.DagsterRun) -> bool:
    """Return whether several tables share a run, of whatever lake they are."""
    return is_job_of_a_lake(run, SHARED_JOB)


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
        run: the run.
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
        instance: Dagster's instance.
        run_id: the run that asks.
        is_writer: whether a run writes the table.
    """
    for run in instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
        if run.run_id != run_id and is_writer(run):
            return run.run_id
    return None


def failed_tables(run: dg.DagsterRun) -> list[str]:
    """Return the tables that failed in a failed run. If its process died, these are all of its tables."""
    return [str(table) for table in json.loads(run.tags[FAILED_TAG])] if FAILED_TAG in run.tags else held_tables(run)


def shared_config(names: LakeNames, tables: list[str]) -> dict[str, object]:
    """Return the run config of a run that these tables share.

    Args:
        names: their lake.
        tables: table keys, in the order of their processing.
    """
    return {"ops": {names.name(SHARED_OP): {"config": {"tables": tables}}}}
