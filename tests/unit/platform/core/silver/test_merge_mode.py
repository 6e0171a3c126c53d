"""Merge modes: which mode a merge takes, and what each mode does to each kind of row."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest

from tidegate.platform.core.silver.merge_mode import MergeMode, merge_mode

UPSERT, AFTER_RESET, REREAD, FULL, SINCE = MergeMode
FLAGS = ("is_full", "is_reread", "has_other_rows", "mirrors_removals")
#: The values of `FLAGS` -> mode. A merge after files were read again is always full and never the first merge of its
#: bronze table. The other rows with `is_reread` are here so that the table is complete.
CHOSEN = {
    (False, False, False, False): UPSERT,
    (False, False, False, True): UPSERT,
    (False, False, True, False): AFTER_RESET,
    (False, False, True, True): AFTER_RESET,
    (False, True, False, False): REREAD,
    (False, True, False, True): REREAD,
    (False, True, True, False): REREAD,
    (False, True, True, True): REREAD,
    (True, False, False, False): UPSERT,
    (True, False, False, True): FULL,
    (True, False, True, False): AFTER_RESET,
    (True, False, True, True): FULL,
    (True, True, False, False): REREAD,
    (True, True, False, True): FULL,
    (True, True, True, False): REREAD,
    (True, True, True, True): FULL,
}

Row = tuple[int | None, int]
#: Silver's row of the key, as (order, batch). Batch 0 is from before a reset.
SILVER: dict[str, Row | None] = {
    "own": (5, 3),
    "before reset": (5, 0),
    "no order": (None, 3),
    "high number": (5, 9),
    "absent": None,
}
#: The row of the key that a merge brings.
MERGED: dict[str, Row | None] = {
    "newer": (6, 4),
    "older": (4, 4),
    "later batch": (5, 4),
    "same batch": (5, 3),
    "earlier batch": (5, 2),
    "no order": (None, 4),
    "absent": None,
}
#: For each mode: silver's row -> what becomes of the key with each of `MERGED`, in their order.
#: K: silver has its row. M: it has the merged row. 0: it has its row with batch 0. -: it has no row.
EFFECTS = {
    UPSERT: {
        "own": "M K M M K K K",
        "before reset": "M K M M M K K",
        "no order": "M M M M M M K",
        "high number": "M K K K K K K",
        "absent": "M M M M M M -",
    },
    AFTER_RESET: {
        "own": "M 0 M M M 0 0",
        "before reset": "M 0 M M M 0 0",
        "no order": "M M M M M M 0",
        "high number": "M 0 M M M 0 0",
        "absent": "M M M M M M -",
    },
    REREAD: {
        "own": "M M M M M M -",
        "before reset": "M K M M M K K",
        "no order": "M M M M M M -",
        "high number": "M M M M M M -",
        "absent": "M M M M M M -",
    },
    FULL: {
        "own": "M M M M M M -",
        "before reset": "M M M M M M -",
        "no order": "M M M M M M -",
        "high number": "M M M M M M -",
        "absent": "M M M M M M -",
    },
    SINCE: {
        "own": "M M M M M M K",
        "before reset": "M K M M M K K",
        "no order": "M M M M M M K",
        "high number": "M M M M M M -",
        "absent": "M M M M M M -",
    },
}
#: The first batch of a merge in the mode `SINCE`.
FIRST = 4


def test_the_tables_are_complete() -> None:
    assert list(CHOSEN) == list(product((False, True), repeat=len(FLAGS)))
    assert list(EFFECTS) == list(MergeMode) == list(dict.fromkeys(MergeMode))
    for effects in EFFECTS.values():
        assert list(effects) == list(SILVER)
        assert {len(marks.split()) for marks in effects.values()} == {len(MERGED)}


@pytest.mark.parametrize("flags", CHOSEN)
def test_each_merge_has_one_mode(flags: tuple[bool, ...]) -> None:
    assert merge_mode(**dict(zip(FLAGS, flags, strict=True))) is CHOSEN[flags]


def merge(mode: MergeMode, silver: Row | None, merged: Row | None, truncated: str | None = None) -> Row | None:
    """Run the clauses of a mode in DuckDB. Returns the row of the key afterwards."""
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t (id int, rank int, _changed_batch int)")
        database.execute("CREATE TABLE s (id int, rank int, _changed_batch int)")
        for table, row in (("t", silver), ("s", merged)):
            if row:
                database.execute(f"INSERT INTO {table} VALUES (1, ?, ?)", row)
        clauses = mode.clauses(
            newer=mode.newer_condition(["rank"]),
            update="rank = s.rank, _changed_batch = s._changed_batch",
            insert="(id, rank, _changed_batch) VALUES (s.id, s.rank, s._changed_batch)",
            truncated=truncated,
            since=FIRST,
        )
        # The same conditions in DuckDB's dialect.
        clauses = clauses.replace("<=>", "IS NOT DISTINCT FROM").replace("SET t.", "SET ")
        database.execute(f"MERGE INTO t USING s ON t.id = s.id {clauses}")
        found = database.execute("SELECT rank, _changed_batch FROM t").fetchall()
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("silver", SILVER)
@pytest.mark.parametrize("mode", MergeMode, ids=lambda mode: mode.name)
def test_each_mode_does_to_each_row_what_its_clauses_say(mode: MergeMode, silver: str) -> None:
    before = SILVER[silver]
    for (name, merged), mark in zip(MERGED.items(), EFFECTS[mode][silver].split(), strict=True):
        after = {"K": before, "M": merged, "0": before and (before[0], 0), "-": None}[mark]
        assert merge(mode, before, merged) == after, (mode.name, silver, name)


@pytest.mark.parametrize("mode", MergeMode, ids=lambda mode: mode.name)
def test_a_truncate_deletes_older_rows_in_every_mode(mode: MergeMode) -> None:
    """A key that is in the source has a row of the source, which is newer than the truncate."""
    truncated, after, before = "coalesce(t.rank, 0) < 6", (6, 4), (5, 3)
    assert merge(mode, before, None, truncated) is None
    assert merge(mode, before, after, truncated) == after
    assert merge(mode, None, after, truncated) == after
    assert merge(mode, after, None, truncated) == merge(mode, after, None)


#: Values of a row's order, and of a row that is not newer by its batch: whether the row is newer.
ORDERS = [
    ((5, 1), (4, 9), False),
    ((5, 1), (5, 2), True),
    ((5, 2), (5, 1), False),
    ((5, 2), (6, None), True),
    ((5, None), (5, 1), True),
    ((5, 1), (5, None), False),
    ((None, 3), (None, 4), True),
    ((None, 3), (1, None), True),
    ((1, None), (None, 3), False),
    ((5, 5), (5, 5), False),
    ((None, None), (None, None), False),
]


@pytest.mark.parametrize(("silver", "merged", "newer"), ORDERS)
def test_columns_of_the_order_count_one_after_the_other(
    silver: tuple[int | None, int | None], merged: tuple[int | None, int | None], newer: bool
) -> None:
    condition = UPSERT.newer_condition(["a", "b"]).replace("<=>", "IS NOT DISTINCT FROM")
    row = "SELECT ?::int AS a, ?::int AS b, ?::int AS _changed_batch"
    for batch, expected in ((4, newer), (6, newer or silver == merged)):
        with duckdb.connect() as database:
            found = database.execute(
                f"SELECT coalesce({condition}, false) FROM ({row}) t, ({row}) s", [*silver, 5, *merged, batch]
            ).fetchone()
        assert found == (expected,), (silver, merged, batch)
