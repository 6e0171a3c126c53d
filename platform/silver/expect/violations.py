"""The rows of a merge that violate an expectation: counted before the merge, which fails if one of them must not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.schema.sql_literal import format_on_one_line
from tidegate.platform.core.silver.expectations import Expectation, OnViolation
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.core.wording import number_of
from tidegate.platform.lake.spark.session import select
from tidegate.platform.silver.changes import Changes


class ExpectationFailed(DataError):
    """Rows violate an expectation of `expect_or_fail`. Nothing of their batches was merged.

    Attributes:
        counts: number of violating rows, by the name of the expectation.
        expectations: those of the table, as they were counted.
    """

    def __init__(self, text: str, counts: Mapping[str, int], expectations: Sequence[Expectation]) -> None:
        super().__init__(text)
        self.counts = counts
        self.expectations = expectations


@dataclass(frozen=True)
class Violations:
    """The rows of a merge that violate an expectation.

    Attributes:
        counts: their number, by the name of the expectation.
        dropped: number of rows that are left out for one.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    dropped: int = 0


def count_violations(session: SparkSession, spec: TableSpec, changes: Changes, rules: MergeRules) -> Violations:
    """Return the number of rows that violate each expectation.

    Raises:
        ExpectationFailed: rows violate an expectation of `expect_or_fail`.
    """
    if not rules.expectations:
        return Violations()
    dropped = [each.violated for each in rules.expectations if each.action is OnViolation.DROP]
    counted = [each.violated for each in rules.expectations]
    conditions = [*counted, " OR ".join(dropped) or "false"]
    (row,) = select(
        session,
        f"SELECT {', '.join(f'count_if({condition})' for condition in conditions)} FROM "
        f"{rules.add_row_value(changes.view)}",
    ).collect()
    counts = {each.name: int(n) for each, n in zip(rules.expectations, row[:-1], strict=True)}
    failed = [each for each in rules.expectations if each.action is OnViolation.FAIL and counts[each.name]]
    if failed:
        first = failed[0]
        raise ExpectationFailed(
            f"silver.{spec.name}: {number_of(counts[first.name], 'row')} violated the expectation "
            f"{first.name} of `expect_or_fail` ({format_on_one_line(first.condition)}), so nothing was merged. Its "
            f"check {first.check} has the SQL that shows them. Move it to `expect` or `expect_or_drop`, or repair them",
            counts,
            rules.expectations,
        )
    return Violations(counts, int(row[-1]))
