"""What some batches brought, as materialization metadata of bronze and silver alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import Status

_AGE = "oldest_event_age_seconds"


def volume(batches: Sequence[Batch]) -> dict[str, int | float]:
    """``files`` (source objects), ``rows``, ``bytes`` (of data files) and, where events told it, the age of the oldest.

    Args:
        batches: batches that landed and are not void.
    """
    adds = [add for batch in batches for add in batch.adds]
    committed = [row for batch in batches for row in batch.rows if row.status == Status.COMMITTED]
    times = [datetime.fromisoformat(row.event_time) for row in committed if row.event_time]
    rows, size = sum(row.rows or 0 for row in committed), sum(add.size for add in adds)
    return as_volume(len(committed), rows, size, min(times, default=None))


def as_volume(files: int, rows: int, size: int, oldest: datetime | None) -> dict[str, int | float]:
    """The same of what was counted elsewhere.

    Args:
        files: source objects.
        rows: of them.
        size: bytes.
        oldest: time of the oldest event.
    """
    found: dict[str, int | float] = {"files": files, "rows": rows, "bytes": size}
    if oldest:
        found[_AGE] = round((datetime.now(UTC) - oldest).total_seconds(), 3)
    return found


def total(volumes: Sequence[Mapping[str, int | float]]) -> dict[str, int | float]:
    """What several of these brought together; the oldest event is the oldest of all."""
    ages = [one[_AGE] for one in volumes if _AGE in one]
    found = {name: sum(one[name] for one in volumes) for name in ("files", "rows", "bytes")}
    return {**found, _AGE: max(ages)} if ages else found
