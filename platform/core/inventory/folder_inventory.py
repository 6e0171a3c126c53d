"""Which inventory may be used in place of a listing of a table's folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tidegate.platform.core.inventory.late import WEEKLY_LATE
from tidegate.platform.core.inventory.manifest import InventoryError

#: An older inventory knows too little of what may be deleted. A weekly one is younger.
MAX_AGE = WEEKLY_LATE


@dataclass(frozen=True)
class FolderInventory:
    """What one inventory has of the folder of a table, without noncurrent versions and delete markers.

    Attributes:
        configuration: its name.
        created: when S3 began to look at the bucket, in epoch seconds.
        log_files: number of objects in the table's log.
        files: number of all other objects.
        described: number of these with a size and a time of the last modification.
    """

    configuration: str
    created: int
    log_files: int
    files: int
    described: int

    @property
    def is_whole(self) -> bool:
        """Whether the inventory covers the whole folder.

        A configuration can have a prefix. One that has objects of the log and others is not below the folder.
        """
        return self.log_files > 0 and self.files > 0

    @property
    def began(self) -> str:
        """`created` as people read it, to the minute."""
        return f"{datetime.fromtimestamp(self.created, UTC):%Y-%m-%d %H:%M} UTC"


def newest_usable(found: Iterable[FolderInventory], bucket: str, now: float) -> FolderInventory:
    """Return the newest inventory that lists the whole folder.

    Args:
        found: what the newest inventory of each configuration has of the folder.
        bucket: that they are of.
        now: epoch seconds.

    Raises:
        InventoryError: none can be used. The message is the reason, as a part of a sentence.
    """
    whole = [one for one in found if one.is_whole]
    if not whole:
        raise InventoryError(f"no inventory of {bucket} lists the table")
    newest = max(whole, key=lambda one: (one.created, one.configuration))
    age = timedelta(seconds=now - newest.created)
    if age > MAX_AGE:
        raise InventoryError(f"the newest inventory of {bucket} is of {newest.began}, {age.days} days old")
    if newest.described < newest.files:
        raise InventoryError(
            f"the inventory of {bucket} by configuration {newest.configuration} has no Size or LastModifiedDate"
        )
    return newest
