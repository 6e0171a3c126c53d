"""What a person reads about a full dump of which rows are in quarantine."""

from __future__ import annotations

import pytest

from tidegate.platform.core.silver.fates.incomplete_dump import IncompleteDump


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
