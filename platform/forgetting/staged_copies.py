"""Copies of whole objects that runs made for Spark. No table names them, so no search of a table finds their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.lake import Lake
from tidegate.platform.maintenance.tables import SHORTEST


def erase_staged_copies(lake: Lake, table_key: str, before: float | None = None) -> int:
    """Delete the copies that runs of a table made, whatever rows they have. Returns their number.

    A run that reads such a copy fails, and its files wait for the next run.

    Args:
        lake: the lake.
        table_key: key of the table.
        before: only copies that are older, in epoch seconds by S3's clock. None: all.

    Raises:
        StoreError: S3 did not answer.
    """
    objects, bucket = lake.store.objects, lake.store.bucket
    found = objects.under(bucket, lake.store.key("staging", table_key, ""))
    keys = [item.key for item in found if before is None or item.modified < before]
    if keys:
        objects.delete(bucket, keys)
    return len(keys)


def erase_late_copies(lake: Lake, tables: Iterable[TableSpec], log: Callable[[str], None] = lambda _: None) -> None:
    """Delete the copies that no run reads any more. They may have rows of persons that came after their request.

    Args:
        lake: the lake.
        tables: with the subjects of a request.
        log: called with a line for each table that had such copies.

    Raises:
        StoreError: S3 did not answer.
    """
    before = time.time() - SHORTEST.total_seconds()
    for spec in tables:
        if copies := erase_staged_copies(lake, spec.table_key.encode(), before):
            log(f"{copies} copies of whole objects of {spec.name} left staging/")
