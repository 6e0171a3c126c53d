"""The earlier versions of a table's own Delta tables, which have a person's rows until their files are deleted."""

from __future__ import annotations

from datetime import timedelta

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.lake import Lake
from tidegate.platform.maintenance.vacuum import retention, vacuum_all


def longest_retention(lake: Lake, spec: TableSpec) -> timedelta:
    """Return for how long the files of a loaded table, and of its silver table, are kept after they were removed.

    Raises:
        ValueError: a table has a retention that is no number of weeks, days, hours, minutes or seconds.
    """
    return max((retention(lake.delta, location) for location in _locations(lake, spec)), default=timedelta())


def end_old_versions(lake: Lake, spec: TableSpec) -> None:
    """Delete the files of a loaded table, and of its silver table, that were removed for longer than its retention.

    Raises:
        StoreError: S3 did not answer.
        ValueError: as for `longest_retention`.
    """
    for location in _locations(lake, spec):
        vacuum_all(lake, location, retention(lake.delta, location))


def _locations(lake: Lake, spec: TableSpec) -> list[str]:
    birth = lake.table(spec.table_key.encode()).birth
    bronze = [birth.location] if birth and not birth.registered and not birth.output else []
    # A silver table that lake.yaml no longer has may still be there.
    return [
        location
        for location in (*bronze, lake.store.uri("silver", spec.name))
        if lake.delta.table_state(location).exists
    ]
