"""Results of asset checks as events, for runs and ticks that log them outside a step of their own."""

import dagster as dg


def as_event(result: dg.AssetCheckResult, partition: str | None = None) -> dg.AssetCheckEvaluation:
    """The event that a step would log which yields the result.

    Args:
        result: of a check.
        partition: of its asset, where the check has partitions.

    Raises:
        ValueError: the result names no asset or no check; only its own step knows them.
    """
    if result.asset_key is None or result.check_name is None:
        raise ValueError("a result that names no asset or no check belongs to the step that yields it")
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        metadata=result.metadata,
        severity=result.severity,
        description=result.description,
        partition=partition,
    )
