"""The ledgers of the tables of a lake that have a batch, read by few queries, and those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.ledger import Cause, Status
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.threads import parallel

#: What one table can have that the others do not: a birth record or a log that cannot be read.
TABLE_ERRORS = (ValueError, StoreError, PySparkException)

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


@dataclass(frozen=True)
class RecordedTables:
    """The tables that have a batch, by their keys.

    Attributes:
        ledgers: as of one version.
        unread: why tables cannot be read.
    """

    tables: Mapping[str, Table]
    ledgers: Mapping[str, RecordedLedger]
    unread: Mapping[str, str]


def recorded_tables(lake: Lake) -> RecordedTables:
    """Return the tables that have a batch.

    Raises:
        SparkUnreachable: the Spark server does not answer.
        PySparkException: it was restarted.
    """

    def read(key: str) -> tuple[Table, RecordedLedger | None] | str:
        try:
            table = lake.table(key)
            clock = table.ledger.clock() if table.birth else None
            return table, RecordedLedger(table.ledger, clock.version) if clock and clock.n else None
        except TABLE_ERRORS as error:
            return unread_because(lake.delta, error)

    keys = sorted(lake.store.births.tables())
    tables: dict[str, Table] = {}
    ledgers: dict[str, RecordedLedger] = {}
    unread: dict[str, str] = {}
    for key, found in zip(keys, parallel(read, keys), strict=True):
        if isinstance(found, str):
            unread[key] = found
        elif found[1]:
            tables[key], ledgers[key] = found[0], found[1]
    return RecordedTables(tables, ledgers, unread)


def unread_because(delta: Delta, error: Exception) -> str:
    """Return the first line of an error, if it is one of a table and not of all of them.

    Raises:
        SparkUnreachable: the Spark server does not answer.
        PySparkException: it was restarted.
    """
    if isinstance(error, PySparkException):
        delta.check_session_alive()  # Without it each table would fail, with the same reason.
    return first_line(error)


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
    # An adoption quarantines what it only listed.
    listed = F.col("cause").eqNullSafe(str(Cause.UNLOGGED))
    return (F.col("kind") == "row") & read & F.col("etag").isNotNull() & ~listed


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
        return Part(keys, _union_queries({key: query(key) for key in keys}).toArrow(), {})
    except PySparkException as error:
        if len(keys) == 1:
            return Part([], pa.table({}), {keys[0]: error})
    middle = len(keys) // 2
    halves = [_part(keys[:middle], query), _part(keys[middle:], query)]
    found = [half.rows for half in halves if half.keys]
    rows = pa.concat_tables(found, promote_options="default") if found else pa.table({})
    return Part([key for half in halves for key in half.keys], rows, halves[0].failed | halves[1].failed)


def _union_queries(queries: Mapping[str, DataFrame]) -> DataFrame:
    return reduce(
        DataFrame.unionAll, [query.select(F.lit(key).alias("table_key"), "*") for key, query in queries.items()]
    )
