"""What a merge leaves out: rows of subjects that were forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.resources.lake import Lake
from tidegate.resources.spark.temporary_view import temporary_view


@contextmanager
def without_suppressed(lake: Lake, work: PendingMerge, changes: Changes) -> Iterator[Changes]:
    """Yield the changes without rows of subjects on the suppression list.

    A load leaves these rows out already. Bronze may have some of an earlier load until they are deleted, or again after
    somebody restored it.

    Raises:
        SecretProblem: the list cannot be applied.
    """
    if work.table.spec.personal is None or (suppression := lake.suppression(work.table.spec)) is None:
        yield changes
        return
    session = lake.delta.session
    kept = suppression.without(session.table(changes.view), work.bronze.schema.fields)
    with temporary_view(session, "kept", kept) as view:
        yield replace(changes, view=view)
