"""A wrong bound in a file's statistics hides its rows from selective queries. Every row must be found."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tidegate.platform.testing import TestLake

UTC = dt.UTC
FILES, ROWS = 2, 3
TYPES: dict[str, pa.DataType] = {
    "tiny": pa.int8(),
    "small": pa.int16(),
    "whole": pa.int32(),
    "large": pa.int64(),
    "day": pa.date32(),
    "micros": pa.timestamp("us", "UTC"),
    "millis": pa.timestamp("ms", "UTC"),
    "local": pa.timestamp("us"),
    "single": pa.float32(),
    "double": pa.float64(),
    "text": pa.string(),
    "money": pa.decimal128(20, 4),
    "flag": pa.bool_(),
    "nothing": pa.string(),
}
TEXTS = [
    "",
    "a",
    "A",
    "z" * 31 + "é",
    "z" * 40 + "1",
    "z" * 40 + "2",
    "\U0010ffff" * 12,
    "ünï",
    "试",
    "\U0001f600x",
    "'q'",
]
FLOATS = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, -1.5, 3.0e38, 5.0e-324]
DAYS = [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1899, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]


def _moment(chance: random.Random) -> dt.datetime:
    start = chance.choice([dt.datetime(1900, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2024, 2, 29)])
    return start + dt.timedelta(microseconds=chance.choice([0, 1, 999, 1000, 1001, 999_999, chance.randrange(10**12)]))


def _value(chance: random.Random, column: str) -> Any:
    match column:
        case "tiny" | "small" | "whole" | "large":
            bits = TYPES[column].bit_width - 1
            return chance.choice([-(2**bits), 2**bits - 1, 0, chance.randrange(-(2**bits), 2**bits)])
        case "day":
            return chance.choice([*DAYS, dt.date(2024, 1, 1) + dt.timedelta(days=chance.randrange(400))])
        case "micros" | "local":
            moment = _moment(chance)
            return moment.replace(tzinfo=UTC) if column == "micros" else moment
        case "millis":
            moment = _moment(chance).replace(tzinfo=UTC)
            return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        case "single":
            return chance.choice([value for value in FLOATS if value != 5.0e-324])
        case "double":
            return chance.choice([*FLOATS, chance.uniform(-1e9, 1e9)])
        case "text":
            return chance.choice([*TEXTS, "".join(chance.choices("abz~é", k=chance.randrange(45)))])
        case "money":
            return Decimal(chance.randrange(-(10**15), 10**15)).scaleb(-4)
        case "flag":
            return chance.random() < 0.5
        case _:
            return None


def _file(chance: random.Random) -> pa.Table:
    columns = {}
    for name, kind in TYPES.items():
        # The first row has each value, so that each column has bounds.
        values = [None if row and chance.random() < 0.15 else _value(chance, name) for row in range(ROWS)]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def _literal(column: str, value: Any) -> str:
    match column:
        case "day":
            return f"DATE'{value.isoformat()}'"
        case "micros" | "millis" | "stamp":
            return f"TIMESTAMP'{value.astimezone(UTC).strftime('%Y-%m-%d %H:%M:%S.%f')}Z'"
        case "local":
            return f"TIMESTAMP_NTZ'{value.strftime('%Y-%m-%d %H:%M:%S.%f')}'"
        case "single" | "double":
            return f"CAST('{value!r}' AS {'FLOAT' if column == 'single' else 'DOUBLE'})"
        case "text":
            return "'" + value.replace("'", "\\'") + "'"
        case "money":
            return f"CAST('{value}' AS DECIMAL(20,4))"
        case _:
            return str(value)


def _spark_equal(left: Any, right: Any) -> bool:
    """Compare as Spark does: NaN equals itself."""
    return bool(left == right or (left != left and right != right))


@dataclass(frozen=True)
class _Predicate:
    """A predicate in SQL, and what it says in Python of the value of one column."""

    column: str
    sql: str
    holds: Callable[[Any], bool]


def _equal(column: str, value: Any) -> _Predicate:
    if value is None:
        return _Predicate(column, f"{column} IS NULL", lambda other: other is None)
    return _Predicate(
        column,
        f"{column} = {_literal(column, value)}",
        lambda other: other is not None and _spark_equal(value, other),
    )


def _ranges(column: str, value: Any, values: list[Any]) -> list[_Predicate]:
    """Return the strictest predicates, other than equality, that hold for a value of a column.

    Args:
        column: the column.
        value: the value, not None.
        values: all values of the column.
    """
    found = [_Predicate(column, f"{column} IS NOT NULL", lambda other: other is not None)]
    if column not in ("single", "double"):
        return found
    limits = [float("-inf"), float("inf"), float("nan")]
    lower = [other for other in values if other is not None and _rank(other) < _rank(value)]
    for limit in {max(lower, key=_rank, default=limits[0]), limits[0]}:
        if _rank(limit) < _rank(value):
            found.append(_Predicate(column, f"{column} > {_literal(column, limit)}", partial(_is_above, limit)))
    for limit in dict.fromkeys((value, *limits)):
        if _rank(limit) >= _rank(value):
            found.append(_Predicate(column, f"{column} <= {_literal(column, limit)}", partial(_is_at_most, limit)))
    return found


def _is_above(limit: float, value: float | None) -> bool:
    return value is not None and _rank(value) > _rank(limit)


def _is_at_most(limit: float, value: float | None) -> bool:
    return value is not None and _rank(value) <= _rank(limit)


def _expectations(rows: list[dict[str, Any]], columns: Iterable[str]) -> list[tuple[str, int]]:
    """Return predicates, each with the number of rows for which it holds: two of each row, that name all its values.

    A file is skipped if the bounds of any column exclude it, so the row is missed if those of one column are wrong.
    Equality and the other comparisons have a predicate each, because Spark replaces a column by what it is equal to.
    """
    values = {column: [row[column] for row in rows] for column in columns}
    found: list[tuple[str, int]] = []
    for row in rows:
        equal = [_equal(column, row[column]) for column in values]
        others = [
            each
            for column, every in values.items()
            if row[column] is not None
            for each in _ranges(column, row[column], every)
        ]
        for predicates in (equal, others):
            count = sum(all(each.holds(other[each.column]) for each in predicates) for other in rows)
            assert count > 0
            found.append((" AND ".join(each.sql for each in predicates), count))
    return found


def _rank(value: float) -> tuple[bool, float]:
    """Return the order of a number in Spark: NaN is the greatest."""
    return (True, 0.0) if value != value else (False, value)


def _assert_found(lake: TestLake, kit: Any, table: str, expected: list[tuple[str, int]]) -> None:
    """Run one query with a branch per predicate. Spark plans each branch, and skips files, separately."""
    _compare(lake.lake.delta.session, kit.location(lake, table), expected)


def _compare(session: SparkSession, location: str, expected: list[tuple[str, int]]) -> None:
    for start in range(0, len(expected), 40):
        part = expected[start : start + 40]
        branches = [
            f"SELECT {i} AS i, count(*) AS n FROM {{t}} WHERE {predicate}" for i, (predicate, _) in enumerate(part)
        ]
        text = " UNION ALL ".join(branches).replace("{t}", f"delta.`{location}`")
        counts = {row["i"]: row["n"] for row in session.sql(text).collect()}
        wrong = [(predicate, n, counts[i]) for i, (predicate, n) in enumerate(part) if counts[i] != n]
        assert not wrong, f"(predicate, rows there are, rows found): {wrong}"


def _by_polars(table: pa.Table, path: Path) -> bytes:
    """Return a file with bounds of every column, which leave out NaN."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(path, statistics="full", row_group_size=ROWS)
    return path.read_bytes()


