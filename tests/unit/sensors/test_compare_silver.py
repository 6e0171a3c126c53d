"""Comparisons with bronze are requested for tables that were materialized since, at most once an hour each."""

import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from tests.support.ticks import evaluate
from tests.unit.conftest import Paper
from tidegate.assets.silver import comparison_check as check
from tidegate.assets.silver.comparison_check import COMPARISON_JOB, build_comparisons, equals_bronze_key
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.sensors import compare_silver
from tidegate.sensors.compare_silver import PACE, due_comparisons

ASSETS = [dg.AssetKey(["silver", name]) for name in ("a", "b", "c")]


class _Lake(dg.ConfigurableResource[Any]):
    def open(self, table: str) -> None:
        return None


@pytest.fixture(autouse=True)
def nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "compare", lambda *_: None)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp() as made:
        yield made


def _run(instance: dg.DagsterInstance, *names: str, checks: Sequence[str] = ()) -> None:
    """Materialize silver assets, and then compare them with bronze, as the jobs of a code location do."""

    @dg.multi_asset(specs=[dg.AssetSpec(key) for key in ASSETS], can_subset=True)
    def silver(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        for key in sorted(context.selected_asset_keys):
            yield dg.MaterializeResult(key)

    assets = [dg.AssetKey(["silver", name]) for name in names]
    wanted = [equals_bronze_key(dg.AssetKey(["silver", name])) for name in checks]
    selection = dg.AssetSelection.assets(*assets).without_checks() | dg.AssetSelection.checks(*wanted)
    place = TableKey("landing", "a/")
    tables: Any = [SimpleNamespace(name=key.path[-1], silver=True, personal=None, table_key=place) for key in ASSETS]
    config: Any = SimpleNamespace(tables=tables, lake=SimpleNamespace(name=None))
    (comparison,) = build_comparisons(config)
    made = [silver, comparison]
    assert dg.materialize(made, instance=instance, selection=selection, resources={"lake": _Lake()}).success


def _due(instance: dg.DagsterInstance, hours: float = 0.0) -> list[str]:
    found = due_comparisons(instance, ASSETS, time.time() + hours * PACE)
    return [key.asset_key.path[-1] for key in found]


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


def test_a_comparison_that_ends_without_a_result_is_due_again_and_stops_no_other(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster has a record of each check that a run was to make, also of runs that died."""

    def of_a(error: BaseException) -> Callable[..., None]:
        def compare(_: object, spec: Any) -> None:
            if spec.name == "a":
                raise error

        return compare

    _run(instance, "a", "b")
    monkeypatch.setattr(check, "compare", of_a(RuntimeError("S3 did not answer")))
    _run(instance, checks=["a", "b"])
    assert _due(instance) == [], "after an hour"
    assert _due(instance, 1.1) == ["a"], "b was compared"
    monkeypatch.setattr(check, "compare", of_a(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        _run(instance, checks=["a"])
    _run(instance, "c")
    assert _due(instance) == ["c"]
    assert _due(instance, 1.1) == ["c", "a"]


def test_a_merge_during_a_comparison_is_compared_later(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(instance, "a")
    merge = dg.AssetMaterialization(ASSETS[0])
    monkeypatch.setattr(check, "compare", lambda *_: instance.report_runless_asset_event(merge))
    _run(instance, checks=["a"])
    assert _due(instance, 1.1) == ["a"]


def test_the_sensor_requests_only_checks_in_one_run_at_a_time(
    instance: dg.DagsterInstance, paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tick() -> Sequence[dg.RunRequest]:
        return evaluate("compare_silver", paper.definitions, instance, paper.resource, None).run_requests or []

    assert tick() == []
    check = equals_bronze_key(dg.AssetKey(["silver", "items"]))
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
    check = equals_bronze_key(dg.AssetKey(["silver", "items"]))
    assert check not in merge.asset_layer.asset_graph.asset_check_keys
    assert [node.name for node in merge.nodes] == ["silver__items"]
    assert check in comparison.asset_layer.asset_graph.asset_check_keys
