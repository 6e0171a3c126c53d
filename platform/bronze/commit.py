"""Step 4, commit: one Delta transaction adds a batch to its table, or copies add it to its output."""

from __future__ import annotations

from tidegate.platform.bronze.publish import publish
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.delta import NOT_SEEN
from tidegate.platform.lake.spark.results import CommitResult


def commit(table: Table, batch: Batch, *, verify_files: bool, seen: int = NOT_SEEN) -> CommitResult:
    """Commit a batch to its Delta table or its output. Returns the result, or that of an earlier commit of the batch.

    Args:
        verify_files: check first that the files of the batch still exist. Set if an earlier run decided the batch.
        seen: the version of the table that this run prepared the batch on.
    """
    if batch.objects:
        publish(table, batch, found=verify_files)
    if not batch.commits:
        return CommitResult(version=-1, outcome="committed", digest=batch.digest, reason=None, replayed=False)
    digest = "" if verify_files else batch.digest
    uri = table.batches.uri(batch.n)
    return table.delta.add_files(batch.location, uri, verify_files=verify_files, seen=seen, digest=digest)
