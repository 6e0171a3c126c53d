"""Results of asset checks, and their events, for runs and ticks that log them outside the step of the check."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from tidegate.assets.private_dagster import CheckExecution
from tidegate.platform.core.markdown import Markdown

#: The check of each silver asset, which the health of the lake repeats: no merge made one row of several.
COLLAPSE_CHECK = "silver_keeps_rows_apart"


def check_result(
    *,
    asset_key: dg.AssetKey,
    check_name: str,
    passed: bool,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    description: Markdown | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> dg.AssetCheckResult:
    """Return the result of a check.

    No other function makes one, because Dagster's pages show descriptions as Markdown.

    Args:
        passed: whether the check passed.
        severity: of a check that did not pass.
        description: what a person should know. Texts of others in it are escaped.
        metadata: of the result.
    """
    return dg.AssetCheckResult(
        asset_key=asset_key,
        check_name=check_name,
        passed=passed,
        severity=severity,
        description=description,
        metadata=metadata,
    )


def with_description(result: dg.AssetCheckResult, description: Markdown | None) -> dg.AssetCheckResult:
    """Return the result with another description."""
    assert result.asset_key is not None
    assert result.check_name is not None
    return check_result(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        severity=result.severity,
        description=description,
        metadata=result.metadata,
    )


def result_of(execution: CheckExecution) -> dg.AssetCheckEvaluation | None:
    """Return the result of an execution of a check. None while it runs, and if it died.

    `execution.evaluation` is the event of the plan then, which has neither a result nor metadata, whatever its type is.
    """
    found = execution.evaluation
    return found if isinstance(found, dg.AssetCheckEvaluation) else None


def kept_description(evaluation: dg.AssetCheckEvaluation) -> Markdown | None:
    """Return the description that a result had, of which Dagster has kept the event."""
    return Markdown(evaluation.description) if evaluation.description else None


def evaluation_event(result: dg.AssetCheckResult, partition: str | None = None) -> dg.AssetCheckEvaluation:
    """Return the event that a step logs when it yields the result.

    Args:
        partition: partition of the asset, if the check has partitions.

    Raises:
        AssertionError: the result has no asset or no check, which only its step knows.
    """
    if result.asset_key is None or result.check_name is None:
        raise AssertionError("only a step can log a check result without asset key or check name: give it both")
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        partition=partition,
    )
