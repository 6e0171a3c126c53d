"""Places under the lake root for copies that Spark reads instead of an object."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ulid import ULID

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake import Table


@dataclass(frozen=True)
class ScratchObject:
    """A place under the lake root for a copy that Spark reads."""

    address: S3Address

    @property
    def path(self) -> str:
        """The `s3a://` path of the copy."""
        return self.address._replace(key=quote(self.address.key)).s3a


def scratch_object(table: Table, ending: str) -> ScratchObject:
    """Return a new place for a copy. A copy that a run leaves there belongs to no table."""
    store = table.lake.store
    return ScratchObject(S3Address(store.bucket, store.key("staging", table.table_key, f"{ULID()}{ending}")))
