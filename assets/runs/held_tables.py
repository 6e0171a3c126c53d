"""Bronze tables of a Dagster run: the table of its partition, or the tables that share the run.

This module imports little because Dagster's daemon imports it, too.
"""

import json
from contextlib import suppress
from typing import Any

import dagster as dg

#: The job whose runs are shared by tables, and its only op.
SHARED_JOB, SHARED_OP = "bronze_shared_job", "bronze_shared"
PARTITION_TAG = "dagster/partition"
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


def held_tables(run: dg.DagsterRun) -> list[str]:
    """Returns the table keys of a run. The list may be empty."""
    if run.job_name != SHARED_JOB:
        return [run.tags[PARTITION_TAG]] if PARTITION_TAG in run.tags else []
    config: Any = run.run_config
    with suppress(LookupError, TypeError):  # Dagster does not start a run with such a config, so it has no table
        return [str(table) for table in config["ops"][SHARED_OP]["config"]["tables"]]
    return []


def failed_tables(run: dg.DagsterRun) -> list[str]:
    """Returns the tables that failed in a failed run. If its process died, these are all of its tables."""
    return [str(table) for table in json.loads(run.tags[FAILED_TAG])] if FAILED_TAG in run.tags else held_tables(run)


def shared_config(tables: list[str]) -> dict[str, object]:
    """Returns the run config of a run that these tables share.

    Args:
        tables: table keys, in the order of their processing.
    """
    return {"ops": {SHARED_OP: {"config": {"tables": tables}}}}
