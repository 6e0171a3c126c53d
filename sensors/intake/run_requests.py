"""The bronze runs that the intake sensor requests."""

from __future__ import annotations

import time

import dagster as dg

from tidegate.assets.keys import BRONZE_JOB, SHARED_JOB, LakeNames
from tidegate.assets.runs.held_tables import shared_config
from tidegate.assets.runs.tags import TABLE_TAG, TRIGGER_TAG, server_tags
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.intake.due_tables import MAX_RUNS, DueTables, assign_runs, find_due_tables
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.root import is_table_key
from tidegate.sensors.run_history import FAILURES_TAG, TableRuns, table_runs


def bronze_requests(
    lake: Lake, instance: dg.DagsterInstance, now: float, after: str, until: float
) -> tuple[DueTables, list[dg.RunRequest]]:
    """Return tour the inbox. Returns the tour and the runs to request for its due tables.

    Args:
        now: epoch seconds.
        after: the inbox folder at which the last tour ended.
        until: when to stop, by `time.monotonic`. At least one table is read in any case.
    """
    names, server = LakeNames.from_config(lake.config), lake.delta.server
    runs = table_runs(instance, names, (TRIGGER_TAG, "sensor"), now)
    due_tables = find_due_tables(
        lake.store.inbox.walk_backlogs(after),
        lake.config,
        now,
        held=runs.active | tables_in_backoff(runs, lake.config, now),
        max_runs=MAX_RUNS - runs.tagged,
        after=after,
        alone=runs.failures,
        server_of=server.server_of,
        server_runs=runs.by_server,
        has_time=lambda: time.monotonic() < until,
    )
    assignment = assign_runs(due_tables.due, runs.failures, server.server_of)
    own = [_request_own_run(names, table, runs, server_tags(server, table)) for table in assignment.own]
    shared = [_shared_run_request(names, tables, server_tags(server, tables[0])) for tables in assignment.shared]
    return due_tables, [*own, *shared]


def tables_in_backoff(runs: TableRuns, config: LakeConfig, now: float) -> set[str]:
    """Return the tables whose last run failed and whose backoff is not over yet. Pure."""
    return {
        table
        for table, failures in runs.failures.items()
        if is_table_key(table) and failures.backoff_left(config.settings(TableKey.decode(table)).window, now)
    }


def _request_own_run(names: LakeNames, table: str, runs: TableRuns, more: dict[str, str]) -> dg.RunRequest:
    tags = {TRIGGER_TAG: "sensor", TABLE_TAG: names.label(table), **more}
    if table in runs.failures:
        tags[FAILURES_TAG] = str(runs.failures[table].number)
    return dg.RunRequest(job_name=names.name(BRONZE_JOB), partition_key=table, tags=tags)


def _shared_run_request(names: LakeNames, tables: list[str], more: dict[str, str]) -> dg.RunRequest:
    config = shared_config(names, tables)
    return dg.RunRequest(job_name=names.name(SHARED_JOB), run_config=config, tags={TRIGGER_TAG: "sensor", **more})
