"""The folders of quarantined rows that a preparation made. Those that no row of the ledger will name are removed."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.ledger import LedgerRow
from tidegate.platform.lake.lake import Table


def keep_named_folders(table: Table, prepared: PreparedBatch, rows: Iterable[LedgerRow]) -> None:
    """Remove the folders that a preparation made, except those that rows name."""
    named = {row.bad_rows_folder for row in rows}
    for folder in [*prepared.folders]:
        if folder not in named:
            table.lake.store.remove_folder(folder)
            prepared.folders.remove(folder)
