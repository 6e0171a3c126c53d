"""Deliveries that wait for a missing object: each run of the table looks at them again."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.bronze.hint import Hint, Listed
from tidegate.platform.core.bronze.plan import PlannedHint
from tidegate.platform.lake.lake import Table


def waiting_deliveries(table: Table, taken: Sequence[PlannedHint]) -> list[PlannedHint]:
    """Return hints of the deliveries that wait and that no hint of the batch names.

    S3 writes the checksum last. Where the bucket is replicated, other objects may come after it. Their events are not
    hints, and a run comes with the next delivery of any bucket.

    Args:
        taken: the hints of the batch.
    """
    if not table.spec.has_inventories or not taken:
        return []
    named = {item.hint.key for item in taken}
    waiting = table.waiting_signals.every()
    return [PlannedHint(Hint(key, Listed()), taken[-1].manifest) for key in waiting if key not in named]
