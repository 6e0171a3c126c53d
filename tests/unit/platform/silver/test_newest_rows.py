"""A merge of the keys since a batch gives what a merge of everything gives, for generated tables in DuckDB."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.silver.merge_mode import MergeMode
from tidegate.platform.silver.newest_rows import rows_of_keys_since

RULES: Any = SimpleNamespace(keys=[SimpleNamespace(path="id")])
#: Key, order and batch.
Row = tuple[int | None, int | None, int]
BATCHES = 5
ID = st.none() | st.integers(0, 4)
BATCH = st.integers(1, BATCHES)
RANK = st.none() | st.integers(0, 3)
#: A row that is wrong, or was never in bronze.
WRONG = -1


def _merge(database: duckdb.DuckDBPyConnection, mode: MergeMode, since: int) -> list[Row]:
    """Merge the newest rows of bronze into `silver` in a mode. Returns the rows of silver."""
    every = "SELECT id, rank, n AS _changed_batch, n AS _tidegate_n FROM bronze"
    rows = f"{every} WHERE NOT forgotten"
    if mode is MergeMode.SINCE:
        rows = rows_of_keys_since(rows, RULES, "silver", since, forgotten=every)
    newest = f"SELECT * FROM ({rows}) QUALIFY row_number() OVER (PARTITION BY id ORDER BY rank DESC NULLS LAST, "
    newest += "_changed_batch DESC) = 1"
    clauses = mode.clauses(
        newer=mode.newer_condition(["rank"]),
        update="t.rank = s.rank, t._changed_batch = s._changed_batch",
        insert="(id, rank, _changed_batch) VALUES (s.id, s.rank, s._changed_batch)",
        since=since,
    )
    statement = f"MERGE INTO silver t USING ({newest}) s ON t.id <=> s.id {clauses}"
    # The same statement in DuckDB's dialect.
    for spark, other in (("<=>", "IS NOT DISTINCT FROM"), ("LEFT SEMI", "SEMI"), (" t.rank =", " rank =")):
        statement = statement.replace(spark, other)
    database.execute(statement.replace(", t._changed_batch =", ", _changed_batch ="))
    return sorted(database.execute("SELECT * FROM silver").fetchall(), key=repr)


@given(
    st.lists(st.tuples(ID, RANK, BATCH, st.booleans()), min_size=1, max_size=12),
    BATCH,
    st.sets(ID),
    st.dictionaries(ID, BATCH),
    st.dictionaries(st.integers(10, 12), BATCH),
)
def test_keys_since_a_batch_become_what_everything_gives_and_other_keys_stay(
    bronze: list[tuple[int | None, int | None, int, bool]],
    since: int,
    gone: set[int | None],
    changed: dict[int | None, int],
    extra: dict[int, int],
) -> None:
    """Of chosen keys, rows of silver are gone or wrong. Rows of keys that bronze lacks leave if they are since then.

    A key is chosen by a row of a forgotten person, too, which silver does not take.
    """
    with duckdb.connect() as database:
        database.execute("CREATE TABLE bronze (id int, rank int, n int, forgotten boolean)")
        database.execute("CREATE TABLE silver (id int, rank int, _changed_batch int)")
        database.executemany("INSERT INTO bronze VALUES (?, ?, ?, ?)", bronze)
        right = _merge(database, MergeMode.FULL, since)
        chosen = {key for key, _, batch, _ in bronze if batch >= since}
        for key in gone & chosen:
            database.execute("DELETE FROM silver WHERE id IS NOT DISTINCT FROM ?::int", [key])
        # A row of silver that claims a batch since then is of a chosen key, too.
        for key in [key for key in changed if key in chosen or changed[key] >= since]:
            wrong = "UPDATE silver SET rank = ?, _changed_batch = ? WHERE id IS NOT DISTINCT FROM ?::int"
            database.execute(wrong, [WRONG, changed[key], key])
        for key, batch in extra.items():
            database.execute("INSERT INTO silver VALUES (?, ?, ?)", [key, WRONG, batch])
        others: list[Row] = [(key, WRONG, batch) for key, batch in extra.items() if batch < since]
        assert _merge(database, MergeMode.SINCE, since) == sorted([*right, *others], key=repr)
