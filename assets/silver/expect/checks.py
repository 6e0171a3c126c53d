"""An asset check for each expectation of a silver table."""

from collections.abc import Mapping, Sequence

import dagster as dg

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.silver.expectations import Expectation, OnViolation, expectations

_ACTIONS = {
    OnViolation.WARN: "Rows that violate it are counted.",
    OnViolation.DROP: "Rows that violate it do not enter silver.",
    OnViolation.FAIL: "A row that violates it fails the merge.",
}


def _of(spec: TableSpec) -> Sequence[Expectation]:
    return expectations(spec.silver) if spec.silver else ()


def expectation_specs(spec: TableSpec, asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Returns the checks of a silver asset."""
    return [
        dg.AssetCheckSpec(
            each.check,
            asset=asset,
            description=f"Each changed row fulfils: {each.condition}. {_ACTIONS[each.action]}",
        )
        for each in _of(spec)
    ]


def expectation_results(spec: TableSpec, asset: dg.AssetKey, counts: Mapping[str, int]) -> list[dg.AssetCheckResult]:
    """Returns the results of the checks.

    Args:
        spec: the table.
        asset: its silver asset.
        counts: number of violating rows among those of the run, by the name of the expectation.
    """
    return [
        dg.AssetCheckResult(
            asset_key=asset,
            check_name=each.check,
            passed=not counts.get(each.name),
            severity=dg.AssetCheckSeverity.ERROR if each.action is OnViolation.FAIL else dg.AssetCheckSeverity.WARN,
            description=f"{counts.get(each.name, 0)} rows of the merged batches violate {each.condition}",
            metadata={"rows": counts.get(each.name, 0), "action": str(each.action), "sql": _query(spec, each)},
        )
        for each in _of(spec)
    ]


def _query(spec: TableSpec, expectation: Expectation) -> str:
    """Returns the SQL of all rows of bronze that violate an expectation, of merged batches and of others."""
    return " ".join(f"SELECT * FROM bronze.{spec.name} WHERE {expectation.violated}".split())
