"""The record of what left each table has what every call took out, also one that died."""

from __future__ import annotations

import pytest

from tidegate.platform.core.forgetting.gone import GoneRows, gone

FOUND = [{"table": "orders", "bronze": 5, "silver": 2, "kept": {"rows": 1, "quarantine/rows": 3}, "sources": 1}]
ALL = GoneRows("orders", 5, 2, 4)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ([ALL], [ALL]),
        # An earlier call died after it had taken out the rows of bronze, or everything.
        ([GoneRows("orders", 0, 2, 4)], [ALL]),
        ([GoneRows("orders", 0, 0, 0)], [ALL]),
        # A run that had prepared its batch before the request brought two more rows.
        ([GoneRows("orders", 7, 2, 4)], [GoneRows("orders", 7, 2, 4)]),
        ([ALL, GoneRows("later", 1, 0, 0)], [ALL, GoneRows("later", 1, 0, 0)]),
        ([], [ALL]),
    ],
)
def test_what_a_call_that_died_took_out_is_counted(now: list[GoneRows], expected: list[GoneRows]) -> None:
    assert gone(FOUND, None, now) == expected


def test_what_comes_after_a_search_that_found_nothing_is_added() -> None:
    earlier = [{"table": "orders", "bronze": 5, "silver": 2, "kept": 4}]
    assert gone(FOUND, earlier, [GoneRows("orders", 1, 1, 0)]) == [GoneRows("orders", 6, 3, 4)]
    assert gone(FOUND, earlier, [GoneRows("orders", 0, 0, 0)]) == [ALL]
    # Rows of others that lost a value are counted by the call that took it from them, and nowhere before.
    assert gone(FOUND, None, [GoneRows("orders", 0, 0, 0, 3)]) == [GoneRows("orders", 5, 2, 4, 3)]
    noted = [{**earlier[0], "emptied": 3}]
    assert gone(FOUND, noted, [GoneRows("orders", 0, 0, 0, 2)]) == [GoneRows("orders", 5, 2, 4, 5)]
