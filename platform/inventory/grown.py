"""The growth of the objects in a table of inventories: what is kept of its history, and what came since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.storage.growth import Growth, growth
from tidegate.platform.core.storage.history import HistoryPart, StoredHistory, history_parts
from tidegate.platform.inventory.entered import dropped_inventories, inventories_in_history
from tidegate.platform.inventory.kept_history import KeptHistory
from tidegate.platform.inventory.stored import stored_objects
from tidegate.platform.lake.inventory.history import objects_and_bytes
from tidegate.platform.lake.lake import Lake, Table


@dataclass(frozen=True)
class KnownGrowth:
    """The growth of all buckets together, and of each bucket.

    Attributes:
        lines: all buckets, then the bucket with the most bytes.
        known_from: first day of the histories, if those before it are lost. Else None.
    """

    lines: list[Growth]
    known_from: date | None

    @property
    def lost(self) -> str:
        """Which days are lost and why, for people. Empty if none is."""
        if self.known_from is None:
            return ""
        return (
            f"the history is known from {self.known_from} on: the files of older versions may be deleted, because the "
            "table keeps them for delta.deletedFileRetentionDuration and delta.logRetentionDuration only"
        )


def growth_of(lake: Lake, table_key: str, months: int, configuration: str = "", *, keep: bool = False) -> KnownGrowth:
    """Return how the objects in a table of inventories grow.

    Args:
        lake: the lake.
        table_key: key of the table.
        months: of 30 days, to forecast.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        keep: whether what is read of the table's versions is kept below the lake root, for the next time.

    Raises:
        InventoryError: it is no such table, has nothing yet, or has a bucket twice.
        ValueError: a kept part of the history, or the retention of the table, cannot be read.
    """
    stored_objects(lake, table_key, configuration)
    table = lake.table(table_key)
    history = _history(table, keep=keep)
    drops = dropped_inventories(table)
    return KnownGrowth(growth(history.days, months, history.known_from, configuration, drops), history.known_from)


def _history(table: Table, *, keep: bool) -> StoredHistory:
    assert table.birth is not None
    store = KeptHistory(table.lake.store, table.table_key, table.birth.generation)
    known = store.read()
    for part in _parts_after(table, table.birth, known.last):
        found = part.stored(objects_and_bytes(table.delta.session, table.birth.location, part))
        if keep and not store.keep(known.last, found):
            return _history(table.reopened(), keep=keep)  # another run was faster
        known = StoredHistory.joined([known, found])
    return known


def _parts_after(table: Table, birth: Birth, after: int) -> list[HistoryPart]:
    entered = inventories_in_history(table, birth, after)
    return history_parts(*entered) if entered else []
