"""The history of one key, computed from its rows one after another.

A merge computes the tails of many keys with the windows of a query. Here the history of one key is computed from all of
its rows, without a query, so that a comparison of both shows a fault of either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from operator import itemgetter
from typing import Any

from tidegate.platform.core.row_json import row_json
from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow


@dataclass(frozen=True)
class Interval:
    """A row of a history: a change, and the time for which its values hold. Orders are JSON of structs.

    Attributes:
        rank: position of the change when a key's changes are sorted newest first, from 1. Rows of bronze have the same
            ranks.
        order: of the change.
        values: by column, without nulls, as `json_values` reads them.
        deleted: the change deletes the key.
        valid_from: order of the change that began the row.
        valid_to: order of what ended it. None if nothing did.
        is_current: it holds now.
        joined: the next change continues it, so the view shows that change instead.
        n: the batch of the change. 0 if it came before a reset, or if its batch is not known.
        until: rank of `valid_to`. Only known of rows that silver has.
    """

    rank: int
    order: str
    values: Mapping[str, Any]
    deleted: bool
    valid_from: str
    valid_to: str | None
    is_current: bool
    joined: bool
    n: int | None = field(default=None, compare=False)
    until: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class HistoryRules:
    """What decides the history of a key in addition to its rows.

    Attributes:
        tracked: the columns whose change begins a row.
        truncates: rank and order of each truncate.
        mark: last batch that silver holds.
        is_gone: whether rows of a batch may have left bronze, while silver keeps them.
        trusts_left: bronze may lack the row that gave a value which others leave as it is.
        of_dumps: the table is merged from full dumps. Their deletes depend on the order in which dumps came, as far as
            the view does not show them.
    """

    tracked: tuple[str, ...]
    truncates: tuple[tuple[int, str], ...] = ()
    mark: int = 1 << 62
    is_gone: Callable[[int], bool] = lambda n: n == 0
    trusts_left: bool = False
    of_dumps: bool = False


class End(Enum):
    """What ended the time of a change."""

    CHANGE = "the next change"
    TRUNCATE = "a truncate"


@dataclass(frozen=True)
class Step:
    """A change of a history.

    Attributes:
        interval: the row of silver.
        row: position of its row among those of bronze. None if only silver has it.
        starts: it begins a row that the view shows, or deletes the key.
        follows: the change before holds until this one, and did not delete the key.
        end: what ended its time. None if nothing did.
    """

    interval: Interval
    row: int | None
    starts: bool
    follows: bool
    end: End | None


@dataclass(frozen=True)
class Replay:
    """The history of a key.

    Attributes:
        steps: its changes, the oldest first.
        fates: of each row of bronze that is not a change, in the order of the rows. None for the changes.
        differing: the rows in which silver's history is another one, by their order, the oldest first: what bronze
            gives, and what silver has.
        copies: rows of silver for a change that another row of silver has, too.
    """

    steps: tuple[Step, ...]
    fates: tuple[Fate | None, ...]
    differing: tuple[tuple[Interval | None, Interval | None], ...]
    copies: tuple[Interval, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether silver has what bronze gives."""
        return not self.differing and not self.copies


def json_values(text: str) -> dict[str, Any]:
    """Return the values of a row from JSON, so that two of them are equal if they are for Spark.

    A number with a fraction is its text, because a float cannot hold every decimal. Only zero has two texts. Two maps
    are equal if they have the same entries, in whatever order.
    """
    found = row_json(text, parse_float=_fraction, object_pairs_hook=_entries)
    return dict(found)


def _entries(pairs: Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(pairs, key=itemgetter(0)))


def _fraction(text: str) -> tuple[str, str]:
    return "fraction", text if float(text) else text.removeprefix("-")


def replay(rows: Sequence[KeyRow], stored: Sequence[Interval], rules: HistoryRules, *, is_cut: bool = False) -> Replay:
    """Compute the history of a key, and compare it with that of silver.

    Args:
        rows: the rows of bronze with the key.
        stored: silver's rows of the key.
        rules: what else decides it.
        is_cut: bronze has older rows that are not given. Then the oldest change is taken as silver has it.
    """
    have = {interval.rank: interval for interval in stored}
    fates = tuple(row.own_fate(rules.mark) for row in rows)
    by_rank: dict[int, list[int]] = {}
    for place, fate in enumerate(fates):
        if fate is None:
            by_rank.setdefault(rows[place].rank, []).append(place)
    oldest = max(by_rank, default=0)
    lost = {
        rank
        for rank, interval in have.items()
        if _is_gone_from_bronze(interval, rules) and not (is_cut and rank > oldest)
    }
    changes = [_change(rows, by_rank.get(rank, []), have.get(rank), rules) for rank in sorted({*by_rank, *lost})]
    steps = _steps(changes[::-1], have if is_cut else {}, rules)
    given = {step.interval.rank: step.interval for step in steps}
    compared = {rank: interval for rank, interval in have.items() if not (is_cut and rank > oldest)}
    if rules.of_dumps:
        given, compared = (
            {rank: interval for rank, interval in found.items() if not interval.deleted} for found in (given, compared)
        )
    ranks = sorted({*given, *compared}, reverse=True)
    pairs = ((given.get(rank), compared.get(rank)) for rank in ranks)
    return Replay(steps, fates, tuple(pair for pair in pairs if pair[0] != pair[1]), copies(stored))


