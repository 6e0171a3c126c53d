"""A bucket: S3 as one table sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO

from tidegate.platform.core.bronze.object_state import Probe
from tidegate.resources.aws.s3 import Listed, ObjectStore


@dataclass(frozen=True)
class Bucket:
    """The objects of one bucket.

    Attributes:
        objects: the handle on S3.
        name: the bucket's name.
    """

    objects: ObjectStore
    name: str

    def exists(self) -> bool:
        """Return whether the bucket exists; see `ObjectStore.bucket_exists`."""
        return self.objects.bucket_exists(self.name)

    def head(self, key: str) -> Probe:
        """Return the present state of an object."""
        return self.objects.head(self.name, key)

    def head_many(self, keys: Iterable[str]) -> dict[str, Probe]:
        """Return the present state of objects, by key."""
        return self.objects.head_many(self.name, keys)

    def under(self, prefix: str, after: str = "") -> Iterator[Listed]:
        """List the objects under a prefix in key order, from the first key after `after` on."""
        return self.objects.under(self.name, prefix, after)

    def first_bytes(self, key: str, etag: str, length: int) -> bytes:
        """Return the first bytes of an object that still has the etag; see `ObjectStore.first_bytes`."""
        return self.objects.first_bytes(self.name, key, etag, length)

    def reading(self, key: str, etag: str) -> AbstractContextManager[BinaryIO]:
        """Open an object that still has the etag; see `ObjectStore.reading`."""
        return self.objects.reading(self.name, key, etag)
