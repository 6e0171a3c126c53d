"""The ledgers of many tables, read by few queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.lake.ledger import Ledger

#: Ledgers of one query. Spark opens each of them when it analyzes the query.
_MAX_LEDGERS = 40


class RecordedLedger(NamedTuple):
    """A ledger as of one version, which exists."""

    ledger: Ledger
    version: int

    def rows(self, since: datetime) -> DataFrame:
        """Return the rows of the batches that were recorded since a time, to the second."""
        rows: DataFrame = self.ledger.rows(self.version)
        return rows.where(F.col("recorded_at") >= F.timestamp_seconds(F.lit(int(since.timestamp()))))


class Part(NamedTuple):
    """The rows of queries of some tables.

    Attributes:
        keys: the tables.
        rows: with the column `table_key`. It has no columns if there are no keys.
        failed: the errors of further tables.
    """

    keys: list[str]
    rows: pa.Table
    failed: dict[str, PySparkException]


def read_condition() -> Column:
    """Return the condition for decisions on files that a run read."""
    read = F.col("status").isin(str(Status.COMMITTED), str(Status.QUARANTINED))
    return (F.col("kind") == "row") & read & F.col("etag").isNotNull()


def query_in_parts(keys: Collection[str], query: Callable[[str], DataFrame]) -> Iterator[Part]:
    """Yield the rows of a query of each table.

    Args:
        keys: of the tables.
        query: makes the query of a table. All have the same columns.
    """
    every = list(keys)
    for start in range(0, len(every), _MAX_LEDGERS):
        yield _part(every[start : start + _MAX_LEDGERS], query)


def _part(keys: list[str], query: Callable[[str], DataFrame]) -> Part:
    """Return the rows of some tables. A damaged ledger is found by halves, and the others are read without it."""
    try:
        return Part(keys, _together({key: query(key) for key in keys}).toArrow(), {})
    except PySparkException as error:
        if len(keys) == 1:
            return Part([], pa.table({}), {keys[0]: error})
    middle = len(keys) // 2
    halves = [_part(keys[:middle], query), _part(keys[middle:], query)]
    found = [half.rows for half in halves if half.keys]
    rows = pa.concat_tables(found, promote_options="default") if found else pa.table({})
    return Part([key for half in halves for key in half.keys], rows, halves[0].failed | halves[1].failed)


def _together(queries: Mapping[str, DataFrame]) -> DataFrame:
    return reduce(
        DataFrame.unionAll, [query.select(F.lit(key).alias("table_key"), "*") for key, query in queries.items()]
    )
