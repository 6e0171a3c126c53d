"""Waits until every event has arrived: queue and inbox are empty, runs have ended, silver is up to date."""

from __future__ import annotations

import time
from collections.abc import Callable

import dagster as dg

from tidegate.assets.runs.held_tables import ACTIVE
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.demo.accounts import Accounts, read_accounts
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.pending_merge import pending_merge

#: Seconds between two checks. It is longer where a check costs queries that would delay the runs.
_PAUSE, _PAUSE_AFTER_SPARK = 0.5, 2.0
#: Runs under way that an error names.
_MAX_RUNS = 5


def wait_settled(
    lake: Lake,
    instance: dg.DagsterInstance,
    *,
    sent: int,
    before: Accounts,
    deadline: float,
    show: Callable[[str, int], None],
    check: Callable[[], None],
) -> Accounts:
    """Wait until all sent events are accounted for and nothing is on its way.

    Args:
        instance: the instance of Dagster, for active runs.
        sent: number of events that were sent since `before`.
        before: the accounts before the events.
        deadline: seconds.
        show: takes the progress: what the demo waits for, and the number of events accounted for.
        check: raises if a process of the platform has died.

    Raises:
        UnavailableError: the deadline passed.
    """
    end = time.monotonic() + deadline
    accounted = -1
    while time.monotonic() < end:
        check()
        pause = _PAUSE
        left = _describe_pending(lake, instance)
        if left is None:
            if accounted < sent:
                # Reads all ledgers by Spark. Once is enough: waiting for silver changes no ledger.
                accounts = read_accounts(lake)
                accounted = accounts.count_since(before).total()
            if accounted < sent:
                left = f"{sent - accounted} of {sent} events are missing"
            elif (left := _silver_behind(lake)) is None:
                return accounts
            pause = _PAUSE_AFTER_SPARK
        show(left, max(accounted, 0))
        time.sleep(pause)
    runs = instance.get_runs(dg.RunsFilter(statuses=ACTIVE), limit=_MAX_RUNS)
    named = "".join(f"; run {run.run_id} of {run.job_name} is {run.status.value}" for run in runs)
    raise UnavailableError(f"not settled within {deadline:.0f} s: {left}{named}. Look at the UI and at the logs")


def _describe_pending(lake: Lake, instance: dg.DagsterInstance) -> str | None:
    waiting, in_flight = lake.queues[0].depth()
    if waiting or in_flight:
        return f"SQS holds {waiting} messages, {in_flight} in flight"
    manifests = lake.store.waiting_manifests()
    if manifests:
        tables = len({manifest.table for manifest in manifests})
        return f"hints in the inbox: {sum(manifest.hints for manifest in manifests)}, of tables: {tables}"
    active = instance.get_runs_count(dg.RunsFilter(statuses=ACTIVE))
    return f"runs under way: {active}" if active else None


def _silver_behind(lake: Lake) -> str | None:
    for spec in lake.config.tables:
        if spec.silver and pending_merge(lake, spec):
            return f"silver.{spec.name} has batches to merge"
    return None
