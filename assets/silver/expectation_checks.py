"""An asset check for each expectation of a silver table."""

from collections.abc import Mapping, Sequence

import dagster as dg

from tidegate.assets.bronze.report import SAID_BEFORE
from tidegate.assets.presentation.check_events import (
    COLLAPSE_CHECK,
    check_result,
    kept_description,
    result_of,
    with_description,
)
from tidegate.assets.private_dagster import ended_check_executions
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.markdown import Markdown, code, sentence
from tidegate.platform.core.schema.sql_literal import format_on_one_line
from tidegate.platform.core.silver.expectations import Expectation, OnViolation, expectations
from tidegate.platform.core.wording import number_of
from tidegate.platform.silver.expect.collapsed_rows import COLLAPSE_DESCRIPTION, Collapse
from tidegate.platform.silver.merge import MergeResult

_ACTIONS = {
    OnViolation.WARN: "Rows that violate it are counted.",
    OnViolation.DROP: "Rows that violate it do not enter silver.",
    OnViolation.FAIL: "A row that violates it fails the merge.",
}


def _expectations_of(spec: TableSpec) -> Sequence[Expectation]:
    return expectations(spec.silver) if spec.silver else ()


def expectation_specs(spec: TableSpec, asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Return the checks of a silver asset."""
    return [
        dg.AssetCheckSpec(
            each.check,
            asset=asset,
            description=f"Each changed row should fulfil: {code(each.condition)}. {_ACTIONS[each.action]}",
        )
        for each in _expectations_of(spec)
    ]


def collapse_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the check that silver takes no rows for one without a word."""
    return dg.AssetCheckSpec(COLLAPSE_CHECK, asset=asset, description=COLLAPSE_DESCRIPTION)


def expectation_results(
    spec: TableSpec, asset: dg.AssetKey, counts: Mapping[str, int], counted: Sequence[Expectation]
) -> list[dg.AssetCheckResult]:
    """Return the results of the checks.

    Args:
        asset: its silver asset.
        counts: number of violating rows among those of the run, by the name of the expectation.
        counted: the expectations as the run counted them, with what a preset adds. Empty if the run merged nothing.
    """
    queries = {each.name: _query(spec, each) for each in counted}
    return [
        check_result(
            asset_key=asset,
            check_name=each.check,
            passed=not counts.get(each.name),
            severity=dg.AssetCheckSeverity.ERROR if each.action is OnViolation.FAIL else dg.AssetCheckSeverity.WARN,
            description=_violation_text(counts.get(each.name, 0), each),
            metadata={"rows": counts.get(each.name, 0), "action": str(each.action), **_sql(queries.get(each.name))},
        )
        for each in _expectations_of(spec)
    ]


def _violation_text(count: int, expectation: Expectation) -> Markdown:
    verb = "violates" if count == 1 else "violate"
    rows = number_of(count, "row")
    return sentence("{} of the merged batches {} {}", rows, verb, code(expectation.condition))


def results_of_merge(
    spec: TableSpec, asset: dg.AssetKey, merged: MergeResult | None, instance: dg.DagsterInstance
) -> list[dg.AssetCheckResult]:
    """Return the results of the checks after the merges of a run.

    A run that merged no rows says nothing new, so it repeats the results of the run before.

    Args:
        asset: its silver asset.
        merged: the merges of the run. None if there were none.
        instance: has the results of the run before.
    """
    counts, counted = (merged.violations, merged.expectations) if merged else ({}, ())
    results = [*expectation_results(spec, asset, counts, counted), _collapse_result(asset, merged)]
    if merged and merged.volume["rows"]:
        return results
    return [_repeat_last_result(instance, result) for result in results]


def _collapse_result(asset: dg.AssetKey, merged: MergeResult | None) -> dg.AssetCheckResult:
    met = merged.collapse if merged else Collapse()
    return check_result(
        asset_key=asset,
        check_name=COLLAPSE_CHECK,
        passed=not met.sentences,
        severity=dg.AssetCheckSeverity.WARN,
        description=met.sentences or sentence("each row of the merged batches has a key of its own and an order"),
        metadata=met.metadata(),
    )


def _repeat_last_result(instance: dg.DagsterInstance, result: dg.AssetCheckResult) -> dg.AssetCheckResult:
    key = dg.AssetCheckKey(result.asset_key, result.check_name)  # type: ignore[arg-type]
    for record in ended_check_executions(instance, key, 1):
        if before := result_of(record):
            return check_result(
                asset_key=key.asset_key,
                check_name=key.name,
                passed=before.passed,
                severity=before.severity,
                description=kept_description(before),
                metadata={**before.metadata, SAID_BEFORE: dg.MetadataValue.bool(True)},
            )
    nothing = sentence("no row was checked: this run merged none, and no run before has a result")
    return with_description(result, nothing)


def _sql(query: str | None) -> dict[str, str]:
    return {} if query is None else {"sql": query}


def _query(spec: TableSpec, expectation: Expectation) -> str:
    """Return the SQL of all rows of bronze that violate an expectation, of merged batches and of others."""
    return format_on_one_line(f"SELECT * FROM bronze.{spec.name} WHERE {expectation.violated}")
