"""Tables whose last run failed: runs of maintenance are neither a table's failure nor its success."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from tidegate.assets.maintenance.asset import MAINTAINED_BRONZE
from tidegate.assets.runs.failed_runs import failed_runs
from tidegate.assets.runs.held_tables import MAINTENANCE_JOB

ORDERS = "landing.orders"
TAGS = {"dagster/partition": ORDERS}
SUCCESS, FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE


@pytest.fixture
def storage() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def test_maintenance_that_failed_is_no_failure_of_its_table(storage: dg.DagsterInstance) -> None:
    create_run_for_test(storage, MAINTENANCE_JOB, status=FAILURE, tags=TAGS)
    create_run_for_test(
        storage, "__ASSET_JOB", status=FAILURE, tags=TAGS, asset_selection=frozenset({MAINTAINED_BRONZE})
    )
    assert failed_runs(storage, [ORDERS]) == {}


def test_maintenance_that_succeeded_does_not_hide_that_a_table_failed(storage: dg.DagsterInstance) -> None:
    failed = create_run_for_test(storage, "bronze_job", status=FAILURE, tags=TAGS)
    create_run_for_test(storage, MAINTENANCE_JOB, status=SUCCESS, tags=TAGS)
    assert failed_runs(storage, [ORDERS])[ORDERS].run_id == failed.run_id
    create_run_for_test(storage, "bronze_job", status=SUCCESS, tags=TAGS)
    assert failed_runs(storage, [ORDERS]) == {}
