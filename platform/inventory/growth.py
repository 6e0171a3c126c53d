"""The growth of the objects in a table of inventories: what is kept of its history, and what came since.

Each part of the history is computed once, and kept after its versions are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.storage.growth import Growth, growth
from tidegate.platform.core.storage.history import HistoryPart, StoredHistory, history_parts
from tidegate.platform.inventory.entered_inventories import (
    dropped_inventories,
    inventories_in_history,
    objects_and_bytes,
)
from tidegate.platform.inventory.stored_objects import stored_objects
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel


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
        months: of 30 days, to forecast.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        keep: whether what is read of the table's versions is kept below the lake root, for the next time.

    Raises:
        InventoryError: it is not such a table, has nothing yet, or has a bucket twice.
        ValueError: a kept part of the history, or the retention of the table, cannot be read.
    """
    stored_objects(lake, table_key, configuration)
    table = lake.table(table_key)
    history = _history(table, keep=keep)
    drops = dropped_inventories(table.key, table.ledger)
    return KnownGrowth(growth(history.days, months, history.known_from, configuration, drops), history.known_from)


def _history(table: Table, *, keep: bool) -> StoredHistory:
    assert table.birth is not None
    store = KeptHistory(table.lake.store, table.table_key, table.birth.generation)
    known = store.read()
    for part in _parts_after(table, table.birth, known.last):
        found = part.stored_history(objects_and_bytes(table.delta.session, table.birth.location, part))
        if keep and not store.keep(known.last, found):
            return _history(table.reopen(), keep=keep)  # another run was faster
        known = StoredHistory.join_parts([known, found])
    return known


def _parts_after(table: Table, birth: Birth, after: int) -> list[HistoryPart]:
    entered = inventories_in_history(table.key, table.batches, table.ledger, table.delta, birth, after)
    return history_parts(*entered) if entered else []


class KeptHistory:
    """The objects `history/<table key>/<generation>-<n, 20 digits>.json` of a table of inventories.

    An object begins with the inventories of batch n, and the next one with the batch after its last. A run that loses
    the race for a number reads the object of the winner, so no inventory counts twice.

    Args:
        table: table key.
        generation: of the table.
    """

    def __init__(self, root: LakeRoot, table: str, generation: str) -> None:
        self._root = root
        self._folder = root.key("history", table, "")
        self._generation = generation

    def read(self) -> StoredHistory:
        """Return all that is kept. Its last batch is one of this generation. Days of earlier ones come first.

        Raises:
            ValueError: an object is not a history.
            StoreError: S3 did not answer.
        """
        keys = [item.key for item in self._root.objects.list_under(self._root.bucket, self._folder)]
        own = [key for key in keys if key.startswith(f"{self._folder}{self._generation}-")]
        others = sorted(set(keys) - set(own))
        found = dict(zip([*others, *own], parallel(self._read, [*others, *own]), strict=True))
        chain: list[StoredHistory] = []
        for key in own:
            # What follows a gap is computed again.
            if (part := found[key]) and key == self._key(chain[-1].last if chain else 0):
                chain.append(part)
        joined = StoredHistory.join_parts([*(part for key in others if (part := found[key])), *chain])
        return StoredHistory(chain[-1].last if chain else 0, joined.days, joined.known_from)

    def keep(self, after: int, part: StoredHistory) -> bool:
        """Keep the next part. Returns False if another run has kept one meanwhile.

        Args:
            after: number of the last batch that is kept already.
            part: what the batches after it brought.

        Raises:
            StoreError: S3 did not answer.
        """
        return self._root.objects.put_if_absent(self._root.bucket, self._key(after), part.to_json())

    def _key(self, after: int) -> str:
        return f"{self._folder}{self._generation}-{after + 1:020d}.json"

    def _read(self, key: str) -> StoredHistory | None:
        body = self._root.objects.get(self._root.bucket, key)
        return None if body is None else StoredHistory.from_json(body, self._root.address(key))
