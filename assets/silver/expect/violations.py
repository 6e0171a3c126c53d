"""The rows of a merge that violate an expectation: counted before the merge, which fails if one of them must not be."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.platform.core.silver.expectations import OnViolation
from tidegate.platform.core.silver.rules import MergeRules, rows_of


class ExpectationFailed(RuntimeError):
    """Rows violate an expectation of `expect_or_fail`. Nothing of their batches was merged.

    Attributes:
        counts: number of violating rows, by the name of the expectation.
    """

    def __init__(self, text: str, counts: Mapping[str, int]) -> None:
        super().__init__(text)
        self.counts = counts


def count_violations(session: SparkSession, work: PendingMerge, changes: Changes, rules: MergeRules) -> dict[str, int]:
    """Returns the number of rows that violate each expectation, by its name; under `""` that of all dropped rows.

    Raises:
        ExpectationFailed: rows violate an expectation of `expect_or_fail`.
    """
    if not rules.expectations:
        return {}
    dropped = [each.violated for each in rules.expectations if each.action is OnViolation.DROP]
    counted = [each.violated for each in rules.expectations]
    conditions = [*counted, " OR ".join(dropped) or "false"]
    (row,) = session.sql(
        f"SELECT {', '.join(f'count_if({condition})' for condition in conditions)} FROM "
        f"{rows_of(rules.row, changes.view)}"
    ).collect()
    counts = {name: int(n) for name, n in zip([*(each.name for each in rules.expectations), ""], row, strict=True)}
    failed = [each for each in rules.expectations if each.action is OnViolation.FAIL and counts[each.name]]
    if failed:
        first = failed[0]
        raise ExpectationFailed(
            f"silver.{work.table.spec.name}: {counts[first.name]} rows violate the expectation {first.name} of "
            f"`expect_or_fail` ({' '.join(first.condition.split())}), so nothing was merged. Its "
            f"check {first.check} has the SQL that shows them. Move it to `expect` or `expect_or_drop`, or repair them",
            counts,
        )
    return counts
