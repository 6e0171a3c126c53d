"""Full dumps: the deletes that the dumps without a key imply."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tidegate.platform.core.silver.fates.key_row import KeyRow


def with_gone(rows: Sequence[KeyRow], dumps: Sequence[tuple[int, str]], mark: int) -> list[KeyRow]:
    """Returns the rows of a key, and a delete in each dump that follows one with the key and does not have it.

    Args:
        rows: the rows of bronze with the key.
        dumps: rank and order of each dump that silver holds, in any order.
        mark: last batch that silver holds.
    """
    newest_last = sorted(dumps, reverse=True)
    following = {rank: after for (rank, _), after in pairwise(newest_last)}
    present = {row.rank: row for row in rows if row.own_fate(mark) is None}
    gone = [
        KeyRow(after[0], None, ("", 0, 0), "{}", deletes=True, order=after[1], is_implied=True)
        for rank, row in present.items()
        if not row.deletes and (after := following.get(rank)) and after[0] not in present
    ]
    return [*rows, *gone]
