"""Files, rows and bytes of batches, as metadata of materializations of bronze and silver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.times import parse_time

_AGE = "oldest_event_age_seconds"


def volume(batches: Sequence[Batch]) -> dict[str, int | float]:
    """Return `files` (source objects), `rows`, `bytes` (of data files) and the age of the oldest event in seconds.

    The bytes of an output are those of its objects. The age is left out if no file came with an event.

    Args:
        batches: committed batches that are not void.
    """
    sizes = [add.size for batch in batches for add in batch.adds]
    sizes += [written.size for batch in batches for written in batch.objects]
    committed = [row for batch in batches for row in batch.rows if row.status == Status.COMMITTED]
    times = [parse_time(row.event_time) for row in committed if row.event_time]
    rows, size = sum(row.rows or 0 for row in committed), sum(sizes)
    return volume_metadata(len(committed), rows, size, min(times, default=None))


def volume_metadata(files: int, rows: int, size: int, oldest: datetime | None) -> dict[str, int | float]:
    """Return the metadata of `volume` for sums that the caller has.

    Args:
        files: number of source objects.
        rows: number of their rows.
        size: bytes.
        oldest: time of the oldest event, if there is one.
    """
    metadata: dict[str, int | float] = {"files": files, "rows": rows, "bytes": size}
    if oldest:
        metadata[_AGE] = round((datetime.now(UTC) - oldest).total_seconds(), 3)
    return metadata


def sum_volumes(volumes: Sequence[Mapping[str, int | float]]) -> dict[str, int | float]:
    """Return the sum of several volumes. Its age is that of the oldest event of all."""
    ages = [part[_AGE] for part in volumes if _AGE in part]
    sums = {name: sum(part[name] for part in volumes) for name in ("files", "rows", "bytes")}
    return {**sums, _AGE: max(ages)} if ages else sums
