"""An object of the company, as its bucket's inventories list it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Replication = Literal["COMPLETED", "PENDING", "FAILED"]


@dataclass(frozen=True)
class StoredObject:
    """A version of an object, or a delete marker.

    Attributes:
        key: its key.
        size: its bytes.
        storage_class: its storage class.
        created: the day on which it was put, counted from 0; negative for objects that are older than the demo.
        deleted: the first day on which it is gone, None if it stays.
        encrypted: whether S3 encrypts it.
        replication: state of its replication.
        version: its version ID. Empty in a bucket without versions.
        is_latest: whether it is the current version of its key.
        is_marker: whether it is a delete marker, which has no bytes.
    """

    key: str
    size: int
    storage_class: str
    created: int
    deleted: int | None
    encrypted: bool = True
    replication: Replication = "COMPLETED"
    version: str = ""
    is_latest: bool = True
    is_marker: bool = False

    def exists(self, day: int) -> bool:
        """Return whether it is in the bucket on a day."""
        return self.created <= day and (self.deleted is None or day < self.deleted)