def copies(stored: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return rows of silver for a change that a later one of the rows has, too."""
    last = {interval.rank: place for place, interval in enumerate(stored)}
    return tuple(interval for place, interval in enumerate(stored) if last[interval.rank] != place)


@dataclass(frozen=True)
class _Change:
    """A change, before its time is known. `left` are columns without a value."""

    rank: int
    order: str
    values: Mapping[str, Any]
    left: frozenset[str]
    deletes: bool
    row: int | None
    n: int | None

    def is_like(self, stored: Interval) -> bool:
        """Return whether silver's row may be of this change. Values that it leaves are not known here."""
        return may_match_change(stored, self.values, self.left, deletes=self.deletes)


def may_match_change(stored: Interval, values: Mapping[str, Any], left: Collection[str], *, deletes: bool) -> bool:
    """Return whether silver's row may be of a change with these values.

    Args:
        stored: silver's row.
        values: of the change.
        left: columns without a value in the change. What they have in silver is not known here.
        deletes: whether the change deletes the key.
    """
    own, theirs = (
        {name: value for name, value in given.items() if name not in left} for given in (values, stored.values)
    )
    return deletes == stored.deleted and own == theirs


def _is_gone_from_bronze(stored: Interval, rules: HistoryRules) -> bool:
    return stored.n is not None and rules.is_gone(stored.n)


def _change(rows: Sequence[KeyRow], places: Sequence[int], stored: Interval | None, rules: HistoryRules) -> _Change:
    """Return the change of an order: that of the last row, or of silver's row if bronze does not have its row.

    A compaction may exchange rows of one file, so any row of the last batch may be the last one.
    """
    last_first = sorted(places, key=lambda place: rows[place].arrival, reverse=True)
    if last_first:
        n = rows[last_first[0]].n
        equal = [place for place in last_first if n is None or rows[place].n in (n, None)]
        found = [
            _join_changes([rows[place], *(rows[other] for other in last_first if other != place)], place)
            for place in equal
        ]
        like = [change for change in found if stored is not None and change.is_like(stored)]
        if like or stored is None or not _is_gone_from_bronze(stored, rules) or (stored.n or 0) <= (n or 0):
            return _fill_from_stored(like[0] if like else found[0], stored, rules)
    if stored is None:
        raise AssertionError("an order is that of a row of bronze or of silver")
    return _Change(stored.rank, stored.order, stored.values, frozenset(), stored.deleted, None, stored.n)


def _join_changes(equal: Sequence[KeyRow], place: int) -> _Change:
    """Return the change of rows with an equal order, the last one first. The others give what it leaves."""
    values: dict[str, Any] = {}
    left = equal[0].left
    for number, row in enumerate(equal):
        wanted = left if number else None
        given = json_values(row.values)
        values |= {
            name: value for name, value in given.items() if name not in row.left and (wanted is None or name in wanted)
        }
        left = left & row.left
    first = equal[0]
    return _Change(first.rank, first.order, values, left, first.deletes, place, first.n)


def _fill_from_stored(change: _Change, stored: Interval | None, rules: HistoryRules) -> _Change:
    if stored is None or not rules.trusts_left or not change.left:
        return change
    values = {**change.values, **{name: value for name, value in stored.values.items() if name in change.left}}
    return replace(change, values=values, left=frozenset())


def _steps(changes: Sequence[_Change], anchors: Mapping[int, Interval], rules: HistoryRules) -> tuple[Step, ...]:
    """Return the changes with their times, the oldest first."""
    steps: list[Step] = []
    life, deletes, values = 0, 0, dict[str, Any]()
    for place, change in enumerate(changes):
        now = deletes + sum(rank >= change.rank for rank, _ in rules.truncates)
        follows = place > 0 and now == life
        before = values if follows else {}
        values = {**change.values, **{name: before[name] for name in change.left if name in before}}
        anchor = anchors.get(change.rank) if place == 0 else None
        values = values if anchor is None else dict(anchor.values)
        starts = change.deletes or not (follows and all(before.get(name) == values.get(name) for name in rules.tracked))
        valid_from = change.order if starts else steps[-1].interval.valid_from
        valid_from = valid_from if anchor is None else anchor.valid_from
        if steps and not starts:
            steps[-1] = _continue_step(steps[-1])
        until, end = _end(change, changes[place + 1] if place + 1 < len(changes) else None, rules)
        is_current = until is None and not change.deletes
        interval = Interval(
            change.rank, change.order, values, change.deletes, valid_from, until, is_current, joined=False, n=change.n
        )
        steps.append(Step(interval, change.row, starts, follows, end))
        life, deletes = now, deletes + change.deletes
    return tuple(steps)


def _continue_step(step: Step) -> Step:
    return replace(step, interval=replace(step.interval, joined=True))


def _end(change: _Change, after: _Change | None, rules: HistoryRules) -> tuple[str | None, End | None]:
    """Return the order of what ended the time of a change, and what that was."""
    first = max(((rank, order) for rank, order in rules.truncates if rank < change.rank), default=None)
    if first is not None and (after is None or first[0] > after.rank):
        return first[1], End.TRUNCATE
    return (None, None) if after is None else (after.order, End.CHANGE)
