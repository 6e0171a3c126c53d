"""Places under the lake root for copies that Spark reads instead of an object."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ulid import ULID

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake_root.store import LakeStore


@dataclass(frozen=True)
class ScratchObject:
    """A place under the lake root for a copy that Spark reads."""

    address: S3Address

    @property
    def path(self) -> str:
        """The `s3a://` path of the copy."""
        return self.address._replace(key=quote(self.address.key)).s3a


@dataclass(frozen=True)
class Scratch:
    """The folder of such copies of one table.

    Attributes:
        store: the lake's own objects.
        table_key: the table, encoded.
    """

    store: LakeStore
    table_key: str

    def place(self, ending: str) -> ScratchObject:
        """Return a new place for a copy. A copy that a run leaves there belongs to no table."""
        key = self.store.key("staging", self.table_key, f"{ULID()}{ending}")
        return ScratchObject(S3Address(self.store.bucket, key))
