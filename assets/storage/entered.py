"""The inventories that entered a table, as its ledger has them."""

from __future__ import annotations

from pyspark.sql import functions as F

from tidegate.platform.core.inventory.delivery import Delivery
from tidegate.platform.core.storage.history import EnteredInventory
from tidegate.platform.core.times import from_micros
from tidegate.resources.lake import Table
from tidegate.resources.ledger import Clock


def entered_inventories(table: Table, clock: Clock, after: int) -> list[EnteredInventory]:
    """Return the inventories whose rows replaced those of their bucket, in the order of their batches.

    Args:
        table: of inventories.
        clock: of its ledger.
        after: number of a batch. Only inventories of later batches are returned.
    """
    if clock.version < 0:
        return []
    # An inventory with a reason is older than the one that the table has, and brought no rows.
    rows = table.ledger.committed_rows(clock.version).where((F.col("n") > after) & F.col("reason").isNull())
    columns = "key", "n", "bronze_version", F.unix_micros("recorded_at").alias("recorded"), "rows"
    return [
        EnteredInventory(found.subject, found.began_at.date(), n, version, from_micros(recorded), count or 0)
        for key, n, version, recorded, count in rows.orderBy("n", "position").select(*columns).collect()
        if (found := Delivery.of(key, table.key.prefix))
    ]
