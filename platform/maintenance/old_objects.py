"""Retention of what the lake keeps under its root for people: its own work needs none of it any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidegate.platform.core.config.lake import MaintainSpec
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.maintenance.deletion import delete_objects
from tidegate.platform.maintenance.tables import MaintenanceResult

_DAY = 86_400

#: Days for which a copy is kept that a run made of an object for Spark. No run takes a day, and no batch names it.
STAGING_DAYS = 7
#: Folders of what waits for a redrive, was redriven, or did not fit. The lake works without them, but their content may
#: be nowhere else.
QUARANTINE = ("quarantine/messages", "quarantine/redriven", "quarantine/routes", "quarantine/rows")


def maintain_objects(
    lake: Lake, now: float, *, dry_run: bool, log: Callable[[str], None] = lambda _: None
) -> list[MaintenanceResult]:
    """Delete the objects under the lake root whose retention is over.

    Args:
        now: epoch seconds.
        dry_run: change nothing.
        log: called with each line.

    Returns:
        What was deleted of each folder that has a retention; in a dry run, what would be.

    Raises:
        StoreError: S3 did not answer.
    """
    done = []
    for folder, days in retentions(lake.config.maintenance).items():
        old = _list_older(lake.store, folder, now - days * _DAY)
        freed = delete_objects(lake.store, old, "maintain-objects", dry_run=dry_run)
        done.append(MaintenanceResult(f"{folder}/", data=freed))
        log(done[-1].line(dry_run=dry_run))
    return done


def _list_older(store: LakeStore, folder: str, before: float) -> Iterator[Listed]:
    """Yield the objects of a folder that were written before a time in epoch seconds."""
    for item in store.objects.list_under(store.bucket, store.key(*folder.split("/"), "")):
        if item.modified < before:
            yield item
        elif folder == "intake":
            return  # its names are in the order of time


def retentions(spec: MaintainSpec) -> dict[str, int]:
    """Return the days for which objects are kept, by folder below the lake root.

    Every other folder is kept for ever. Batches, births and ledgers are the memory of what was loaded. The inbox, the
    outbox, `after/`, `signals/` and `waiting/` have work that waits. `rows/` has sources. `forgotten/` keeps persons
    out.
    """
    kept = {"intake": spec.intake, "staging": STAGING_DAYS}
    return kept if spec.quarantine is None else {**kept, **dict.fromkeys(QUARANTINE, spec.quarantine)}
