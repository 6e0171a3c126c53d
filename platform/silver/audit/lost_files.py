"""Which batches have lost a file, so that silver may have rows that bronze does not have any more."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.silver.pending import PendingMerge

#: Files of a batch whose state is looked up. A row of a larger batch is not judged if its table may lose files.
_MAX_LOOKED_UP = 1_000


def keeps_lost(work: PendingMerge) -> bool:
    """Whether silver keeps rows whose file has left bronze, because `on_removed` is `ignore`."""
    return work.table.birth is not None and work.table.birth.registered and work.spec.on_removed != "full"


def lost_files(work: PendingMerge) -> Callable[[int], bool]:
    """Returns a function that returns whether a batch may have lost a file. It asks about each batch once."""
    return cache(partial(_lost_files, work))


def _lost_files(work: PendingMerge, n: int) -> bool:
    if not keeps_lost(work):
        return False
    table = work.table
    batch = table.batches.read(n)
    keys = [row.key for row in batch.rows if row.status is Status.COMMITTED] if batch else []
    if len(keys) > _MAX_LOOKED_UP:
        return True
    later = table.ledger.history(work.recorded, *keys)
    return any(
        decision.stamp.n > n and decision.row.status in (Status.REMOVED, Status.QUARANTINED) for decision in later
    )
