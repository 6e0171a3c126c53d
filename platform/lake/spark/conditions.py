"""A condition that is true if any of many conditions is."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column


def any_condition(conditions: Sequence[Column]) -> Column:
    """Return the disjunction of conditions, at least one, as a tree of small depth.

    Spark Connect sends a condition as nested messages, and a message of protobuf has at most a hundred levels. One
    condition after another, joined by `|`, is two levels for each: fifty of them are too many.
    """
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return any_condition(conditions[:half]) | any_condition(conditions[half:])
