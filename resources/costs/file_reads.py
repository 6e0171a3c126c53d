"""How many files of each bucket and prefix the runs of tables have read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import functions as F

from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.costs.recorded_months import was_read
from tidegate.resources.inventory.sums import first_folders
from tidegate.resources.ledger import Ledger


def file_reads(ledgers: Mapping[str, Ledger], since: datetime, depth: int) -> Counter[tuple[str, str]]:
    """Return the number of files that were read, by bucket and prefix.

    Args:
        ledgers: by the key of their table. They must exist.
        since: the time from which on batches count.
        depth: number of folders of a prefix.
    """
    found: Counter[tuple[str, str]] = Counter()
    recorded = F.col("recorded_at") >= F.timestamp_seconds(F.lit(int(since.timestamp())))
    for key, ledger in ledgers.items():
        rows = ledger.rows(ledger.clock().version).where(recorded & was_read())
        counted = rows.groupBy(first_folders(depth).alias("prefix")).agg(F.count(F.lit(1)).alias("reads")).collect()
        for row in counted:
            found[TableKey.decode(key).bucket, row["prefix"]] += row["reads"]
    return found
