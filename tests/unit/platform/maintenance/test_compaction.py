"""Compaction: when the small files of a table are merged, and that a failure does not fail the run."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.lake.spark.results import CompactionResult
from tidegate.platform.lake.spark.table_maintenance import CLUSTER_ALL, CLUSTER_NEW, Clustering
from tidegate.platform.maintenance.compaction import EVERY, compact, is_due


@pytest.mark.parametrize(
    ("before", "after", "due"),
    [(0, 1, False), (0, EVERY - 1, False), (EVERY - 1, EVERY, True), (EVERY, EVERY + 1, False), (3, 5 * EVERY, True)],
)
def test_a_table_is_compacted_when_its_number_passes_a_multiple(before: int, after: int, due: bool) -> None:
    assert is_due(before, after) is due


class Door:
    """Stands for Delta, with the given result or error of a compaction."""

    def __init__(self, end: CompactionResult | Exception) -> None:
        self.end = end

    def compact(self, location: str, clustering: Clustering | None) -> CompactionResult:
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (CompactionResult(1, 70), ["70 small files of bronze.orders became 1"]),
        (CompactionResult(0, 0), []),
        (
            PySparkException("a commit came first\nat io.delta"),
            ["WARNING: the small files of bronze.orders were not merged: a commit came first"],
        ),
    ],
)
def test_a_compaction_is_logged_and_fails_no_run(end: Any, expected: list[str]) -> None:
    lines: list[str] = []
    compact(Door(end), "s3a://lake/bronze/orders", "bronze.orders", lines.append)  # type: ignore[arg-type]
    assert lines == expected


def test_a_run_says_how_much_of_a_clustered_table_it_left_to_the_next() -> None:
    lines: list[str] = []
    done = Door(CompactionResult(4, 9, 5 << 30))
    compact(done, "s3a://lake/bronze/orders", "bronze.orders", lines.append, CLUSTER_ALL)  # type: ignore[arg-type]
    assert lines == ["9 files of bronze.orders became 4", "5.0 GiB of bronze.orders are to be sorted next time"]
    # Two cubes that are below the size by a little fit into one call, or they would stay two for ever.
    assert all(each.max_bytes >= 2 * each.cube_bytes for each in (CLUSTER_NEW, CLUSTER_ALL))
