"""Full dumps: the deletes that the dumps without a key imply."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tidegate.platform.core.silver.fates.key_row import Fate, KeyRow

#: A row with this fate, or a row without one of its own, shows that its dump has the key.
_PRESENT = (None, Fate.EXPECTATION, Fate.SKIPPED)


def present(rows: Sequence[KeyRow], mark: int) -> dict[int, KeyRow]:
    """Returns a row of each dump that has a key, by its rank: a change if there is one.

    Args:
        rows: the rows of bronze with the key.
        mark: last batch that silver holds.
    """
    there = [row for row in rows if row.own_fate(mark) in _PRESENT]
    return {row.rank: row for row in sorted(there, key=lambda row: row.own_fate(mark) is None)}


def with_gone(rows: Sequence[KeyRow], dumps: Sequence[tuple[int, str]], mark: int) -> list[KeyRow]:
    """Returns the rows of a key, and a delete in each dump that follows one with the key and does not have it.

    Args:
        rows: the rows of bronze with the key.
        dumps: rank and order of each dump that silver holds, in any order.
        mark: last batch that silver holds.
    """
    newest_last = sorted(dumps, reverse=True)
    following = {rank: after for (rank, _), after in pairwise(newest_last)}
    there = present(rows, mark)
    gone = [
        KeyRow(after[0], None, ("", 0, 0), "{}", deletes=True, order=after[1], is_implied=True)
        for rank, row in there.items()
        if not row.deletes and (after := following.get(rank)) and after[0] not in there
    ]
    return [*rows, *gone]
