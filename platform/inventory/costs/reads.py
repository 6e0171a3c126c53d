"""How many files runs have read of each bucket and prefix, as ledgers have it, for a report on storage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.inventory.costs.recorded_tables import (
    RecordedLedger,
    query_in_parts,
    read_condition,
    recorded_tables,
    unread_because,
)
from tidegate.platform.lake.inventory.sums import first_folders
from tidegate.platform.lake.lake import Lake

#: Time before a report on storage whose reads it has.
READS_PERIOD = timedelta(days=30)
_KNOWN = "bucket", "prefix"


@dataclass(frozen=True)
class Reads:
    """How many files runs have read.

    Attributes:
        files: by bucket and prefix.
        unknown: why the numbers are not known. Empty: they are.
    """

    files: Counter[tuple[str, str]] = field(default_factory=Counter)
    unknown: str = ""

    @staticmethod
    def knows(dimensions: Sequence[str]) -> bool:
        """Return whether ledgers have these dimensions of a report."""
        return set(dimensions) <= set(_KNOWN)

    def reads_by(self, dimensions: Sequence[str]) -> Counter[tuple[str, ...]] | None:
        """Return the numbers by dimensions of a report. None if they are not known, or ledgers lack a dimension."""
        if self.unknown or not self.knows(dimensions):
            return None
        found: Counter[tuple[str, ...]] = Counter()
        for group, reads in self.files.items():
            found[tuple(group[_KNOWN.index(name)] for name in dimensions)] += reads
        return found


def reads_of(lake: Lake, now: datetime, depth: int) -> Reads:
    """Return how many files runs read in the last thirty days.

    The numbers of all tables are left out if one ledger cannot be read: they would be too small.

    Args:
        depth: number of folders of a prefix.
    """
    recorded = recorded_tables(lake)
    unread = dict(recorded.unread)
    if not unread:
        files, failed = file_reads(recorded.ledgers, now - READS_PERIOD, depth)
        unread = {key: unread_because(lake.delta, error) for key, error in failed.items()}
        if not unread:
            return Reads(files)
    key, reason = next(iter(unread.items()))
    return Reads(unknown=f"the reads of {READS_PERIOD.days} days are not known, because {key} cannot be read: {reason}")


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

    def count_reads(key: str) -> DataFrame:
        rows = ledgers[key].rows(since).where(read_condition())
        return rows.groupBy(first_folders(depth).alias("prefix")).agg(F.count(F.lit(1)).alias("reads"))

    for part in query_in_parts(ledgers, count_reads):
        failed |= part.failed
        for row in part.rows.to_pylist():
            found[TableKey.decode(row["table_key"]).bucket, row["prefix"]] += row["reads"]
    return found, failed
