"""The names of a lake in Dagster, and several lakes in one instance."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from tests.unit.conftest import Paper
from tidegate.assets.keys import LakeNames, bronze_key, silver_key
from tidegate.assets.runs.failed_runs import failed_runs
from tidegate.assets.runs.held_tables import PARTITION_TAG, RunTables, is_maintenance, shared_config
from tidegate.platform.core.config.load import LakeConfigError, load_lake

ORDERS = "landing.orders"
NAMES = ["", "sales", "sales_eu"]
ACTIVE, FAILURE = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE
#: How a run of a table comes to be, and what it has: the name of its job, its selection, its config.
RUNS: dict[str, Callable[[LakeNames], dict[str, object]]] = {
    "sensor": lambda names: {"job_name": names.name("bronze_job"), "tags": {PARTITION_TAG: ORDERS}},
    "shared": lambda names: {
        "job_name": names.name("bronze_shared_job"),
        "run_config": shared_config(names, [ORDERS]),
    },
    "person": lambda names: {
        "job_name": "__ASSET_JOB",
        "asset_selection": {names.bronze},
        "tags": {PARTITION_TAG: ORDERS},
    },
    "maintenance": lambda names: {
        "job_name": names.name("maintain"),
        "asset_selection": {names.maintained_bronze},
        "tags": {PARTITION_TAG: ORDERS},
    },
}


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("lake", NAMES)
@pytest.mark.parametrize("of", NAMES)
def test_a_run_holds_the_tables_of_its_own_lake_only(kind: str, lake: str, of: str) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        run = create_run_for_test(instance, status=ACTIVE, **RUNS[kind](LakeNames(of)))  # type: ignore[arg-type]
        assert RunTables(instance).find(run) == [ORDERS]
        assert LakeNames(lake).holds(run) is (lake == of)
        assert is_maintenance(run, LakeNames(lake)) is (kind == "maintenance" and lake == of)


def test_a_job_of_somebody_s_own_holds_the_table_of_its_partition() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        run = create_run_for_test(instance, "nightly", tags={PARTITION_TAG: ORDERS})
        assert LakeNames("sales").holds(run)


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("status", [ACTIVE, FAILURE])
def test_a_run_of_one_lake_keeps_no_table_of_another_waiting(
    papers: Callable[[str], Paper], instance: dg.DagsterInstance, kind: str, status: dg.DagsterRunStatus
) -> None:
    """Two lakes have equal table keys, as one of developers and one of production do."""
    lakes = [papers(name) for name in NAMES]
    create_run_for_test(instance, status=status, **RUNS[kind](lakes[1].names))  # type: ignore[arg-type]
    for lake in lakes:
        lake.hint(ORDERS)
        requests = lake.tick(instance).run_requests or []
        waits = lake is lakes[1] and (status is ACTIVE or kind in ("sensor", "shared"))
        assert [request.job_name for request in requests] == ([] if waits else [lake.names.name("bronze_job")])
        known = failed_runs(instance, lake.names, [ORDERS])
        assert bool(known) is (lake is lakes[1] and status is FAILURE), lake.names


def test_partitions_of_one_lake_are_not_those_of_another(
    papers: Callable[[str], Paper], instance: dg.DagsterInstance
) -> None:
    for lake in [papers(name) for name in NAMES]:
        (added,) = lake.tick(instance).dynamic_partitions_requests or []
        assert added.partitions_def_name == lake.names.name("tables")
        instance.add_dynamic_partitions(added.partitions_def_name, list(added.partition_keys))
        assert lake.names.known_tables(instance) == set(added.partition_keys)


def test_every_name_of_a_lake_has_the_lake_in_it() -> None:
    names = LakeNames("sales")
    for attribute, member in inspect.getmembers(LakeNames):
        if attribute.startswith("_") or attribute in ("lake", "from_config", "known_tables", "holds", "select_held"):
            continue
        if isinstance(member, property):
            value = getattr(names, attribute)
        else:
            words = [name for name in inspect.signature(member).parameters if name not in ("self", "parts")]
            value = getattr(names, attribute)(*(["cost"] * len(words) or ["cost"]))
        for found in value if isinstance(value, list) else [value]:
            text = found.name if isinstance(found, dg.DynamicPartitionsDefinition) else found
            text = text.to_user_string() if isinstance(text, dg.AssetKey) else text
            assert str(text).startswith("sales"), attribute
            assert str(text) != "sales"


def test_public_keys_are_those_of_the_assets(papers: Callable[[str], Paper]) -> None:
    for name in NAMES:
        keys = papers(name).definitions.resolve_asset_graph().get_all_asset_keys()
        assert {bronze_key("orders", lake=name), silver_key("orders", lake=name)} <= keys


@pytest.mark.parametrize("name", ["bronze", "Silver", "a-b", "", "1a", "s3"])
def test_a_name_that_keys_cannot_have_is_refused(papers: Callable[[str], Paper], name: str) -> None:
    path = papers("sales").path
    path.write_text(path.read_text().replace("name: sales", f"name: '{name}'"))
    with pytest.raises(LakeConfigError, match=r"lake\.name"):
        load_lake(path)
