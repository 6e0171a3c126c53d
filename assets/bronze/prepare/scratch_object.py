"""Places under the lake root for copies that Spark reads instead of an object."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ulid import ULID

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.lake import Table


@dataclass(frozen=True)
class ScratchObject:
    """A place under the lake root for a copy that Spark reads."""

    bucket: str
    key: str

    @property
    def path(self) -> str:
        """The `s3a://` path of the copy."""
        return S3Address(self.bucket, quote(self.key)).s3a


def scratch_object(table: Table, ending: str) -> ScratchObject:
    """Return a new place for a copy. A copy that a run leaves there belongs to no table."""
    return ScratchObject(table.lake.store.bucket, table.lake.store.key("staging", table.table_key, f"{ULID()}{ending}"))
