"""The inventories that entered a table, as its ledger has them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from pyspark.sql import functions as F

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.inventory.delivery import DROPPED, Delivery, Subject, has_entered
from tidegate.platform.core.storage.history import EnteredInventory, KeptPast
from tidegate.platform.core.times import from_micros
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.maintenance.vacuum import deleted_file_retention, log_retention

#: A version is read if it is kept for so much longer: a query takes time, and the ledger has a batch after its commit.
_MARGIN = timedelta(hours=1)


class InventoriesInHistory(NamedTuple):
    """Inventories whose rows replaced those of their bucket.

    Attributes:
        inventories: in the order of their batches.
        kept: which versions of the table can be read.
        present: Delta version that has the newest inventory of each bucket.
    """

    inventories: list[EnteredInventory]
    kept: KeptPast
    present: int


def inventories_in_history(table: Table, birth: Birth, after: int) -> InventoriesInHistory | None:
    """Return the inventories that entered a table and which of its versions have them, or None if none entered.

    Args:
        table: of inventories.
        birth: of the table.
        after: number of a batch. Only inventories of later batches are returned.

    Raises:
        ValueError: the retention of the table cannot be read.
    """
    clock = table.ledger.clock()
    inventories = entered_inventories(table, clock, after)
    if not inventories:
        return None
    last = table.batches.read(clock.n)
    state = table.delta.table_state(birth.location, last.app_id if last else "")
    # A batch that the ledger does not have yet may have replaced the newest inventories.
    present = state.version if state.txn == clock.n else inventories[-1].version
    now = datetime.now(UTC) + _MARGIN
    kept = KeptPast(now - deleted_file_retention(state.properties), now - log_retention(state.properties))
    return InventoriesInHistory(inventories, kept, present)


def dropped_inventories(table: Table) -> set[tuple[Subject, date]]:
    """Return which inventories of a table a person dropped, with the days.

    Args:
        table: of inventories.
    """
    clock = table.ledger.clock()
    if clock.version < 0:
        return set()
    rows = table.ledger.committed_rows(clock.version).where(F.col("key").contains(f"{DROPPED}/"))
    found = (Delivery.of(row["key"], table.key.prefix) for row in rows.select("key").collect())
    return {(one.subject, one.began_at.date()) for one in found if one and one.is_drop}


def entered_inventories(table: Table, clock: Clock, after: int) -> list[EnteredInventory]:
    """Return the inventories whose rows replaced those of their bucket, in the order of their batches.

    Args:
        table: of inventories.
        clock: of its ledger.
        after: number of a batch. Only inventories of later batches are returned.
    """
    if clock.version < 0:
        return []
    rows = table.ledger.committed_rows(clock.version).where(F.col("n") > after)
    columns = "key", "n", "bronze_version", F.unix_micros("recorded_at").alias("recorded"), "rows", "reason"
    return [
        EnteredInventory(found.subject, found.began_at.date(), n, version, from_micros(recorded), count or 0)
        for key, n, version, recorded, count, reason in rows.orderBy("n", "position").select(*columns).collect()
        if has_entered(reason) and (found := Delivery.of(key, table.key.prefix))
    ]
