"""Step 4, commit: one Delta transaction lands a batch."""

from __future__ import annotations

from tidegate.platform.core.bronze.batch import Batch
from tidegate.resources.lake import Table
from tidegate.resources.spark.results import CommitResult


def commit(table: Table, batch: Batch, *, verify_files: bool) -> CommitResult:
    """Land a batch. Returns what landed, or the outcome of an earlier commit of the same batch.

    Args:
        verify_files: check that the files of the batch still exist: an earlier run decided it.
    """
    if not batch.commits:
        return CommitResult(version=-1, outcome="committed", digest=batch.digest, reason=None, replayed=False)
    return table.delta.add_files(batch.location, table.batches.uri(batch.n), verify_files=verify_files)