def _by_duckdb(table: pa.Table, path: Path) -> bytes:
    with duckdb.connect() as database:
        database.register("written", table)
        database.execute(f"COPY written TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


@pytest.mark.seeds(1, 40)
def test_a18_every_row_is_found_by_its_own_equality_predicate(
    tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    lake = tidegate_lake([{"name": "types", "prefix": "types/"}])
    rows: list[dict[str, Any]] = []
    for number in range(FILES):
        table = _file(chance)
        lake.put(f"types/{number}.parquet", kit.parquet(table, row_group_size=chance.choice([1, 2, ROWS])))
        rows += table.to_pylist()
    for number, write in enumerate((_by_polars, _by_duckdb)):
        table = pa.concat_tables([_file(chance), _file(chance)]).slice(0, ROWS + 1)  # two row groups
        lake.put(f"types/of-others-{number}.parquet", write(table, tmp_path / f"{number}.parquet"))
        rows += table.to_pylist()
    (done,) = kit.run(lake, "types")
    assert done.batch.counts() == {"committed": FILES + 2}, [row.reason for row in done.batch.rows]
    assert kit.state(lake, "types").files == FILES + 2

    _assert_found(lake, kit, "types", _expectations(rows, TYPES))

    # The bounds exist. Without them, nothing above could have gone wrong.
    stats = [json.loads(add.stats) for add in done.batch.adds]
    bounded = set.intersection(*(set(stat["maxValues"]) for stat in stats))
    assert {"whole", "large", "micros"} <= bounded
    # Floating point has no upper bound (NaN sorts above all), and decimals have no bounds at all.
    assert not {"single", "double", "money", "nothing"} & set.union(*(set(stat["maxValues"]) for stat in stats))


def test_a18_legacy_timestamps_and_columns_in_another_case_are_found(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    moments = [dt.datetime(2024, 1, 1, 0, 0, 0, micro, UTC) for micro in (0, 1, 999, 1001)]
    first = pa.table({"id": [1, 2, 3, 4], "stamp": pa.array(moments, pa.timestamp("us", "UTC"))})
    # This mark shows that Spark is the writer. Its INT96 has no nanoseconds, so the file is registered as it is.
    first = first.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": "{}"})
    second = pa.table({"ID": [5, 6], "STAMP": pa.array([moments[0], None], pa.timestamp("us", "UTC"))})
    lake = tidegate_lake([{"name": "old", "prefix": "old/"}])
    lake.put("old/a.parquet", kit.parquet(first, use_deprecated_int96_timestamps=True))
    lake.put("old/b.parquet", kit.parquet(second))
    (done,) = kit.run(lake, "old")
    assert done.batch.counts() == {"committed": 2}, [row.reason for row in done.batch.rows]

    rows = [*first.to_pylist(), *({"id": row["ID"], "stamp": row["STAMP"]} for row in second.to_pylist())]
    _assert_found(lake, kit, "old", _expectations(rows, ("id", "stamp")))
    stats = {add.path: json.loads(add.stats) for add in done.batch.adds}
    assert "stamp" not in stats["a.parquet"]["maxValues"]
    (copy,) = stats.keys() - {"a.parquet"}
    assert stats[copy]["maxValues"]["id"] == 6
