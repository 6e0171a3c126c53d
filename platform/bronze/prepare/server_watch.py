"""Who learns that the Spark server was lost while it read files of a table, and where that is noted."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.lake_root.losses import Losses
from tidegate.platform.lake.spark.delta import Delta


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


def server_watch(table: Table) -> ServerWatch:
    """Return the watch over the reads of a table."""
    lake = table.lake
    return ServerWatch(table.table_key, table.delta, table.inbox, lake.store.losses, lake.config)
