"""Which deletes full dumps imply."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.silver.audit.dumps import Dumps, IncompleteDump, with_gone
from tidegate.platform.core.silver.audit.key_row import KeyRow

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
    dumps = Dumps.from_found((LAST - at, str(at)) for at in (4, 1, 5))
    assert [each.order for each in with_gone(rows, dumps, mark=9) if each.is_implied] == gone


def test_the_oldest_newer_dump_follows() -> None:
    dumps = Dumps.from_found([(7, "b"), (3, "c"), (9, "a")])
    assert dumps.newest == 3
    found = [dumps.find_oldest_after(rank) for rank in (3, 4, 7, 8, 9, 99)]
    assert found == [None, (3, "c"), (3, "c"), (7, "b"), (7, "b"), (9, "a")]
    assert Dumps().newest is None
    assert Dumps().find_oldest_after(1) is None


@pytest.mark.parametrize(
    ("files", "rows", "what"),
    [(1, 0, "1 file"), (2, 0, "2 files"), (1, 1, "1 row of 1 file"), (2, 9, "9 rows of 2 files")],
)
def test_the_dump_is_named_with_what_is_in_quarantine(files: int, rows: int, what: str) -> None:
    text = IncompleteDump('{"o1":"2026-11-26"}', 7, files, rows).sentence("items", is_discreet=False)
    assert text.startswith(f"the dump 2026-11-26 deletes nothing in silver.items, as {what} went into quarantine")


def test_the_dump_names_some_of_its_files() -> None:
    dump = IncompleteDump("{}", 0).with_files(3, 1, 2, ["a"]).with_files(2, 9, 0, ["b", "c", "d"])
    assert (dump.n, dump.files, dump.rows, dump.names) == (3, 10, 2, ("a", "b", "c"))
    assert "as 2 rows of 10 files (a, b, c, and 7 more) went" in dump.sentence("items", is_discreet=True)


def test_the_order_of_a_table_with_personal_columns_is_left_out() -> None:
    text = IncompleteDump('{"o1":"CANARY"}', 7, 1, 1).sentence("items", is_discreet=True)
    assert text.startswith("a dump deletes nothing in silver.items, as 1 row of 1 file went into quarantine")
    assert "CANARY" not in text
