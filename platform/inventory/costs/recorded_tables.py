"""The tables of a lake that have a batch, and those that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException

from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.costs.recorded_ledger import RecordedLedger
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.threads import parallel

#: What one table can have that the others do not: a birth record or a log that cannot be read.
TABLE_ERRORS = (ValueError, StoreError, PySparkException)


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
            return unread_because(lake, error)

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


def unread_because(lake: Lake, error: Exception) -> str:
    """Return the first line of an error, if it is one of a table and not of all of them.

    Raises:
        SparkUnreachable: the Spark server does not answer.
        PySparkException: it was restarted.
    """
    if isinstance(error, PySparkException):
        lake.delta.check_session_alive()  # Without it each table would fail, with the same reason.
    return first_line(error)
