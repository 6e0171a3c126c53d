"""How many files runs have read of each group of a report on storage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidegate.platform.inventory.costs.recorded_tables import recorded_tables, unread_because
from tidegate.platform.lake.costs.file_reads import file_reads
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
        """Whether ledgers have these dimensions of a report."""
        return set(dimensions) <= set(_KNOWN)

    def by(self, dimensions: Sequence[str]) -> Counter[tuple[str, ...]] | None:
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
        lake: the lake.
        now: the time.
        depth: number of folders of a prefix.
    """
    recorded = recorded_tables(lake)
    unread = dict(recorded.unread)
    if not unread:
        files, failed = file_reads(recorded.ledgers, now - READS_PERIOD, depth)
        unread = {key: unread_because(lake, error) for key, error in failed.items()}
        if not unread:
            return Reads(files)
    key, reason = next(iter(unread.items()))
    return Reads(unknown=f"the reads of {READS_PERIOD.days} days are not known, because {key} cannot be read: {reason}")
