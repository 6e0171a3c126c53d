"""A year of flights as a change feed: after every merge silver, as scd1 and as scd2, is what DuckDB computes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.lakes.seams import dying_in
from tidegate.platform.core.config.silver_columns import own_columns, silver_query
from tidegate.platform.demo.source import read_source
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.testing import TestLake

#: Every how many flights, and ticks, of a run and of one with `--soak`, which takes all flights.
_SIZE, _SOAK = (80, 3), (1, 12)
_SILVER = {"keys": ["id"], "order": "lsn", "apply_as_deletes": "op = 'd'", "except_columns": ["op"], "every": 10}
_TABLES = {"newest": _SILVER, "history": {**_SILVER, "stored_as": "scd2"}}
#: Changes of a flight: it is entered, corrected up to three times (one correction in five changes nothing), and perhaps
#: deleted and entered again. Six changes of a hundred come again, and one in six comes one or two ticks late.
_FEED = """
CREATE TABLE feed AS
WITH flights AS (SELECT row_number() OVER () AS id, * FROM source QUALIFY id % {every} = 0),
changes AS (
  SELECT id, place, hash(id, place, {seed}) AS dice, hash(id, {seed}) AS fate, arr_delay, dep_delay, tailnum, time_hour
  FROM flights, range(6) steps(place)),
chosen AS (
  SELECT *, CASE WHEN place = 4 THEN 'd' WHEN place IN (0, 5) THEN 'i' ELSE 'u' END AS op FROM changes
  WHERE CASE WHEN place = 0 THEN true WHEN place < 4 THEN dice % 100 < 40
    WHEN place = 4 THEN fate % 100 < 12 ELSE fate % 100 < 4 END),
ordered AS (
  SELECT *, row_number() OVER (ORDER BY time_hour + to_hours(place * 500 + CAST(dice % 400 AS INT)), id, place) AS lsn
  FROM chosen),
timed AS (SELECT *, 1 + (lsn - 1) * {ticks} // (SELECT count(*) FROM ordered) AS due FROM ordered)
SELECT id, lsn, op, tailnum, dep_delay,
  IF(place = 0 OR dice % 5 = 0, arr_delay, arr_delay + CAST(dice % 50 AS INT)) AS arr_delay,
  least({ticks}, due + IF(copy = 1, 1, IF(dice // 7 % 6 = 0, 1 + dice // 50 % 2, 0))) AS tick
FROM timed, range(2) copies(copy) WHERE copy = 0 OR dice // 11 % 100 < 6
"""
_NEWEST = """
SELECT id, lsn, tailnum, dep_delay, arr_delay FROM feed WHERE tick <= {tick}
QUALIFY row_number() OVER (PARTITION BY id ORDER BY lsn DESC) = 1 AND op <> 'd'
"""
_HISTORY = """
WITH changes AS (SELECT DISTINCT id, lsn, op, tailnum, dep_delay, arr_delay FROM feed WHERE tick <= {tick}),
started AS (
  SELECT *, op = 'd' OR lag(op) OVER w IS NULL OR lag(op) OVER w = 'd'
    OR lag(row(tailnum, dep_delay, arr_delay)) OVER w IS DISTINCT FROM row(tailnum, dep_delay, arr_delay) AS starts
  FROM changes WINDOW w AS (PARTITION BY id ORDER BY lsn)),
runs AS (SELECT *, sum(CAST(starts AS INT)) OVER (PARTITION BY id ORDER BY lsn) AS run FROM started),
rows_ AS (
  SELECT id, run, max(lsn) AS lsn, first(tailnum) AS tailnum, first(dep_delay) AS dep_delay,
    first(arr_delay) AS arr_delay, first(op) AS op, min(lsn) AS valid_from FROM runs GROUP BY id, run),
timed AS (SELECT *, lead(valid_from) OVER (PARTITION BY id ORDER BY run) AS valid_to FROM rows_)
SELECT id, lsn, tailnum, dep_delay, arr_delay, valid_from, valid_to, valid_to IS NULL AS is_current
FROM timed WHERE op <> 'd'
"""


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as duck:
        duck.register("source", read_source().flights)
        yield duck


def test_flights_are_what_duckdb_computes_after_every_merge_of_late_and_repeated_changes(
    tidegate_lake: Callable[..., TestLake], kit: Any, duck: duckdb.DuckDBPyConnection, soak: bool
) -> None:
    """Each merge but the first dies before, in the middle or after its commit, and is repeated.

    Both silver tables are of one bronze table, and their merges die at different seams.
    """
    every, ticks = _SOAK if soak else _SIZE
    duck.execute(_FEED.format(every=every, ticks=ticks, seed=7))
    lake = tidegate_lake([{"name": "newest", "prefix": "newest/", "mode": "register", "silver": _TABLES["newest"]}])
    tables = [lake.spec("newest"), kit.second(lake, "newest", "history", _TABLES["history"])]
    for tick in range(1, ticks + 1):
        rows = duck.sql(f"SELECT * EXCLUDE (tick) FROM feed WHERE tick = {tick} ORDER BY hash(id, lsn)")
        buffer = io.BytesIO()
        pq.write_table(rows.to_arrow_table(), buffer)
        lake.put(f"newest/{tick}.parquet", buffer.getvalue())
        kit.run(lake, "newest")
        for place, (table, expected) in enumerate(zip(tables, (_NEWEST, _HISTORY), strict=True)):
            seam = silver_merge.SEAMS[(tick + 2 * place) % len(silver_merge.SEAMS)]
            with dying_in(silver_merge, seam) if tick > 1 else nullcontext():
                silver_merge.merge_table(lake.lake, table)
            silver_merge.merge_table(lake.lake, table)
            relation = f"delta.`{lake.lake.store.uri('silver', table.name)}`"
            query = silver_query(relation, own_columns(table.silver))
            found = lake.lake.delta.session.sql(query).toArrow()
            assert _differences(duck, expected.format(tick=tick), found) == [], (table.name, tick)
    assert duck.sql(f"SELECT count(*) FROM feed WHERE op = 'd' AND tick < {ticks}").fetchall()[0][0] > 100


def _differences(duck: duckdb.DuckDBPyConnection, expected: str, found: pa.Table) -> list[tuple[Any, ...]]:
    """Return some rows that only one of two tables has."""
    duck.register("found", found)
    columns = ", ".join(duck.sql(expected).columns)
    missing = f"SELECT 'missing', * FROM (SELECT {columns} FROM ({expected}) EXCEPT ALL SELECT {columns} FROM found)"
    surplus = f"SELECT 'surplus', * FROM (SELECT {columns} FROM found EXCEPT ALL SELECT {columns} FROM ({expected}))"
    return duck.sql(f"({missing} LIMIT 5) UNION ALL ({surplus} LIMIT 5)").fetchall()
