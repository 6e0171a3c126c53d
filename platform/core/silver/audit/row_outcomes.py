"""What became of each row of bronze with one key: which of them silver has, and why it has none of the others.

Values that the newest row leaves are those of older rows. Merges compute them in SQL. Here they are computed row by
row, so that a comparison of both shows a fault of either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.platform.core.row_json import flatten_deep_json, row_json
from tidegate.platform.core.silver.audit.intervals import json_values
from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow

#: Characters of a value that are shown.
_MAX_SHOWN = 40

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class SilverRow:
    """The row of silver.

    Attributes:
        values: as JSON.
        deleted: it is a tombstone.
        of_dumps: its table is merged from full dumps, so a tombstone has the values of no row.
        rows: number of rows that silver has of the key. More than 1 are a fault.
    """

    values: str
    deleted: bool
    of_dumps: bool = False
    rows: int = 1

    def is_like(self, row: KeyRow) -> bool:
        """Return whether it may be a row of bronze."""
        if self.deleted != row.deletes:
            return False
        if self.values == row.values or (self.deleted and self.of_dumps):
            return True
        if not (row.left or row.is_filled):
            return False
        # What an older row gave is not known here.
        return _values_without(self.values, row.left) == _values_without(row.values, row.left)

    def differences(self, row: KeyRow) -> list[str]:
        """Return the columns in which it differs from a row of bronze, each with both values."""
        own, wanted = (_values_without(values, row.left) for values in (self.values, row.values))
        has, should = (row_json(values, parse_float=str) for values in (self.values, row.values))
        return [
            f"{name} is {_format_value(has.get(name))} and not {_format_value(should.get(name))}"
            for name in {**wanted, **own}
            if own.get(name) != wanted.get(name)
        ]


@dataclass(frozen=True)
class RowFates:
    """The fates of the rows of a key.

    Attributes:
        fates: of each row, in the order of the rows.
        winner: position of the row that decides the key. None without one.
        is_right: whether silver has what bronze gives.
        wanted: the row that decides the key, with the values that other rows give it. None without one.
    """

    fates: tuple[Fate, ...]
    winner: int | None
    is_right: bool
    wanted: KeyRow | None = field(default=None, compare=False)


def row_fates(
    rows: Sequence[KeyRow], silver: SilverRow | None, mark: int, *, gives_all: Callable[[], bool] = lambda: True
) -> RowFates:
    """Return what became of the rows of one key.

    Args:
        rows: all rows of bronze with the key.
        silver: silver's row of the key. None if it has none.
        mark: last batch that silver holds.
        gives_all: returns whether no row left bronze, so that these rows give all values.
    """
    fates = [row.own_fate(mark) for row in rows]
    changes = sorted(
        (place for place, fate in enumerate(fates) if fate is None),
        key=lambda place: (-rows[place].rank, rows[place].arrival),
        reverse=True,
    )
    if not changes:
        return RowFates(tuple(fate or Fate.OLDER for fate in fates), None, silver is None)
    best, whole = rows[changes[0]], list(rows)
    if any(rows[place].left for place in changes) and gives_all():
        for number, place in enumerate(changes):
            whole[place] = with_given_values(rows[place], _changes_before(rows, changes, number))
    found = _position_in_silver(whole, changes, silver)
    winner = changes[0] if found is None else found
    for place in changes:
        fates[place] = _fate_of_loser(rows[place], rows[winner])
    fates[winner] = Fate.WON if not rows[winner].deletes else Fate.EXPIRED if silver is None else Fate.TOMBSTONE
    for place in changes:
        if rows[place].is_implied:
            fates[place] = Fate.GONE
    is_right = best.deletes if silver is None else found is not None and silver.rows == 1
    return RowFates(tuple(fate or Fate.OLDER for fate in fates), winner, is_right, whole[winner])


def _changes_before(rows: Sequence[KeyRow], newest_first: Sequence[int], number: int) -> Iterator[KeyRow]:
    """Yield the changes before a change, the newest first: of one of an equal order and batch, also those after it.

    A compaction may exchange rows of one file, so any of them may be the last one.
    """
    own = rows[newest_first[number]]
    for place in (*newest_first[:number], *newest_first[number + 1 :]):
        other = rows[place]
        if other.rank > own.rank or (other.rank == own.rank and (other.n or 0) <= (own.n or 0)):
            yield other


def _position_in_silver(rows: Sequence[KeyRow], newest_first: Sequence[int], silver: SilverRow | None) -> int | None:
    """Return the position of the row that silver has. None if it has none, or another one than it should.

    A compaction may exchange rows of one file, so any row of the newest order and batch may be the last one. A row that
    deletes its key does not count any more after its tombstone was removed: then an older row that comes late wins.
    """
    if silver is None:
        return None
    best = rows[newest_first[0]]
    like = [place for place in newest_first if silver.is_like(rows[place])]
    last = (place for place in like if rows[place].rank == best.rank and rows[place].n in (best.n, None))
    is_forgotten = best.deletes and not best.is_implied and not silver.deleted
    return next(last, like[0] if like and is_forgotten else None)


def _format_value(value: Any) -> str:
    if value is None:
        return "NULL"
    text = value if value and isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _values_without(values: str, columns: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in json_values(values).items() if name not in columns}


def _fate_of_loser(row: KeyRow, winner: KeyRow) -> Fate:
    if row.rank < winner.rank:
        return Fate.EXPIRED
    return Fate.TIE if row.rank == winner.rank else Fate.OLDER


def with_given_values(row: KeyRow, older: Iterable[KeyRow]) -> KeyRow:
    """Return a row with the values that older rows of its key give it. It leaves none any more.

    Args:
        older: the changes of the key before it, the newest first. A delete takes what the rows before it gave.
    """
    if not row.left:
        return row
    values = {name: text for name, text in _members(row.values).items() if name not in row.left}
    left = set(row.left)
    for other in older:
        if other.deletes or not left:
            break
        given = _members(other.values)
        values |= {name: given[name] for name in sorted(left - other.left) if name in given}
        left &= other.left
    return replace(row, values=_json(values), left=frozenset(), is_filled=True)


def _members(text: str) -> dict[str, str]:
    """Return the JSON of each value of an object. Numbers keep their digits."""
    text = flatten_deep_json(text)
    members, place = dict[str, str](), 1
    while text[place] != "}":
        name, end = _DECODER.raw_decode(text, place)
        _, place = _DECODER.raw_decode(text, end + 1)
        members[name] = text[end + 1 : place]
        place += text[place] == ","
    return members


def _json(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items()) + "}"
