"""Comparisons with bronze are requested for tables that were materialized since, at most once an hour each."""

import time
from collections.abc import Iterator, Sequence

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from tests.support.ticks import evaluate
from tests.unit.conftest import Paper
from tidegate.assets.silver.audit.check import equals_bronze_key
from tidegate.sensors import compare_silver
from tidegate.sensors.compare_silver import COMPARISON_JOB, PACE, due_comparisons

ASSETS = [dg.AssetKey([f"silver_{name}"]) for name in ("a", "b", "c")]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp() as made:
        yield made


def _run(instance: dg.DagsterInstance, *names: str, checks: Sequence[str] = ()) -> None:
    """Materialize silver assets, and then run checks, as the jobs of a code location do."""

    @dg.multi_asset(specs=[dg.AssetSpec(key) for key in ASSETS], can_subset=True)
    def silver(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        for key in sorted(context.selected_asset_keys):
            yield dg.MaterializeResult(key)

    @dg.multi_asset_check(
        specs=[dg.AssetCheckSpec(equals_bronze_key(key).name, asset=key) for key in ASSETS], can_subset=True
    )
    def comparison(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        for key in sorted(each.asset_key for each in context.selected_asset_check_keys):
            yield dg.AssetCheckResult(passed=True, asset_key=key, check_name=equals_bronze_key(key).name)

    assets = [dg.AssetKey([f"silver_{name}"]) for name in names]
    wanted = [equals_bronze_key(dg.AssetKey([f"silver_{name}"])) for name in checks]
    selection = dg.AssetSelection.assets(*assets).without_checks() | dg.AssetSelection.checks(*wanted)
    assert dg.materialize([silver, comparison], instance=instance, selection=selection).success


def _due(instance: dg.DagsterInstance, hours: float = 0.0) -> list[str]:
    found = due_comparisons(instance, ASSETS, time.time() + hours * PACE)
    return [key.asset_key.path[0][-1] for key in found]


def test_a_table_is_due_when_it_was_materialized_since_its_check_and_an_hour_ago(instance: dg.DagsterInstance) -> None:
    assert _due(instance) == []
    _run(instance, "a", "b")
    assert _due(instance) == ["a", "b"], "their first comparison waits for nothing"
    _run(instance, checks=["b"])
    _run(instance, checks=["a"])
    assert _due(instance, 2) == [], "nothing was merged since"
    _run(instance, "a", "b", "c")
    assert _due(instance) == ["c"]
    assert _due(instance, 1.1)[0] == "c", "the longest waiting first"
    assert sorted(_due(instance, 1.1)) == ["a", "b", "c"]
    _run(instance, "c", checks=["c"])
    assert sorted(_due(instance, 1.1)) == ["a", "b"], "a check in the run of its asset counts"


def test_the_sensor_requests_only_checks_in_one_run_at_a_time(
    instance: dg.DagsterInstance, paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tick() -> Sequence[dg.RunRequest]:
        return evaluate("compare_silver", paper.definitions, instance, paper.resource, None).run_requests or []

    assert tick() == []
    check = equals_bronze_key(dg.AssetKey(["silver_items"]))
    instance.report_runless_asset_event(dg.AssetMaterialization(check.asset_key))
    (request,) = tick()
    assert (request.asset_selection, request.asset_check_keys) == ([], [check])
    monkeypatch.setattr(compare_silver, "MAX_TABLES", 0)
    assert tick() == [], "the others wait for the next run"
    monkeypatch.undo()
    create_run_for_test(instance, job_name=COMPARISON_JOB, status=dg.DagsterRunStatus.STARTED)
    assert tick() == []


def test_a_merge_does_not_wait_for_its_comparison(paper: Paper) -> None:
    merge, comparison = (paper.definitions.resolve_job_def(name) for name in ("silver_items_job", COMPARISON_JOB))
    check = equals_bronze_key(dg.AssetKey(["silver_items"]))
    assert check not in merge.asset_layer.asset_graph.asset_check_keys
    assert [node.name for node in merge.nodes] == ["silver_items"]
    assert check in comparison.asset_layer.asset_graph.asset_check_keys
