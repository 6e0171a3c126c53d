"""The files that no version of a table needs any more: when they may be deleted, and their deletion."""

from __future__ import annotations

import re
from datetime import timedelta

from tidegate.platform.core.config.table import TableSpec
from tidegate.resources.lake import Lake
from tidegate.resources.spark.session import command

_PROPERTY = "delta.deletedFileRetentionDuration"
#: Delta's default.
_RETENTION = timedelta(days=7)
_UNITS = {"week": 7 * 86400, "day": 86400, "hour": 3600, "minute": 60, "second": 1}


def retention(lake: Lake, spec: TableSpec) -> timedelta:
    """Return for how long the files of a table, and of its silver table, are kept after they were removed.

    Raises:
        ValueError: a table has a retention that is no number of weeks, days, hours, minutes or seconds.
    """
    found = [lake.delta.table_state(location).properties.get(_PROPERTY) for location in _locations(lake, spec)]
    return max((_duration(text) if text else _RETENTION for text in found), default=timedelta())


def vacuum(lake: Lake, spec: TableSpec) -> None:
    """Delete the files of a loaded table, and of its silver table, that were removed for longer than its retention.

    Also files that no commit names, which a run left that died. All are below the lake root.
    """
    for location in _locations(lake, spec):
        command(lake.delta.session, f"VACUUM delta.`{location}`")


def _locations(lake: Lake, spec: TableSpec) -> list[str]:
    birth = lake.table(spec.table_key.encode()).birth
    bronze = [birth.location] if birth and not birth.registered and not birth.output else []
    # A silver table that lake.yaml no longer has may still be there.
    return [
        location
        for location in (*bronze, lake.store.uri("silver", spec.name))
        if lake.delta.table_state(location).exists
    ]


def _duration(text: str) -> timedelta:
    parts = re.findall(r"(\d+)\s+(week|day|hour|minute|second)s?", text.lower())
    if not parts:
        raise ValueError(
            f"{_PROPERTY} is {text!r}: use weeks, days, hours, minutes or seconds, such as `interval 7 days`"
        )
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in parts))
