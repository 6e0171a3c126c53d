"""Which deletes full dumps imply."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.silver.fates.dumps import Dumps, with_gone
from tidegate.platform.core.silver.fates.key_row import KeyRow

LAST = 100


def row(at: int, **more: Any) -> KeyRow:
    return KeyRow(LAST - at, 1, ("", "", 0, 0), "{}", order=str(at), **more)


@pytest.mark.parametrize(
    ("rows", "gone"),
    [
        ([row(1)], ["4"]),
        ([row(1), row(2), row(3)], ["4"]),
        ([row(2)], ["4"]),
        ([row(1), row(4)], ["5"]),
        ([row(1), row(5)], ["4"]),
        ([row(1), row(3, deletes=True)], []),
        ([row(5)], []),
        ([row(6)], []),
    ],
)
def test_a_dump_with_rows_in_quarantine_implies_no_deletes(rows: list[KeyRow], gone: list[str]) -> None:
    """Dumps 2, 3 and 6 have rows in quarantine. Dump 4 follows dump 1."""
    dumps = Dumps.of((LAST - at, str(at)) for at in (4, 1, 5))
    assert [each.order for each in with_gone(rows, dumps, mark=9) if each.is_implied] == gone


def test_the_oldest_newer_dump_follows() -> None:
    dumps = Dumps.of([(7, "b"), (3, "c"), (9, "a")])
    assert dumps.newest == 3
    found = [dumps.after(rank) for rank in (3, 4, 7, 8, 9, 99)]
    assert found == [None, (3, "c"), (3, "c"), (7, "b"), (7, "b"), (9, "a")]
    assert Dumps().newest is None
    assert Dumps().after(1) is None
