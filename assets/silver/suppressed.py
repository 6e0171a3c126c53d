"""What a merge leaves out: rows of subjects that were forgotten."""

from __future__ import annotations

from dataclasses import replace

from tidegate.assets.silver.changes import Changes
from tidegate.assets.silver.pending import PendingMerge
from tidegate.resources.lake import Lake


def without_suppressed(lake: Lake, work: PendingMerge, changes: Changes) -> Changes:
    """Return the changes without rows of subjects on the suppression list.

    A load leaves these rows out already. Bronze may have some of an earlier load until they are deleted, or again after
    somebody restored it.

    Raises:
        SecretProblem: the list cannot be applied.
    """
    if work.table.spec.personal is None or (suppression := lake.suppression(work.table.spec)) is None:
        return changes
    view, session = f"{changes.view}_kept", lake.delta.session
    kept = suppression.without(session.table(changes.view), work.bronze.schema.fields)
    kept.createOrReplaceTempView(view)
    session.catalog.dropTempView(changes.view)
    return replace(changes, view=view)
