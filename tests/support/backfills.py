"""Runs backfills, as Dagster's daemon does, with runs in this process."""

from __future__ import annotations

import itertools
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES, PartitionBackfill
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.utils import make_new_backfill_id
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.backfill import execute_backfill_iteration

#: Of an instance whose runs begin at once, each in this process.
AT_ONCE: Mapping[str, Any] = {
    "run_launcher": {
        "module": "dagster._core.launcher.sync_in_memory_run_launcher",
        "class": "SyncInMemoryRunLauncher",
    },
    "run_coordinator": {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"},
}
_MAX_ITERATIONS = 9
#: Dagster keeps what it read from a module's attribute, so each code location has an attribute of its own.
_numbers = itertools.count()


@contextmanager
def serving(definitions: dg.Definitions, instance: dg.DagsterInstance) -> Iterator[Any]:
    """Yield a workspace whose code location has these definitions."""
    attribute = f"served_{next(_numbers)}"
    globals()[attribute] = definitions
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name=__name__, attribute=attribute)
    origin = InProcessCodeLocationOrigin(loadable_target_origin=target, location_name="tidegate")
    with create_test_daemon_workspace_context(InProcessWorkspaceLoadTarget(origin), instance) as workspace:
        yield workspace


def run_backfill(
    definitions: dg.Definitions, instance: dg.DagsterInstance, asset: dg.AssetKey, partitions: Sequence[str]
) -> tuple[str, list[dg.DagsterRun]]:
    """Run a backfill of an asset to its end.

    Returns its status, and its runs in the order in which they were requested.

    Args:
        definitions: of the code location.
        instance: Dagster's instance, with the settings of `AT_ONCE`.
        asset: the asset.
        partitions: what a person selects.
    """
    with serving(definitions, instance) as workspace:
        backfill = PartitionBackfill.from_asset_partitions(
            make_new_backfill_id(),
            workspace.create_request_context().asset_graph,
            partitions,
            [asset],
            time.time(),
            {},
            instance,
            all_partitions=False,
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
        for _ in range(_MAX_ITERATIONS):
            errors = [error for error in execute_backfill_iteration(workspace, logging.getLogger(__name__)) if error]
            assert not errors
            found = instance.get_backfill(backfill.backfill_id)
            assert found
            if found.status in BULK_ACTION_TERMINAL_STATUSES:
                break
    runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill.backfill_id}))
    return found.status.value, list(reversed(runs))
