"""A row of bronze with one key, and the fate that it has whatever the other rows are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """What a merge made of a row of bronze."""

    WON = "won"
    #: The newest row deletes its key, and silver has a tombstone. In a history: the key had no row then.
    TOMBSTONE = "tombstone"
    #: A row that deletes its key decided, and its tombstone was removed after `tombstone_days`.
    EXPIRED = "expired"
    OLDER = "older"
    #: Its order is equal to that of the row that won, which came later.
    TIE = "tie"
    TRUNCATED = "truncated"
    #: It violates an expectation of `expect_or_drop`.
    EXPECTATION = "expectation"
    #: `skip_when` holds, so the row is not a change.
    SKIPPED = "skipped"
    #: The row deletes all older rows of the table.
    TRUNCATES = "truncates"
    #: The next merge takes it.
    WAITS = "waits"
    #: No row: a full dump that follows one with the key does not have it.
    GONE = "gone"
    #: It began a row of a history.
    OPENED = "opened"
    #: It came late, and began a row within another one.
    CUT = "cut"
    #: Its tracked values are those of the change before, whose row it continues.
    JOINED = "joined"
    #: It deleted its key, and so ended a row of a history.
    ENDED = "ended"


@dataclass(frozen=True)
class KeyRow:
    """A row of bronze. Of two rows the one with the smaller `rank` is newer, then that with the greater `arrival`.

    Attributes:
        rank: 1 for the newest order, 2 for the next one, ….
        n: its batch. None if the file was rewritten, so the batch is not known.
        place: file, number of its data file, block and row, which order the rows of a batch.
        values: the values that silver would have, as JSON.
        deletes: it deletes the key.
        skipped: it is not a change, or violates an expectation that drops it.
        truncates: it deletes all older rows of the table.
        is_truncated: its order is older than that of the table's newest truncate.
        violated: name of the first expectation of `expect_or_drop` that it violates. None if it violates none.
        order: its order, as JSON of a struct.
        left: the columns whose value it leaves as it is.
        is_filled: it has values of older rows, where it left its own.
        is_implied: no row of bronze, but the delete that a dump without the key implies.
    """

    rank: int
    n: int | None
    place: tuple[str, str, int, int]
    values: str
    deletes: bool = False
    skipped: bool = False
    truncates: bool = False
    is_truncated: bool = False
    violated: str | None = None
    order: str = "{}"
    left: frozenset[str] = frozenset()
    is_filled: bool = False
    is_implied: bool = False

    @property
    def arrival(self) -> tuple[int, tuple[str, str, int, int]]:
        """Where the row came: batch, file and row."""
        return (self.n or 0, self.place)

    def own_fate(self, mark: int) -> Fate | None:
        """Return the fate that the row has whatever the other rows are. None if they decide.

        Args:
            mark: last batch that silver holds.
        """
        if (self.n or 0) > mark:
            return Fate.WAITS
        if self.truncates:
            return Fate.TRUNCATES
        if self.violated:
            return Fate.EXPECTATION
        if self.skipped:
            return Fate.SKIPPED
        return Fate.TRUNCATED if self.is_truncated else None
