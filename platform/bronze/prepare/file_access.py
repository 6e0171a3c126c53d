"""How the files of a loaded table are reached: where they are, where copies of them go, and by which server."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.bronze.prepare.scratch_object import Scratch
from tidegate.platform.bronze.prepare.server_watch import ServerWatch, server_watch
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.lake import Table


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
    return FileAccess(table.source, Scratch(table.lake.store, table.table_key), server_watch(table))
