"""What became of each row of a key."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import RowFates, SilverRow, row_fates, with_given_values

MARK = 9


def row(rank: int, n: int | None, values: str, line: int = 0, **more: Any) -> KeyRow:
    return KeyRow(rank, n, ("s3://b/f", "", 0, line), values, **more)


def fates(rows: list[KeyRow], silver: SilverRow | None) -> RowFates:
    return row_fates(rows, silver, MARK)


def live(values: str) -> SilverRow:
    return SilverRow(values, deleted=False)


def test_the_newest_row_wins_and_the_others_are_older_or_tie() -> None:
    rows = [row(2, 5, "old"), row(1, 1, "first"), row(1, 3, "last"), row(1, 3, "before it", line=-1)]
    assert fates(rows, live("last")) == RowFates((Fate.OLDER, Fate.TIE, Fate.WON, Fate.TIE), 2, is_right=True)


def test_rows_that_are_not_changes_never_win() -> None:
    rows = [
        row(1, 10, "not merged"),
        row(2, 3, "skipped", skipped=True),
        row(2, 3, "dropped", skipped=True, violated="positive"),
        row(3, 4, "truncates", truncates=True),
        row(4, 5, "before the truncate", is_truncated=True),
        row(5, 2, "has it"),
    ]
    wanted = (Fate.WAITS, Fate.SKIPPED, Fate.EXPECTATION, Fate.TRUNCATES, Fate.TRUNCATED, Fate.WON)
    assert fates(rows, live("has it")).fates == wanted
    assert fates(rows[:5], None) == RowFates(wanted[:5], None, is_right=True)
    assert not fates(rows[:5], live("from somebody")).is_right


@pytest.mark.parametrize(
    ("silver", "fate", "is_right"),
    [
        (SilverRow("d", deleted=True), Fate.TOMBSTONE, True),
        (None, Fate.EXPIRED, True),
        (live("d"), Fate.TOMBSTONE, False),
    ],
)
def test_a_delete_leaves_a_tombstone_for_some_days(silver: SilverRow | None, fate: Fate, is_right: bool) -> None:
    found = fates([row(1, 3, "d", deletes=True), row(2, 1, "a")], silver)
    assert (found.fates, found.is_right) == ((fate, Fate.OLDER), is_right)


def test_after_its_tombstone_expired_a_row_that_comes_late_wins() -> None:
    rows = [row(1, 3, "d", deletes=True), row(2, 4, "a"), row(3, 8, "late")]
    assert fates(rows, live("late")) == RowFates((Fate.EXPIRED, Fate.EXPIRED, Fate.WON), 2, is_right=True)


def test_a_key_that_a_dump_does_not_have_has_no_row_whatever_its_tombstone_is() -> None:
    rows = [row(2, 1, "a"), row(1, None, "{}", deletes=True, is_implied=True)]
    for silver in (None, SilverRow("nulls", deleted=True, of_dumps=True)):
        assert fates(rows, silver) == RowFates((Fate.OLDER, Fate.GONE), 1, is_right=True)
    assert not fates(rows, SilverRow("nulls", deleted=True)).is_right
    assert not fates(rows, live("a")).is_right


@pytest.mark.parametrize(
    ("rows", "silver"),
    [
        ([row(1, 3, "new"), row(2, 1, "old")], live("old")),
        ([row(1, 3, "new"), row(1, 1, "same order")], live("same order")),
        ([row(1, 3, "new")], live("changed")),
        ([row(1, 3, "new")], None),
        ([row(1, 3, "new")], SilverRow("new", deleted=True)),
        ([], live("from nowhere")),
        ([row(1, 3, "twice")], SilverRow("twice", deleted=False, rows=2)),
    ],
)
def test_silver_that_has_another_row_is_wrong(rows: list[KeyRow], silver: Any) -> None:
    assert not fates(rows, silver).is_right


def test_a_value_that_the_row_leaves_as_it_is_is_that_of_an_older_row() -> None:
    """If the older row may have left bronze, it may be any."""
    rows = [row(1, 3, '{"name":"unchanged","city":"Rome"}', left=frozenset({"name"})), row(2, 1, '{"name":"Ann"}')]
    for silver, is_right, may_be in (
        ('{"name":"Ann","city":"Rome"}', True, True),
        ('{"city":"Rome"}', False, True),
        ('{"name":"Ann","city":"Oslo"}', False, False),
    ):
        assert fates(rows, live(silver)).is_right is is_right, silver
        assert row_fates(rows, live(silver), MARK, gives_all=lambda: False).is_right is may_be, silver


def test_rows_of_one_batch_or_of_an_unknown_one_may_have_changed_places() -> None:
    """A compaction writes the rows of a file again, and files that were rewritten do not show their batch."""
    found = fates([row(1, 3, "a", line=2), row(1, 3, "b", line=1)], live("b"))
    assert found == RowFates((Fate.TIE, Fate.WON), 1, is_right=True)
    assert fates([row(1, 3, "a"), row(1, None, "b")], live("b")).is_right


def test_the_columns_in_which_silver_differs_are_named_with_both_values() -> None:
    own = live('{"id": 1, "amount": 1.0, "text": "' + "x" * 99 + '", "kept": 1, "tags": [1]}')
    wanted = row(
        1, 1, '{"id": 1, "amount": 44.28, "text": "", "kept": 2, "more": true, "tags": [1]}', left=frozenset({"kept"})
    )
    assert own.differences(wanted) == [
        "amount is 1.0 and not 44.28",
        "more is NULL and not true",
        f'text is {"x" * 40}… and not ""',
    ]


def leaving_row(rank: int, *, deletes: bool = False, left: str = "", n: int = 1, **values: object) -> KeyRow:
    return KeyRow(rank, n, ("f", "", 0, rank), _json(values), deletes=deletes, left=frozenset(left))


def _json(values: dict[str, object]) -> str:
    return json.dumps(values, separators=(",", ":"))


def test_a_value_is_of_the_newest_row_that_has_it_back_to_a_delete() -> None:
    newest = leaving_row(1, left="abc", x=1)
    older = [
        leaving_row(2, left="bc", a="}{,:", b="no value"),
        leaving_row(3, b=[1.50, {"k": None}], left="c"),
        leaving_row(4, deletes=True),
    ]
    filled = with_given_values(newest, [*older, leaving_row(5, a=1, b=2, c=3)])
    assert json.loads(filled.values) == {"x": 1, "a": "}{,:", "b": [1.5, {"k": None}]}
    assert filled.left == frozenset()


def test_digits_of_a_number_stay() -> None:
    older = KeyRow(2, 1, ("f", "", 0, 0), '{"a":1.500000000000000000001,"e":{}}')
    newest = KeyRow(1, 1, ("f", "", 0, 0), '{"b":"\\u00e9"}', left=frozenset("ae"))
    assert with_given_values(newest, [older]).values == '{"b":"\\u00e9","a":1.500000000000000000001,"e":{}}'


CHANGE = st.builds(lambda deletes, left, a, b: (deletes, left, a, b), st.booleans(), st.sampled_from(["", "a", "ab"]),
                   st.integers(0, 3), st.integers(0, 3))  # fmt: skip


@given(st.lists(CHANGE, min_size=1, max_size=4))
def test_any_order_of_arrival_gives_one_row(changes: list[tuple[bool, str, int, int]]) -> None:
    """The first change is the oldest. Batches are numbered as they come."""
    table: dict[str, object] = {}
    for place, (_, left, a, b) in enumerate(changes):
        before = {} if place and changes[place - 1][0] else table
        table = {name: before.get(name) if name in left else value for name, value in (("a", a), ("b", b))}
    silver = SilverRow(_json({name: value for name, value in table.items() if value is not None}), changes[-1][0])
    for arrivals in permutations(range(len(changes))):
        rows = [
            leaving_row(len(changes) - place, deletes=deletes, left=left, n=1 + arrivals[place], a=a, b=b)
            for place, (deletes, left, a, b) in enumerate(changes)
        ]
        found = row_fates(rows, silver, 99)
        assert found.is_right
        assert found.fates[-1] in (Fate.WON, Fate.TOMBSTONE)
        other = SilverRow(_json({**table, "a": 77}), changes[-1][0])
        assert not row_fates(rows, other, 99).is_right
