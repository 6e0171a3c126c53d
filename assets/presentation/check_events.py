"""Results of asset checks as events, for runs and ticks that log them outside the step of the check."""

import dagster as dg

#: The check of each silver asset, which the health of the lake repeats: no merge made one row of several.
APART_CHECK = "silver_keeps_rows_apart"


def as_event(result: dg.AssetCheckResult, partition: str | None = None) -> dg.AssetCheckEvaluation:
    """Returns the event that a step logs when it yields the result.

    Args:
        result: the result of a check.
        partition: partition of the asset, if the check has partitions.

    Raises:
        ValueError: the result has no asset or no check, which only its step knows.
    """
    if result.asset_key is None or result.check_name is None:
        raise ValueError("only a step can log a check result without asset key or check name: give it both")
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        partition=partition,
    )
