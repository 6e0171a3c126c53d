"""Tables whose last run failed: runs of maintenance are neither a table's failure nor its success."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.events import StepMaterializationData
from dagster._core.test_utils import create_run_for_test

from tidegate.assets.keys import MAINTENANCE_JOB, LakeNames
from tidegate.assets.runs.failed_runs import failed_runs

ORDERS = "landing.orders"
TAGS = {"dagster/partition": ORDERS}
SUCCESS, FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE


@pytest.fixture
def storage() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def failing(storage: dg.DagsterInstance, job: str, key: dg.AssetKey, tags: dict[str, str]) -> None:
    create_run_for_test(storage, job, status=FAILURE, tags=tags, asset_selection=frozenset({key}))


def test_maintenance_that_failed_is_its_own_failure_and_not_its_table_s(storage: dg.DagsterInstance) -> None:
    silver = dg.AssetKey(["maintenance", "silver", "orders"])
    failing(storage, MAINTENANCE_JOB, LakeNames().maintained_bronze, TAGS)
    failing(storage, "__ASSET_JOB", silver, {})
    failing(storage, MAINTENANCE_JOB, LakeNames().maintained_lake, {})
    failing(storage, MAINTENANCE_JOB, LakeNames().maintained_bronze, {"dagster/partition": "another.lake"})
    failed = {"maintenance/bronze of landing.orders", "maintenance/silver/orders", "maintenance/lake"}
    assert set(failed_runs(storage, LakeNames(), [ORDERS], ["orders"])) == failed
    for key, tags, partition in ((LakeNames().maintained_bronze, TAGS, ORDERS), (silver, {}, None)):
        run = create_run_for_test(storage, "__ASSET_JOB", status=SUCCESS, tags=tags, asset_selection=frozenset({key}))
        event = dg.DagsterEvent(
            "ASSET_MATERIALIZATION",
            "__ASSET_JOB",
            event_specific_data=StepMaterializationData(dg.AssetMaterialization(key, partition=partition)),
        )
        storage.report_dagster_event(event, run.run_id)
    assert set(failed_runs(storage, LakeNames(), [ORDERS], ["orders"])) == {"maintenance/lake"}


def test_maintenance_that_succeeded_does_not_hide_that_a_table_failed(storage: dg.DagsterInstance) -> None:
    failed = create_run_for_test(storage, "bronze_job", status=FAILURE, tags=TAGS)
    create_run_for_test(storage, MAINTENANCE_JOB, status=SUCCESS, tags=TAGS)
    assert failed_runs(storage, LakeNames(), [ORDERS])[ORDERS].run_id == failed.run_id
    create_run_for_test(storage, "bronze_job", status=SUCCESS, tags=TAGS)
    assert failed_runs(storage, LakeNames(), [ORDERS]) == {}
