"""The history of a table of inventories: which inventories were loaded, and in which table versions each is visible.

An inventory is in all versions from the one of its batch to the one before the next inventory of its bucket and
configuration. A version therefore has the inventories of many batches, and each inventory is read from one version::

    batch     1  2  3  4  5     the inventories of batches 1 to 3 are read at the version of batch 3,
    bucket    a  b  c  a  b     those of 4 and 5 at the version of batch 5
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import groupby
from typing import NamedTuple

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.growth import StoredDay
from tidegate.platform.core.stored_members import read_note, reading

FORMAT = 1
#: Versions of one part: one query reads them, and a run that dies loses no more.
MAX_READS = 50


@dataclass(frozen=True)
class EnteredInventory:
    """An inventory whose rows replaced those of its subject.

    Attributes:
        day: on which S3 began to look at the bucket.
        n: its batch.
        version: Delta version of the batch.
        recorded: time of its record in the ledger.
        rows: number of its rows, with delete markers.
    """

    subject: Subject
    day: date
    n: int
    version: int
    recorded: datetime
    rows: int


class KeptPast(NamedTuple):
    """What a table keeps of its past.

    Attributes:
        files: files that were removed from the table before may be deleted.
        log: commits before may be deleted from its log.
    """

    files: datetime
    log: datetime


@dataclass(frozen=True)
class VersionRead:
    """A version of the table, and the batches whose rows are read from it.

    Attributes:
        version: the Delta version.
        first: number of the first of the batches.
        last: number of the last one.
    """

    version: int
    first: int
    last: int


@dataclass(frozen=True)
class StoredHistory:
    """What the inventories had.

    Attributes:
        last: number of the last batch whose inventories it has.
        days: what each inventory had, the oldest batch first.
        known_from: first day on which it has every inventory. None if it has all of every day.
    """

    last: int = 0
    days: list[StoredDay] = field(default_factory=list)
    known_from: date | None = None

    def to_json(self) -> str:
        """Return the object that keeps the history."""
        since = self.known_from.isoformat() if self.known_from else None
        days = [
            [
                stored_day.bucket,
                stored_day.configuration,
                stored_day.day.isoformat(),
                stored_day.objects,
                stored_day.size,
            ]
            for stored_day in self.days
        ]
        return json.dumps({"format": FORMAT, "last": self.last, "known_from": since, "days": days})

    @classmethod
    def from_json(cls, body: str | bytes, address: str) -> StoredHistory:
        """Read a kept history.

        Raises:
            BadValue: the object is none.
            NewerVersionError: a newer version wrote it.
        """
        with reading(address, "a history of inventories", "it may be deleted"):
            found = read_note(body, ["last", "known_from", "days"], "a history of inventories", FORMAT)
            since = found["known_from"]
            days = [
                StoredDay(bucket, configuration, date.fromisoformat(day), objects, size)
                for bucket, configuration, day, objects, size in found["days"]
            ]
            return cls(found["last"], days, date.fromisoformat(since) if since else None)

    @classmethod
    def join_parts(cls, parts: Iterable[StoredHistory]) -> StoredHistory:
        """Return the history of several parts, in order."""
        some = list(parts)
        return cls(
            max((history.last for history in some), default=0),
            [day for history in some for day in history.days],
            max((history.known_from for history in some if history.known_from), default=None),
        )


@dataclass
class HistoryPart:
    """Inventories of consecutive batches, and the versions that have them.

    Attributes:
        last: number of the last batch.
        inventories: in the order of their batches.
        reads: versions to read.
        known_from: see `StoredHistory`.
    """

    last: int = 0
    inventories: list[EnteredInventory] = field(default_factory=list)
    reads: list[VersionRead] = field(default_factory=list)
    known_from: date | None = None

    def stored_history(self, found: Mapping[tuple[Subject, int], tuple[int, int]]) -> StoredHistory:
        """Return what its inventories had.

        Args:
            found: objects and bytes by subject and batch. What is missing had none: it was empty.
        """
        days = [
            StoredDay(*inventory.subject, inventory.day, *found.get((inventory.subject, inventory.n), (0, 0)))
            for inventory in self.inventories
        ]
        return StoredHistory(self.last, days, self.known_from)


def history_parts(entered: Sequence[EnteredInventory], kept: KeptPast, present: int) -> list[HistoryPart]:
    """Return which versions to read for inventories, in parts that can be kept one after the other.

    Args:
        entered: all inventories after those of a kept history, in the order of their batches.
        kept: which versions can be read. Inventories that need another are left out.
        present: Delta version that has the newest inventory of each subject.
    """
    following, lost = following_inventories(entered), lost_inventories(entered, kept)
    parts = [HistoryPart()]
    end = 0  # the first version that lacks an inventory of the last read
    for n, batch in groupby(entered, lambda inventory: inventory.n):
        part, some = parts[-1], list(batch)
        left = [inventory for inventory in some if inventory not in lost]
        if any(inventory.rows for inventory in left):
            if some[0].version >= end:
                # A part ends with a whole batch: what follows it begins with the next number.
                if len(part.reads) == MAX_READS:
                    part = HistoryPart()
                    parts.append(part)
                part.reads.append(VersionRead(present, n, n))
                end = present + 1
            end = min(
                end,
                *(following[inventory].version for inventory in left if inventory.rows and inventory in following),
                end,
            )
            part.reads[-1] = VersionRead(end - 1, part.reads[-1].first, n)
        part.last = n
        part.inventories += left
        # From the day of the next inventory on, a lost one is not needed.
        days = [following[inventory].day for inventory in some if inventory in lost]
        part.known_from = max([*days, *([part.known_from] if part.known_from else [])], default=None)
    return parts if entered else []


def following_inventories(entered: Sequence[EnteredInventory]) -> dict[EnteredInventory, EnteredInventory]:
    """Return the inventory that replaced each of them, unless it is still in the table."""
    found: dict[EnteredInventory, EnteredInventory] = {}
    last: dict[Subject, EnteredInventory] = {}
    for inventory in entered:
        if before := last.get(inventory.subject):
            found[before] = inventory
        last[inventory.subject] = inventory
    return found


def lost_inventories(entered: Sequence[EnteredInventory], kept: KeptPast) -> set[EnteredInventory]:
    """Return the inventories whose rows are in no version any more that can be read. An empty one has no rows to lose.

    The last version that has an inventory is that before its replacement. It needs its own commit, and the files that
    the replacement removed.

    Args:
        entered: in the order of their batches.
        kept: which versions can be read.
    """
    before: dict[int, datetime] = {}
    last: EnteredInventory | None = None
    for inventory in entered:
        if last and inventory.n != last.n:
            before[inventory.n] = last.recorded
        last = inventory
    following = following_inventories(entered)
    return {
        inventory
        for inventory, later in following.items()
        if inventory.rows and (later.recorded < kept.files or before[later.n] < kept.log)
    }


@dataclass
class InventoriesRead:
    """A version of the table, and the inventories whose rows are read from it."""

    version: int
    inventories: list[EnteredInventory] = field(default_factory=list)


def inventories_as_of(
    entered: Sequence[EnteredInventory], day: date, kept: KeptPast, present: int
) -> list[InventoriesRead]:
    """Return which versions to read for the inventories of a day. Empty inventories need none.

    Args:
        entered: all inventories of the table, in the order of their batches.
        day: in UTC. An inventory that S3 began on this day belongs to it.
        kept: which versions can be read.
        present: Delta version that has the newest inventory of each subject.

    Raises:
        InventoryError: the table has no inventory of that day, or its files may be deleted.
    """
    newest = {
        inventory.subject: inventory for inventory in entered if inventory.day <= day
    }  # later batches have later inventories
    if not newest:
        first = min((inventory.day for inventory in entered), default=None)
        raise InventoryError(
            f"no inventory of {day} or before is known" + (f": ask for {first} or later" if first else " yet")
        )
    following = following_inventories(entered)
    lost = lost_inventories(entered, kept)
    if some := [inventory for inventory in newest.values() if inventory in lost]:
        since = max(following[inventory].day for inventory in lost)
        raise InventoryError(
            f"the files of the inventory of {some[0].subject} of {some[0].day} may be deleted, because the table keeps "
            "them for delta.deletedFileRetentionDuration and delta.logRetentionDuration only: "
            f"ask for {since} or later"
        )
    last = {
        inventory: following[inventory].version - 1 if inventory in following else present
        for inventory in newest.values()
        if inventory.rows
    }
    reads: list[InventoriesRead] = []
    for inventory in sorted(last, key=lambda inventory: (last[inventory], inventory.n)):
        # Each version is the last that has one of its inventories, so none of the others was replaced before.
        if not reads or reads[-1].version < inventory.version:
            reads.append(InventoriesRead(last[inventory]))
        reads[-1].inventories.append(inventory)
    return reads
