"""Deletion of objects under the lake root, a portion at a time. A dry run counts what a run would delete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake_root.store import LakeStore

#: Objects that are deleted between two seams.
_AT_ONCE = 1000


def delete_objects(store: LakeStore, found: Iterator[Listed], at: str, *, dry_run: bool) -> FreedObjects:
    """Delete objects of the lake's bucket. Returns what was deleted; in a dry run, what would be.

    Args:
        found: the objects.
        at: name of the seam after each portion.
        dry_run: delete nothing.

    Raises:
        StoreError: S3 did not answer.
    """
    freed = NOTHING
    while some := list(islice(found, _AT_ONCE)):
        if not dry_run:
            store.objects.delete(store.bucket, [item.key for item in some])
            seam(at)
        freed += FreedObjects(len(some), sum(item.size for item in some))
    return freed


@dataclass(frozen=True)
class FreedObjects:
    """Number and bytes of objects."""

    files: int = 0
    size: int = 0

    def __add__(self, other: FreedObjects) -> FreedObjects:
        return FreedObjects(self.files + other.files, self.size + other.size)

    def __str__(self) -> str:
        return f"{self.files} files ({self.size} bytes)"


NOTHING = FreedObjects()
