"""How many files of each bucket and prefix the runs of tables have read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.costs.recorded_ledger import RecordedLedger, query_in_parts, read_condition
from tidegate.platform.lake.inventory.sums import first_folders


def file_reads(
    ledgers: Mapping[str, RecordedLedger], since: datetime, depth: int
) -> tuple[Counter[tuple[str, str]], dict[str, PySparkException]]:
    """Return the number of files that were read, by bucket and prefix, and the errors of ledgers that cannot be read.

    Args:
        ledgers: by the key of their table.
        since: the time from which on batches count.
        depth: number of folders of a prefix.
    """
    found: Counter[tuple[str, str]] = Counter()
    failed: dict[str, PySparkException] = {}

    def counted(key: str) -> DataFrame:
        rows = ledgers[key].rows(since).where(read_condition())
        return rows.groupBy(first_folders(depth).alias("prefix")).agg(F.count(F.lit(1)).alias("reads"))

    for part in query_in_parts(ledgers, counted):
        failed |= part.failed
        for row in part.rows.to_pylist():
            found[TableKey.decode(row["table_key"]).bucket, row["prefix"]] += row["reads"]
    return found, failed
