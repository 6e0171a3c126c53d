"""The check of an expectation: its result stays until rows are merged again."""

from __future__ import annotations

from types import SimpleNamespace

import dagster as dg
import pytest

from tests.unit.conftest import Paper
from tidegate.assets.keys import silver_key
from tidegate.assets.presentation.check_events import COLLAPSE_CHECK, evaluation_event
from tidegate.assets.silver import asset
from tidegate.assets.silver.asset import build_silver_assets
from tidegate.assets.silver.expectation_checks import results_of_merge
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.silver.expectations import Expectation, OnViolation
from tidegate.platform.silver.expect.collapsed_rows import Collapse
from tidegate.platform.silver.merge import MergeResult
from tidegate.resources.lake_resource import LakeResource

KEY = dg.AssetKey(["silver", "orders"])


@pytest.fixture
def spec(paper: Paper) -> TableSpec:
    orders = paper.config.tables[0]
    assert silver_key(orders.name) == KEY
    expects = {"expect": {"has_text": "v IS NOT NULL"}, "expect_or_fail": {"known": "id < 100"}}
    silver = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 10, **expects})
    return orders.model_copy(update={"silver": silver})


#: As a merge counts them: a preset has added that deletes are not asked, and a comment ends a condition.
COUNTED = (
    Expectation(
        "has_text", "v IS NOT NULL", OnViolation.WARN, "(NOT coalesce((\nv <> '  '\n), false) AND NOT (op = 'd'))"
    ),
    Expectation("known", "id < 100", OnViolation.FAIL, "(NOT coalesce((\nid < 100 -- so far\n), false))"),
)


def merged(rows: int, *, null_keys: int = 0, **violations: int) -> MergeResult:
    volume: dict[str, int | float] = {"files": 1, "rows": rows, "bytes": 9}
    return MergeResult(
        1, 1, 1, volume, None, rows, 0, 0, violations=violations, expectations=COUNTED, collapse=Collapse(null_keys)
    )


def of_expectations(results: list[dg.AssetCheckResult]) -> list[dg.AssetCheckResult]:
    return [each for each in results if each.check_name != COLLAPSE_CHECK]


def test_a_run_that_merges_no_rows_repeats_the_results_of_the_run_before(
    spec: TableSpec, instance: dg.DagsterInstance
) -> None:
    def shown(result: MergeResult | None) -> list[tuple[bool, str, int, bool]]:
        """Return what a run shows of `has_text`, and whether the checks repeat the run before."""
        found = results_of_merge(spec, KEY, result, instance)
        for each in found:
            instance.report_runless_asset_event(evaluation_event(each))
        return [
            (each.passed, each.severity.value, each.metadata["rows"].value, "said_before" in each.metadata)
            for each in of_expectations(found)
        ]

    (first, *_) = results_of_merge(spec, KEY, None, instance)
    assert first.description == "no row was checked: this run merged none, and no run before has a result"
    assert shown(None) == [(True, "WARN", 0, False), (True, "ERROR", 0, False)]
    assert shown(merged(5, has_text=2)) == [(False, "WARN", 2, False), (True, "ERROR", 0, False)]
    failed = [(False, "WARN", 2, True), (True, "ERROR", 0, True)]
    assert shown(None) == failed
    assert shown(None) == failed
    assert shown(merged(0)) == failed, "a batch that only removed files"
    assert shown(merged(1)) == [(True, "WARN", 0, False), (True, "ERROR", 0, False)]
    assert shown(None) == [(True, "WARN", 0, True), (True, "ERROR", 0, True)]


def test_the_sql_of_a_check_shows_the_rows_that_were_counted(spec: TableSpec, instance: dg.DagsterInstance) -> None:
    results = of_expectations(results_of_merge(spec, KEY, merged(5), instance))
    shown = [each.metadata.get("sql") for each in results]
    assert [text and text.value for text in shown] == [
        "SELECT * FROM bronze.orders WHERE (NOT coalesce(( v <> '  ' ), false) AND NOT (op = 'd'))",
        "SELECT * FROM bronze.orders WHERE (NOT coalesce((\nid < 100 -- so far\n), false))",
    ]
    assert all("sql" not in each.metadata for each in results_of_merge(spec, dg.AssetKey(["other"]), None, instance))


def test_rows_that_silver_takes_for_one_warn_until_rows_are_merged_without_such(
    spec: TableSpec, instance: dg.DagsterInstance
) -> None:
    seen = []
    for result in (merged(5, null_keys=2), None, merged(0), merged(1)):
        (found,) = (each for each in results_of_merge(spec, KEY, result, instance) if each.check_name == COLLAPSE_CHECK)
        instance.report_runless_asset_event(evaluation_event(found))
        seen.append((found.passed, found.severity.value, found.metadata["null_keys"].value))
    assert seen == [*[(False, "WARN", 2)] * 3, (True, "WARN", 0)]


def test_a_failed_expectation_is_seen_in_dagster_until_rows_are_merged_that_fulfil_it(
    paper: Paper, spec: TableSpec, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = SimpleNamespace(
        store=SimpleNamespace(uri=lambda *_: "s3a://lake/silver/orders"),
        delta=SimpleNamespace(session=None, table_state=lambda _: None, server=SimpleNamespace(is_always_there=True)),
        config=paper.config,
    )
    monkeypatch.setattr(LakeResource, "open", lambda _, table: {spec.table_key.encode(): lake}[table])
    monkeypatch.setattr(asset, "table_metadata", lambda *_: {})
    (silver,) = build_silver_assets(paper.config.model_copy(update={"tables": [spec]}))
    seen = []
    for result in (merged(5, known=1), None, merged(3)):
        monkeypatch.setattr(asset, "merge_table", lambda *_, result=result: result)
        done = dg.materialize([silver], instance=instance, resources={"lake": paper.resource})
        seen += [each.passed for each in done.get_asset_check_evaluations() if each.check_name == "expect_known"]
    assert seen == [False, False, True]
