"""The newest row has, of each column that it leaves, the value of the newest row before it which has one."""

from __future__ import annotations

import json
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.silver.fates.given_values import with_given_values
from tidegate.platform.core.silver.fates.key_row import Fate, KeyRow
from tidegate.platform.core.silver.fates.row_fates import SilverRow, row_fates


def row(rank: int, *, deletes: bool = False, left: str = "", n: int = 1, **values: object) -> KeyRow:
    return KeyRow(rank, n, ("f", "", 0, rank), _json(values), deletes=deletes, left=frozenset(left))


def _json(values: dict[str, object]) -> str:
    return json.dumps(values, separators=(",", ":"))


def test_a_value_is_of_the_newest_row_that_has_it_back_to_a_delete() -> None:
    newest = row(1, left="abc", x=1)
    older = [row(2, left="bc", a="}{,:", b="no value"), row(3, b=[1.50, {"k": None}], left="c"), row(4, deletes=True)]
    filled = with_given_values(newest, [*older, row(5, a=1, b=2, c=3)])
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
            row(len(changes) - place, deletes=deletes, left=left, n=1 + arrivals[place], a=a, b=b)
            for place, (deletes, left, a, b) in enumerate(changes)
        ]
        found = row_fates(rows, silver, 99)
        assert found.is_right
        assert found.fates[-1] in (Fate.WON, Fate.TOMBSTONE)
        other = SilverRow(_json({**table, "a": 77}), changes[-1][0])
        assert not row_fates(rows, other, 99).is_right
