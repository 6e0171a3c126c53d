"""Which bronze tables a Dagster run holds: that of its partition, or those that share the run.

Light on purpose: Dagster's daemon imports it too.
"""

import json
from contextlib import suppress
from typing import Any

import dagster as dg

#: The job whose runs are shared by tables, and its one op.
SHARED_JOB, SHARED_OP = "bronze_shared_job", "bronze_shared"
PARTITION_TAG = "dagster/partition"
#: Of a shared run that ended: its tables that failed, as JSON.
FAILED_TAG = "tidegate/failed"
#: Runs that are queued or at work.
ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def held_tables(run: dg.DagsterRun) -> list[str]:
    """The table keys of a run's tables; empty where it has none."""
    if run.job_name != SHARED_JOB:
        return [run.tags[PARTITION_TAG]] if PARTITION_TAG in run.tags else []
    config: Any = run.run_config
    with suppress(LookupError, TypeError):  # what Dagster would not start has no table
        return [str(table) for table in config["ops"][SHARED_OP]["config"]["tables"]]
    return []


def failed_tables(run: dg.DagsterRun) -> list[str]:
    """Those of a failed run's tables that failed: all of them, where it died before it could say which."""
    return [str(table) for table in json.loads(run.tags[FAILED_TAG])] if FAILED_TAG in run.tags else held_tables(run)


def shared_config(tables: list[str]) -> dict[str, object]:
    """The configuration of a run that these tables share.

    Args:
        tables: table keys, in the order in which they are worked off.
    """
    return {"ops": {SHARED_OP: {"config": {"tables": tables}}}}
