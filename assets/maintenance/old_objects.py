"""Retention of what the lake keeps under its root for people: its own work needs none of it any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from tidegate.assets.maintenance.tables import Maintained
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.maintenance.freed import Freed
from tidegate.platform.core.maintenance.retention import retentions
from tidegate.resources.aws.s3 import Listed
from tidegate.resources.lake import Lake

#: Objects that are deleted between two seams.
_AT_ONCE = 1000
_DAY = 86_400


def maintain_objects(
    lake: Lake, now: float, *, dry_run: bool, log: Callable[[str], None] = lambda _: None
) -> list[Maintained]:
    """Delete the objects under the lake root whose retention is over.

    Args:
        lake: the lake.
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
        freed, old = Freed(), _older(lake, folder, now - days * _DAY)
        while some := list(islice(old, _AT_ONCE)):
            if not dry_run:
                lake.store.objects.delete(lake.store.bucket, [item.key for item in some])
                seam("maintain-objects")
            freed += Freed(len(some), sum(item.size for item in some))
        done.append(Maintained(f"{folder}/", data=freed))
        log(done[-1].line(dry_run=dry_run))
    return done


def _older(lake: Lake, folder: str, before: float) -> Iterator[Listed]:
    """Yield the objects of a folder that were written before a time in epoch seconds."""
    for item in lake.store.objects.under(lake.store.bucket, lake.store.key(*folder.split("/"), "")):
        if item.modified < before:
            yield item
        elif folder == "intake":
            return  # its names are in the order of time
