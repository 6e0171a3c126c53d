"""What became of each row of bronze with one key: which of them silver has, and why it has none of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """What a merge made of a row of bronze."""

    WON = "won"
    #: The newest row deletes its key, and silver has a tombstone.
    TOMBSTONE = "tombstone"
    #: A row that deletes its key decided, and its tombstone was removed after `tombstone_days`.
    EXPIRED = "expired"
    OLDER = "older"
    #: Its order is equal to that of the row that won, which came later.
    TIE = "tie"
    TRUNCATED = "truncated"
    #: It violates an expectation of `expect_or_drop`.
    EXPECTATION = "expectation"
    #: `skip_when` holds, so the row is no change.
    SKIPPED = "skipped"
    #: The row deletes all older rows of the table.
    TRUNCATES = "truncates"
    #: The next merge takes it.
    WAITS = "waits"


@dataclass(frozen=True)
class KeyRow:
    """A row of bronze. Of two rows the one with the smaller `rank` is newer, then that with the greater `arrival`.

    Attributes:
        rank: 1 for the newest order, 2 for the next one, ….
        n: its batch. None if the file was rewritten, so the batch is not known.
        place: file, block and row, which order the rows of a batch.
        values: the values that silver would have, as JSON.
        deletes: it deletes the key.
        skipped: it is no change, or violates an expectation that drops it.
        truncates: it deletes all older rows of the table.
        is_truncated: its order is older than that of the table's newest truncate.
        violated: name of the first expectation of `expect_or_drop` that it violates. None if it violates none.
    """

    rank: int
    n: int | None
    place: tuple[str, int, int]
    values: str
    deletes: bool = False
    skipped: bool = False
    truncates: bool = False
    is_truncated: bool = False
    violated: str | None = None

    def is_like(self, silver: SilverRow) -> bool:
        """Whether silver's row may be this one."""
        return self.values == silver.values and self.deletes == silver.deleted

    @property
    def arrival(self) -> tuple[int, tuple[str, int, int]]:
        """Where the row came: batch, file and row."""
        return (self.n or 0, self.place)


@dataclass(frozen=True)
class SilverRow:
    """The row of silver: its values as JSON, and whether it is a tombstone."""

    values: str
    deleted: bool


@dataclass(frozen=True)
class RowFates:
    """The fates of the rows of a key.

    Attributes:
        fates: of each row, in the order of the rows.
        winner: position of the row that decides the key. None without one.
        is_right: whether silver has what bronze gives.
    """

    fates: tuple[Fate, ...]
    winner: int | None
    is_right: bool


def row_fates(rows: Sequence[KeyRow], silver: SilverRow | None, mark: int) -> RowFates:
    """Returns what became of the rows of one key.

    Args:
        rows: all rows of bronze with the key.
        silver: silver's row of the key. None if it has none.
        mark: last batch that silver holds.
    """
    fates = [_own_fate(row, mark) for row in rows]
    changes = sorted(
        (place for place, fate in enumerate(fates) if fate is None),
        key=lambda place: (-rows[place].rank, rows[place].arrival),
        reverse=True,
    )
    if not changes:
        return RowFates(tuple(fate or Fate.OLDER for fate in fates), None, silver is None)
    best, found = rows[changes[0]], _of_silver(rows, changes, silver)
    winner = changes[0] if found is None else found
    for place in changes:
        fates[place] = _lost(rows[place], rows[winner])
    fates[winner] = Fate.WON if not rows[winner].deletes else Fate.EXPIRED if silver is None else Fate.TOMBSTONE
    is_right = found is not None or (silver is None and best.deletes)
    return RowFates(tuple(fate or Fate.OLDER for fate in fates), winner, is_right)


def _own_fate(row: KeyRow, mark: int) -> Fate | None:
    """Returns the fate that a row has whatever the other rows are; None if they decide."""
    if (row.n or 0) > mark:
        return Fate.WAITS
    if row.truncates:
        return Fate.TRUNCATES
    if row.violated:
        return Fate.EXPECTATION
    if row.skipped:
        return Fate.SKIPPED
    return Fate.TRUNCATED if row.is_truncated else None


def _of_silver(rows: Sequence[KeyRow], newest_first: Sequence[int], silver: SilverRow | None) -> int | None:
    """Returns the position of the row that silver has. None if it has none, or another one than it should.

    A compaction may exchange rows of one file, so any row of the newest order and batch may be the last one. A row that
    deletes its key does not count any more after its tombstone was removed: then an older row that comes late wins.
    """
    if silver is None:
        return None
    best = rows[newest_first[0]]
    like = [place for place in newest_first if rows[place].is_like(silver)]
    last = (place for place in like if rows[place].rank == best.rank and rows[place].n in (best.n, None))
    late = like[0] if like and best.deletes and not silver.deleted else None
    return next(last, late)


def _lost(row: KeyRow, winner: KeyRow) -> Fate:
    if row.rank < winner.rank:
        return Fate.EXPIRED
    return Fate.TIE if row.rank == winner.rank else Fate.OLDER
