"""Where maintenance looks for the files of a table: in the newest inventory of the lake's bucket, or in a listing."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.lake.inventory.folder import (
    folder_inventories,
    folder_objects,
    newest_usable_inventory,
    vacuum_inventory,
)
from tidegate.platform.lake.lake import Lake
from tidegate.platform.maintenance.vacuum import own_folder

#: Live files from which on the inventory is read. A listing of fewer takes some seconds, and reads nothing else.
MIN_FILES = 10_000


@dataclass(frozen=True)
class FileSource:
    """Where the files of a table's folder are looked for.

    Attributes:
        inventory: the files as VACUUM reads an inventory. None: the folder is listed.
        note: the source in words. Empty if lake.yaml names no inventory, or the table is small.
    """

    inventory: DataFrame | None = None
    note: str = ""


def file_source(lake: Lake, location: str, files: int, now: float) -> FileSource:
    """Return where the files of one of the lake's own tables are looked for.

    Args:
        location: `s3a://` URI of the table.
        files: number of its live files.
        now: epoch seconds.

    Raises:
        PySparkException: Spark cannot read the table of inventories.
    """
    name = lake.config.maintenance.inventory
    if name is None or files < MIN_FILES:
        return FileSource()
    try:
        return _from_inventory(lake, name, location, now)
    except InventoryError as error:
        return FileSource(note=f"from a listing, because {error}")


def _from_inventory(lake: Lake, name: str, location: str, now: float) -> FileSource:
    """Raise InventoryError if no inventory can be used."""
    key = next(spec.table_key for spec in lake.config.tables if spec.name == name)
    birth = lake.table(key.encode()).birth
    state = lake.delta.table_state(birth.location) if birth else None
    if birth is None or state is None or not state.exists:
        raise InventoryError(f"{name} has no inventories yet")
    bucket, folder = own_folder(lake.store, location)
    # Each query reads this version: a newer inventory may come between them.
    objects = folder_objects(lake.delta.session, birth.location, state.version, bucket, folder)
    newest = newest_usable_inventory(folder_inventories(objects), bucket, now)
    return FileSource(vacuum_inventory(objects, newest), f"from the inventory of {newest.began}")
