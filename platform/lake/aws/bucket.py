"""A bucket: S3 as one table sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidegate.platform.core.bronze.object_state import Probe
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake.aws.s3 import Listed, ObjectStore


@dataclass(frozen=True)
class Bucket:
    """The objects of one bucket.

    Attributes:
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

    def list_under(self, prefix: str, after: str = "") -> Iterator[Listed]:
        """List the objects under a prefix in key order, from the first key after `after` on."""
        return self.objects.list_under(self.name, prefix, after)

    def version(self, key: str, etag: str) -> S3Object:
        """Return the version of an object that has the etag."""
        return S3Object(S3Address(self.name, key), etag)
