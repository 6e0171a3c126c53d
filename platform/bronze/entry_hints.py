"""Objects that the log of an adopted table does not name, and that enter: a hint of each is put into the inbox.

The batch has committed, so the table is the lake's, and is not in the ledger yet, so no run takes a hint. A death
before the record lets the next run put them again, and a hint that comes twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.platform.bronze.reconcile.listing import LISTED_AT_ONCE
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import Hint, Listed
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.ledger import Ledger

#: The seam right after the hints are in the inbox.
SEAM = "adopt-enter"


def put_entry_hints(
    inbox: TableInbox, ledger: Ledger, batch: Batch, max_files: int, log: Callable[[str], None]
) -> None:
    """Put hints of the objects that enter into the inbox, unless the ledger has begun: they were there before it.

    Args:
        batch: that takes the table over.
        max_files: hints of one manifest.
        log: called with each line of progress.
    """
    if not batch.adopt or not batch.adopt.enter or ledger.clock().n:
        return
    hints: list[Hint] = []
    done = 0

    def put() -> None:
        nonlocal done
        inbox.put(split_into_manifests(batch.table, "listing", hints, max_files))
        done += len(hints)
        hints.clear()
        log(f"{done} objects that the log does not name are in the inbox")

    for row in ledger.objects_to_enter(batch.adopt).toLocalIterator():
        hints.append(Hint(row["key"], Listed(), row["size"]))
        if len(hints) == LISTED_AT_ONCE:
            put()
    put()
    seam(SEAM)
