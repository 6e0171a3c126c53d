"""Whether silver may be wrong about a key, by some rows of the key: those of the files that were read of both tables.

A key in doubt is looked up with all of its rows. What these rows show to be wrong is always in doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tidegate.platform.core.silver.audit.dumps import Dumps, present, with_gone
from tidegate.platform.core.silver.audit.intervals import (
    HistoryRules,
    Interval,
    copies,
    json_values,
    may_match_change,
    replay,
)
from tidegate.platform.core.silver.audit.key_row import KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import SilverRow, row_fates


@dataclass(frozen=True)
class SampledTables:
    """What is known of both tables.

    Attributes:
        bronze_is_whole: the rows are all rows of bronze with the key.
        silver_is_whole: the rows are all rows of silver with the key.
        dumps: the dumps in the files of bronze that were read.
        mark: last batch that silver holds.
        keeps_lost: rows may have left bronze that silver keeps.
    """

    bronze_is_whole: bool
    silver_is_whole: bool
    dumps: Dumps = field(default_factory=Dumps)
    mark: int = 1 << 62
    keeps_lost: bool = False


def doubts_history(
    rows: Sequence[KeyRow], stored: Sequence[Interval], rules: HistoryRules, sampled: SampledTables
) -> bool:
    """Return whether silver's history of a key may be wrong."""
    if copies(stored):
        return True
    if rules.of_dumps:
        rows = with_gone(rows, sampled.dumps, sampled.mark) if sampled.bronze_is_whole else rows
    if sampled.bronze_is_whole and sampled.silver_is_whole:
        return not replay(rows, stored, rules).is_right
    if _lacks_changes([row for row in rows if row.own_fate(sampled.mark) is None], stored, sampled):
        return True
    dropped = _ranks_of_skipped_rows(rows, sampled)
    if rules.of_dumps and any(_misses_dump(interval, sampled, dropped) for interval in stored):
        return True
    if sampled.silver_is_whole:
        return not replay((), stored, replace(rules, is_gone=lambda n: True)).is_right
    oldest_first = sorted(stored, key=lambda interval: -interval.rank)
    return not all(_is_sound(interval) for interval in stored) or any(
        not _may_follow(before, after, rules) for before, after in pairwise(oldest_first)
    )


def doubts_row(rows: Sequence[KeyRow], silver: SilverRow | None, rank: int | None, sampled: SampledTables) -> bool:
    """Return whether silver's row of a key may be wrong, in a table that is merged from full dumps.

    Args:
        rows: rows of bronze with the key.
        rank: of its order.
        sampled: what is known of both tables.
    """
    if silver is not None and silver.rows > 1:
        return True
    changes = [row for row in rows if row.own_fate(sampled.mark) is None]
    dump = sampled.dumps.newest
    is_behind = rank is not None and _is_behind(rank, dump, _ranks_of_skipped_rows(rows, sampled))
    if silver is not None and not silver.deleted and is_behind:
        return not sampled.keeps_lost  # a newer dump has a newer row of the key, or deletes it
    if sampled.bronze_is_whole and sampled.silver_is_whole:
        gone = with_gone(rows, sampled.dumps, sampled.mark)
        return not sampled.keeps_lost and not row_fates(gone, silver, sampled.mark).is_right
    newest = min((row.rank for row in changes), default=None)
    if silver is None or rank is None:
        # A dump of which rows are in quarantine is newer than all that imply deletes.
        is_newest = newest is not None and dump is not None and newest <= dump
        return sampled.silver_is_whole and is_newest and not any(row.deletes for row in changes)
    if newest is None or newest > rank:
        return False
    equal = [row for row in changes if row.rank == newest]
    return newest < rank or not any(silver.is_like(row) for row in equal)


def _lacks_changes(changes: Sequence[KeyRow], stored: Sequence[Interval], sampled: SampledTables) -> bool:
    """Return whether silver may lack a change of bronze, or have other values of it."""
    have = {interval.rank: interval for interval in stored}
    for rank in {row.rank for row in changes}:
        interval = have.get(rank)
        equal = [row for row in changes if row.rank == rank]
        if interval is None:
            if sampled.silver_is_whole:
                return True
            continue
        # A row of a later batch may have replaced these.
        n = interval.n or 0
        last = [row for row in equal if row.n is None or row.n >= n]
        if last and not any(
            may_match_change(interval, json_values(row.values), row.left, deletes=row.deletes) for row in last
        ):
            return True
    return False


def _ranks_of_skipped_rows(rows: Sequence[KeyRow], sampled: SampledTables) -> set[int]:
    """Return the ranks of the dumps that have the key, but only rows of it that are not changes."""
    return {rank for rank, row in present(rows, sampled.mark).items() if row.own_fate(sampled.mark) is not None}


def _is_behind(rank: int, dump: int | None, dropped: Collection[int]) -> bool:
    """Return whether a dump is newer than a row, and should have replaced or ended it."""
    return dump is not None and dump < rank and dump not in dropped


def _misses_dump(interval: Interval, sampled: SampledTables, dropped: Collection[int]) -> bool:
    """Return whether a dump after that of a row has not ended the row."""
    is_open = not interval.deleted and interval.valid_to is None
    return is_open and any(_is_behind(interval.rank, rank, dropped) for rank, _ in sampled.dumps.newest_first)


def _is_sound(interval: Interval) -> bool:
    """Return whether the columns of a row of silver fit together."""
    if interval.deleted and (interval.valid_from != interval.order or interval.joined):
        return False
    return interval.is_current == (interval.valid_to is None and not interval.deleted)


def _may_follow(before: Interval, after: Interval, rules: HistoryRules) -> bool:
    """Return whether a row of silver may be older than another one, with rows between them that are not known."""
    if before.valid_to is None or (before.until is not None and before.until < after.rank):
        return False
    if before.valid_to != after.order:
        return True
    if any(after.rank <= rank < before.rank for rank, _ in rules.truncates):
        continues = False
    else:
        same = all(before.values.get(name) == after.values.get(name) for name in rules.tracked)
        continues = same and not before.deleted and not after.deleted
    start = before.valid_from if continues else after.order
    return before.joined == continues and after.valid_from == start
