"""What waits in a table for completion signals: written when a batch is recorded, for pages that do not ask Spark."""

from __future__ import annotations

from tidegate.platform.core.completion.signal_name import SignalName
from tidegate.platform.core.completion.waiting_datasets import MAX_SIGNALS, WaitingDatasets
from tidegate.platform.lake.lake import Table


def note_waiting(table: Table) -> WaitingDatasets | None:
    """Write what waits in a table, as its ledger says now, and return it. None if the table has no signals."""
    if not table.spec.completion:
        return None
    signals = SignalName.parse(table.spec.completion).regex
    waiting = table.ledger.waiting(table.ledger.clock().version, signals, MAX_SIGNALS)
    table.lake.store.waiting_notes.write(table.table_key, waiting)
    return waiting


def noted_waiting(table: Table) -> WaitingDatasets | None:
    """Return what waited in a table when its last batch was recorded. None if the table has no signals.

    A note that is missing, because it was lost or `completion` is new, is written.
    """
    if not table.spec.completion:
        return None
    return table.lake.store.waiting_notes.read(table.table_key) or note_waiting(table)
