"""The objects that the inventories of a day of the past have."""

from __future__ import annotations

from datetime import date

from pyspark.sql import DataFrame

from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.history import inventories_as_of
from tidegate.platform.inventory.entered import inventories_in_history
from tidegate.platform.inventory.stored import with_inventories
from tidegate.platform.lake.inventory.history import rows_of_inventories
from tidegate.platform.lake.lake import Lake


def inventory_as_of(lake: Lake, table_key: str, day: date) -> DataFrame:
    """Return the rows of the inventories of a day: of each bucket the newest that S3 began by its end.

    Args:
        lake: the lake.
        table_key: key of the table of inventories.
        day: in UTC.

    Raises:
        InventoryError: it is no such table, has no inventory of that day, or its files may be deleted.
        ValueError: the retention of the table cannot be read.
    """
    table, birth = with_inventories(lake, table_key)
    entered = inventories_in_history(table, birth, 0)
    if entered is None:
        raise InventoryError(f"{table.spec.name} has no inventories yet")
    reads = inventories_as_of(entered.inventories, day, entered.kept, entered.present)
    return rows_of_inventories(table.delta.session, birth.location, reads)
