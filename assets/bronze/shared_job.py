"""The job for runs that several tables share."""

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import dagster as dg
from pydantic import Field

from tidegate.assets.bronze.asset import work_off
from tidegate.assets.bronze.report import page_of
from tidegate.assets.bronze.shared_run import SharedRun, bring_up_to_date, find_lost_server
from tidegate.assets.keys import SHARED_JOB, LakeNames
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.held_tables import (
    ACTIVE,
    AT_WORK,
    FAILED_TAG,
    PARTITION_TAG,
    SHARED_OP,
    RunTables,
    is_range,
)
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.resources.lake_resource import LakeResource, with_lake

#: Seconds after which a shared run starts no further table. The sizes of the files are not known beforehand. The other
#: tables wait for the next run, and a table that a person asks for does not wait long for this one.
SECONDS = 120.0


class SharedTables(dg.Config):
    """The tables of a shared run."""

    tables: list[str] = Field(description="Table keys (partitions of bronze), in the order of their turns.")


def build_shared_job(config: LakeConfig) -> dg.JobDefinition:
    """Build the job for runs that several tables share.

    It runs an op instead of the asset, because a Dagster run can only have one partition of an asset or a range of
    partitions, and the tables with few hints are not a range. The op logs the events that a run of each partition would
    have.
    """

    page, names = partial(page_of, config), LakeNames.from_config(config)

    @dg.op(
        name=names.name(SHARED_OP), out={}, description="Brings several bronze tables up to date, one after another."
    )
    @with_lake(names.resource)
    def bronze_shared(context: dg.OpExecutionContext, config: SharedTables, lake: LakeResource) -> Iterator[Any]:
        handles, until = lake.open(next(iter(config.tables), "")), time.monotonic() + SECONDS
        shared = SharedRun(
            work=lambda table: work_off(context, names, handles.table(table), page(table), prefix=f"{table}: "),
            held=lambda table: _has_own_run(context.instance, names, table),
            lost=partial(find_lost_server, handles),
            has_time=lambda: time.monotonic() < until,
        )
        yield from bring_up_to_date(context, names, page, shared, config.tables)
        if verdict := shared.verdict(len(config.tables)):
            context.instance.add_run_tags(context.run_id, {FAILED_TAG: json.dumps(list(shared.failed))})
            raise dg.Failure(verdict, allow_retries=False)

    @dg.job(
        name=names.name(SHARED_JOB),
        executor_def=run_executor,
        description="Brings several bronze tables up to date with their inboxes: those for which little waits.",
    )
    def shared_job() -> None:
        bronze_shared()

    return shared_job


def _has_own_run(instance: dg.DagsterInstance, names: LakeNames, table: str) -> bool:
    """Return whether a table has a run of its own, queued or at work, or a run of a backfill at work.

    A queued run of a backfill waits for this one when it comes to the table.
    """
    own = instance.get_runs(dg.RunsFilter(statuses=ACTIVE, tags={PARTITION_TAG: table}))
    ranges = [run for run in instance.get_runs(dg.RunsFilter(statuses=AT_WORK)) if is_range(run)]
    tables = RunTables(instance)
    return bool(names.select_held([*own, *(run for run in ranges if table in tables.find_held(run))]))
