"""The settings of a table of inventories: which settings of other tables have no meaning for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Fields of tables that have no meaning with `mode: inventory`, each with the reason.
_NOT_OF_INVENTORIES: Mapping[str, str] = {
    "row_queue": "brings rows, and inventories are files",
    "format": "is in the manifest of each inventory",
    "policy": "says what new columns do, and a new field of S3 Inventory always becomes a column",
    "columns": "gives columns their types, and AWS documents those of an inventory",
    "partition_columns": "gives folders their types, and the table has the partitions bucket and configuration",
    "widen": "makes columns wider, and AWS documents the types of an inventory",
    "csv": "says how CSV files are written, and AWS documents that",
    "inventory": "is compared with the files of the table, and S3 lists its own deliveries in no inventory",
    "completion": "names the signals of datasets, and those of inventories are known: manifest.checksum",
    "after_load": "removes single files, and an inventory has several: let a lifecycle rule of the bucket expire them",
    "silver": "merges rows by key, and the rows of a bucket are replaced as a whole",
    "personal": "is about persons, and an inventory lists objects",
}
#: Fields that only such a table has.
_OF_INVENTORIES = ("inventories", "storage_reports")


def inventory_problem(mode: str | None, given: Mapping[str, Any]) -> str | None:
    """Return why a table of inventories cannot have its settings. None if it can, or if it is another table.

    Args:
        mode: of the table.
        given: the fields that `lake.yaml` gives the table, with their values.
    """
    if mode != "inventory":
        found = next((name for name in _OF_INVENTORIES if given.get(name)), None)
        return f"`{found}` needs `mode: inventory`; remove one of them" if found else None
    if "//" in str(given.get("prefix", "")).partition("://")[2]:
        return "`prefix` has an empty folder (`//`), and S3 writes inventories into none: remove a `/`"
    for name, why in _NOT_OF_INVENTORIES.items():
        if given.get(name) not in (None, "keep"):
            return f"`{'schema' if name == 'policy' else name}` {why}; remove it from the table with `mode: inventory`"
    return None
