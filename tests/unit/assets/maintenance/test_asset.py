"""The assets of maintenance: a dry run by default, and never a run next to another run of the table."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from tests.unit.conftest import Paper
from tidegate.assets.keys import FORGET_JOB, REBUILD_JOB, SHARED_JOB, LakeNames, silver_key
from tidegate.assets.maintenance import asset as module
from tidegate.assets.runs.held_tables import REBUILD_OP, shared_config
from tidegate.platform.maintenance.deletion import FreedObjects
from tidegate.platform.maintenance.tables import MaintenanceResult, TableBusy
from tidegate.resources.lake_resource import LakeResource

ORDERS = "landing.orders"
FREED = MaintenanceResult("bronze.orders", merged=9, checkpoint=True, log=FreedObjects(1, 5), data=FreedObjects(2, 10))


def rebuild(table: str, *, dry_run: bool = False) -> dict[str, Any]:
    """Return the run config of the job `rebuild`."""
    return {"ops": {REBUILD_OP: {"config": {"table": table, "dry_run": dry_run}}}}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return the value of `dry_run` of each call."""
    made: list[bool] = []

    def maintain(lake: Any, what: str, *, dry_run: bool, log: Any) -> list[MaintenanceResult]:
        made.append(dry_run)
        return [FREED]

    monkeypatch.setattr(module, "maintain_bronze", maintain)
    monkeypatch.setattr(module, "maintain_silver", maintain)
    monkeypatch.setattr(LakeResource, "open", lambda *_: SimpleNamespace())
    return made


@pytest.fixture
def storage() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        found.add_dynamic_partitions(LakeNames().name("tables"), [ORDERS])
        yield found


def materialize(
    paper: Paper, storage: dg.DagsterInstance, key: dg.AssetKey, *, dry_run: bool | None = False
) -> dg.ExecuteInProcessResult:
    config = None if dry_run is None else {"ops": {key.to_python_identifier(): {"config": {"dry_run": dry_run}}}}
    return dg.materialize(
        [paper.definitions.resolve_asset_graph().assets_def_for_key(key)],
        partition_key=ORDERS if key == LakeNames().maintained_bronze else None,
        instance=storage,
        run_config=config,
    )


def test_a_run_shows_what_it_freed_and_a_dry_run_materializes_nothing(
    paper: Paper, calls: list[bool], storage: dg.DagsterInstance
) -> None:
    result = materialize(paper, storage, LakeNames().maintained_bronze, dry_run=None)
    assert calls == [True], "a click changes nothing"
    assert result.get_asset_materialization_events() == []
    (observed,) = result.get_asset_observation_events()
    assert observed.asset_observation_data.asset_observation.metadata["freed_files"].value == 3
    result = materialize(paper, storage, LakeNames().maintained_bronze)
    assert calls == [True, False]
    (event,) = result.get_asset_materialization_events()
    found = {name: value.value for name, value in event.materialization.metadata.items()}
    assert found == {
        "dry_run": False,
        "freed_files": 3,
        "freed_bytes": 15,
        "merged_files": 9,
        "checkpoints": 1,
        "log_files": 1,
        "steps": "- bronze.orders: 2 files (10 bytes) deleted, 9 files merged, a checkpoint written, 1 files (5 bytes) "
        "of its log deleted",
    }


@pytest.mark.parametrize(
    ("job", "tags", "config"),
    [
        ("bronze_job", {"dagster/partition": ORDERS}, None),
        ("__ASSET_JOB", {"dagster/partition": ORDERS}, None),
        (SHARED_JOB, {}, shared_config(LakeNames(), [ORDERS, "landing.items"])),
        (FORGET_JOB, {}, None),
    ],
)
def test_nothing_is_done_next_to_a_run_of_the_table(
    paper: Paper, calls: list[bool], storage: dg.DagsterInstance, job: str, tags: dict[str, str], config: Any
) -> None:
    started = dg.DagsterRunStatus.STARTED
    writer = create_run_for_test(storage, job, status=started, tags=tags, run_config=config)
    result = materialize(paper, storage, LakeNames().maintained_bronze)
    assert (calls, result.get_asset_materialization_events()) == ([], [])
    storage.report_run_canceled(writer)
    materialize(paper, storage, LakeNames().maintained_bronze)
    assert calls == [False]


@pytest.mark.parametrize(
    ("run", "works_on"),
    [
        ({"job_name": "silver_orders_job"}, ["items"]),
        ({"job_name": "__ASSET_JOB", "asset_selection": {dg.AssetKey(["silver", "orders"])}}, ["items"]),
        ({"job_name": REBUILD_JOB, "run_config": rebuild("silver.orders")}, ["items"]),
        ({"job_name": REBUILD_JOB, "run_config": rebuild("silver.orders", dry_run=True)}, ["orders", "items"]),
        ({"job_name": REBUILD_JOB, "run_config": {"ops": None}}, ["orders", "items"]),
        ({"job_name": FORGET_JOB}, []),
        ({"job_name": "__ASSET_JOB", "asset_selection": {LakeNames().forgotten}}, []),
    ],
)
def test_nothing_is_done_next_to_a_writer_of_the_silver_table(
    paper: Paper,
    storage: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    run: dict[str, Any],
    works_on: list[str],
) -> None:
    made: list[str] = []

    def maintain(lake: Any, name: str, **_: Any) -> list[MaintenanceResult]:
        made.append(name)
        return [FREED]

    monkeypatch.setattr(module, "maintain_silver", maintain)
    monkeypatch.setattr(LakeResource, "open", lambda *_: SimpleNamespace())
    create_run_for_test(storage, status=dg.DagsterRunStatus.STARTED, **run)
    for spec in paper.config.tables:
        if spec.silver:
            materialize(paper, storage, LakeNames().maintained_silver(spec.name))
    assert made == works_on


def test_maintenance_of_silver_has_the_pool_of_its_merges(paper: Paper) -> None:
    graph = paper.definitions.resolve_asset_graph()
    for spec in paper.config.tables:
        if spec.silver:
            keys = (LakeNames().maintained_silver(spec.name), silver_key(spec.name))
            assert {graph.assets_def_for_key(key).op.pool for key in keys} == {f"silver.{spec.name}"}


@pytest.mark.usefixtures("calls")
def test_a_busy_table_fails_no_run(paper: Paper, storage: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any, **__: Any) -> list[MaintenanceResult]:
        raise TableBusy("batch 8 is decided and not recorded")

    monkeypatch.setattr(module, "maintain_bronze", busy)
    result = materialize(paper, storage, LakeNames().maintained_bronze)
    assert result.success
    assert result.get_asset_materialization_events() == []
