"""How the files of a loaded table are reached: where they are, where copies of them go, and by which server."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ulid import ULID

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.lake_root.losses import Losses
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta


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
        table_key: the table, encoded.
    """

    store: LakeStore
    table_key: str

    def place(self, ending: str) -> ScratchObject:
        """Return a new place for a copy. A copy that a run leaves there belongs to no table."""
        key = self.store.key("staging", self.table_key, f"{ULID()}{ending}")
        return ScratchObject(S3Address(self.store.bucket, key))


@dataclass(frozen=True)
class ServerWatch:
    """What a note of a lost server needs.

    Attributes:
        table_key: the table whose files are read, encoded.
        delta: the server that reads them.
        inbox: takes the notes: they are hints of the files.
        losses: the losses of the last day, of all tables.
        config: says which tables are in lake.yaml.
    """

    table_key: str
    delta: Delta
    inbox: TableInbox
    losses: Losses
    config: LakeConfig


@dataclass(frozen=True)
class FileAccess:
    """What the formats need to read files.

    Attributes:
        source: the bucket that has the files.
        scratch: takes copies that are read instead of them.
        server: reads them, and may be lost meanwhile.
    """

    source: Bucket
    scratch: Scratch
    server: ServerWatch


def file_access(table: Table) -> FileAccess:
    """Return the access to the files of a table."""
    lake, key = table.lake, table.table_key
    watch = ServerWatch(key, table.delta, table.inbox, lake.store.losses, lake.config)
    return FileAccess(table.source, Scratch(lake.store, key), watch)
