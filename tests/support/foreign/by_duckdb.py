"""Files as DuckDB's COPY writes them."""

from __future__ import annotations

import json
from collections.abc import Callable

import duckdb

from tests.support.foreign.by_arrow import good_parquet
from tests.support.foreign.case import COPY, EITHER, SAME, Case, File, Made, Workshop, both_modes, refused


def copied(select: str, ending: str, options: str = "") -> Callable[[Workshop], Made]:
    """Return a maker of the file that COPY writes of a query. `{id}` in the query is the first id."""

    def make(shop: Workshop) -> Made:
        path = shop.folder / f"file.{ending}"
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.sql(f"COPY ({select.format(id=f'{shop.first}::bigint')}) TO '{path}' {options}")
            if ending == "csv":
                return Made(path.read_bytes(), [])
            if ending == "json":
                text = path.read_text()
                array = text.lstrip().startswith("[")
                rows = json.loads(text) if array else [json.loads(line) for line in text.splitlines()]
                return Made(path.read_bytes(), rows)
            found = db.sql(f"SELECT * FROM '{path}'")
            return Made(path.read_bytes(), [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()])

    return make


_PLAIN = """SELECT {id} AS id, 'x' AS text, 1::tinyint AS tiny, 2::smallint AS small, 3::integer AS number,
    1.5::float AS single, 1.5::double AS real, -1.255::decimal(18, 3) AS amount, true AS yes, date '0044-03-15' AS ides,
    timestamp '2026-01-02 03:04:05.000006' AS naive, timestamptz '2026-01-02 03:04:05+02' AS zoned,
    '\\x00\\xFF'::blob AS raw, 'a'::enum('a', 'b') AS kind, '101'::bit AS bits, NULL AS untyped"""
_NESTED = """SELECT {id} AS id, [1, NULL] AS list, [1, 2]::integer[2] AS pair, map {{'k': 1}} AS map,
    {{'a': 1, 'b': [{{'c': 'x'}}]}} AS struct, '{{"a": 1}}'::json AS doc"""

CASES = both_modes(
    Case(
        "duckdb",
        (
            File("plain.parquet", copied(_PLAIN, "parquet"), SAME, types={"zoned": "timestamp"}, probe="amount < -1"),
            File("nested.parquet", copied(_NESTED, "parquet"), SAME, types={"doc": "string"}),
            File(
                "hugeint.parquet",
                copied("SELECT {id} AS id, 170141183460469231731687303715884105727 AS huge", "parquet"),
                SAME,
                types={"huge": "double"},
            ),
            File(
                "unsigned.parquet",
                copied("SELECT {id} AS id, 255::utinyint AS u8, 18446744073709551615::ubigint AS u64", "parquet"),
                COPY,
                types={"u8": "smallint", "u64": "decimal(20,0)"},
            ),
            File(
                "uuid.parquet",
                copied("SELECT {id} AS id, '6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid AS uuid", "parquet"),
                COPY,
                types={"uuid": "string"},
            ),
            File("time.parquet", copied("SELECT {id} AS id, time '01:02:03.5' AS time", "parquet"), COPY),
            File("ns.parquet", copied("SELECT {id} AS id, timestamp_ns '2026-01-02' AS nanos", "parquet"), COPY),
            File("interval.parquet", copied("SELECT {id} AS id, interval 1 month AS span", "parquet"), refused("span")),
            File("v2.parquet", copied(_PLAIN, "parquet", "(PARQUET_VERSION v2)"), EITHER),
            File("zstd.parquet", copied(_PLAIN, "parquet", "(CODEC zstd, ROW_GROUP_SIZE 2048)"), SAME),
            File("lz4.parquet", copied(_PLAIN, "parquet", "(CODEC lz4_raw)"), EITHER),
        ),
        good_parquet,
    )
)
