"""Keys that a change feed inserts several times."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.silver.expect.inserted_keys import inserts_sql, reinserted_keys

READ = 1 << 15


@pytest.mark.parametrize(
    ("made", "again"),
    [
        ([], 0),
        ([3], 0),
        ([3, 4], 1),
        ([3, 4, -1], 0),
        ([3, READ + 64], 0),
        ([READ + 64, READ + 65], 1),
        ([READ + 64, READ + 129], 0),
        ([READ + 64, READ + 65, 3], 1),
    ],
)
def test_a_key_is_none_if_it_has_several_inserts_and_no_delete(made: list[int], again: int) -> None:
    assert reinserted_keys([(7, each) for each in made], 10) == again
    assert reinserted_keys([(key, each) for key in (7, 8) for each in made], 40_000) == 2 * again * 4


def test_keys_are_not_compared_where_nobody_says_which_rows_insert() -> None:
    key = SimpleNamespace(column=("id",))
    rules: Any = SimpleNamespace(inserts=None, keys=(key,))
    assert inserts_sql(rules, 10, "true") == "array()"
    rules = SimpleNamespace(inserts=SimpleNamespace(), keys=(key, SimpleNamespace(column=())))
    assert inserts_sql(rules, 10, "true") == "array()"
