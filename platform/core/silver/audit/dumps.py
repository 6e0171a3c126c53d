"""Full dumps: the deletes that the dumps without a key imply, and dumps with rows in quarantine, which imply none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidegate.platform.core.silver.audit.explanations import format_order
from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow
from tidegate.platform.core.wording import first_texts, number_of

#: A row with this fate, or a row without one of its own, shows that its dump has the key.
_PRESENT = (None, Fate.EXPECTATION, Fate.SKIPPED)

#: Files that a dump names.
MAX_NAMES = 3


@dataclass(frozen=True)
class Dumps:
    """The full dumps that imply deletes. One with rows in quarantine implies none.

    Attributes:
        newest_first: rank and order of each.
    """

    newest_first: tuple[tuple[int, str], ...] = ()

    @classmethod
    def from_found(cls, found: Iterable[tuple[int, str]]) -> Dumps:
        """Return dumps, given in any order."""
        return cls(tuple(sorted(found)))

    @property
    def newest(self) -> int | None:
        """Rank of the newest dump. None without dumps."""
        return self.newest_first[0][0] if self.newest_first else None

    def find_oldest_after(self, rank: int) -> tuple[int, str] | None:
        """Return rank and order of the oldest dump that is newer than a rank. None without one."""
        place = bisect_left(self.newest_first, (rank,))
        return self.newest_first[place - 1] if place else None


def present(rows: Sequence[KeyRow], mark: int) -> dict[int, KeyRow]:
    """Return a row of each dump that has a key, by its rank: a change if there is one.

    Args:
        rows: the rows of bronze with the key.
        mark: last batch that silver holds.
    """
    there = [row for row in rows if row.own_fate(mark) in _PRESENT]
    return {row.rank: row for row in sorted(there, key=lambda row: row.own_fate(mark) is None)}


def with_gone(rows: Sequence[KeyRow], dumps: Dumps, mark: int) -> list[KeyRow]:
    """Return the rows of a key, and a delete in each dump that follows one with the key and does not have it.

    Args:
        rows: the rows of bronze with the key.
        dumps: the dumps that silver holds and that imply deletes.
        mark: last batch that silver holds.
    """
    there = present(rows, mark)
    gone = []
    for rank, newer in pairwise([*sorted(there, reverse=True), 0]):
        after = dumps.find_oldest_after(rank)
        # Between a dump and the one that follows may be dumps with rows in quarantine.
        if there[rank].deletes or after is None or newer >= after[0]:
            continue
        gone.append(KeyRow(after[0], None, ("", "", 0, 0), "{}", deletes=True, order=after[1], is_implied=True))
    return [*rows, *gone]


@dataclass(frozen=True)
class IncompleteDump:
    """A full dump of which rows are in quarantine. It implies no deletes, because nobody knows the keys of these rows.

    Attributes:
        order: its order, as JSON of a struct.
        n: the last batch that quarantined some of its rows.
        files: number of files with such rows.
        rows: number of these rows. Those of a file that was quarantined as a whole are not known, and not counted.
        names: addresses of some of the files.
    """

    order: str
    n: int
    files: int = 0
    rows: int = 0
    names: tuple[str, ...] = ()

    def with_files(self, n: int, files: int, rows: int, names: Sequence[str]) -> IncompleteDump:
        """Return the dump with more files in quarantine. The arguments are as the attributes."""
        known = (*self.names, *names)[:MAX_NAMES]
        return IncompleteDump(self.order, max(n, self.n), self.files + files, self.rows + rows, known)

    def sentence(self, table: str, *, is_discreet: bool) -> str:
        """Return what a person should know and do.

        Args:
            table: name of the table.
            is_discreet: the order may have a value of a row, and is left out.
        """
        dump = "a dump" if is_discreet else f"the dump {format_order(self.order)}"
        what = number_of(self.files, "file")
        what = f"{number_of(self.rows, 'row')} of {what}" if self.rows else what
        if self.names:
            what += f" ({', '.join(first_texts(self.names, MAX_NAMES, self.files))})"
        return (
            f"{dump} deletes nothing in silver.{table}, as {what} went into quarantine, the last in batch {self.n}. "
            f"Write the files again, or correct lake.yaml and run `tidegate redrive {table} --yes`, or wait for the "
            "next dump"
        )
