"""Losses of the Spark server while it merged or compared a silver table: they are noted, and the table rests.

The server is that of all tables. Without a note, tables whose runs read meanwhile would be charged for the loss alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from pyspark.errors import PySparkException

from tidegate.platform.core.bronze.loss_quota import MAX_LOSSES, silver_reader
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.lake_root.losses import Losses
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.server_errors import SparkUnreachable


@contextmanager
def record_server_loss(config: LakeConfig, delta: Delta, losses: Losses, name: str) -> Iterator[None]:
    """Record it if the Spark server is lost within the block, whose error is raised as it is.

    The server must have answered before the block: one that does not run at all is not lost by a table.

    Args:
        losses: the losses of the Spark server.
        name: of the silver table whose rows are read.
    """
    try:
        yield
    except (SparkUnreachable, PySparkException):
        try:
            delta.check_session_alive()
        except (SparkUnreachable, PySparkException):
            losses.note(silver_reader(name), config)
        raise


def why_silver_rests(config: LakeConfig, losses: Losses, name: str) -> str | None:
    """Return why no run reads a silver table by itself now, as a sentence. None if nothing keeps runs from it."""
    until = losses.rests_until(silver_reader(name), config)
    if until is None or until <= time.time():
        return None
    return (
        f"silver.{name} rests until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC, because the Spark server "
        f"was lost {MAX_LOSSES} times in a day while it merged or compared the table, and other tables need it. Look "
        "at the server's memory and at the size of the values of a key. To merge it before then, materialize it by hand"
    )
