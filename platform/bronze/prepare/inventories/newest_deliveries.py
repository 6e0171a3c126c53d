"""The newest deliveries that entered a table of inventories, by its ledger, and the buckets that are late."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.delivery import Delivery, Subject, group_by_subject
from tidegate.platform.core.inventory.late_buckets import LateInventory, late_inventories
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.conditions import any_condition

#: Folders of one query.
_LISTED_FOLDERS = 100


def newest_deliveries(table: TableKey, ledger: Ledger, count: int = 1) -> dict[Subject, list[Delivery]]:
    """Return the newest deliveries of each subject, the newest first. What was dropped has a drop as its newest.

    Args:
        ledger: its ledger.
        count: number of deliveries of each subject.
    """
    keys = last_keys_of_folders(ledger, ledger.clock().version, count)
    return group_by_subject(found for key in keys if (found := Delivery.from_key(key, table.prefix)))


def newest_keys_below(ledger: Ledger, version: int, folders: Collection[str]) -> dict[str, str]:
    """Return a key of the last folder, in order, from which objects entered bronze, below each folder.

    Args:
        ledger: of a table.
        version: Delta version of the ledger.
        folders: keys that end in "/". The ledger is clustered by key, so other folders cost nothing.
    """
    if version < 0 or not folders:
        return {}
    rows = ledger.committed_rows(version)
    newest: dict[str, str] = {}
    wanted = sorted(folders)
    for start in range(0, len(wanted), _LISTED_FOLDERS):
        some = wanted[start : start + _LISTED_FOLDERS]
        below = any_condition([F.col("key").startswith(folder) for folder in some])
        folder = F.coalesce(*(F.when(F.col("key").startswith(folder), F.lit(folder)) for folder in some))
        found = rows.where(below).groupBy(folder.alias("folder")).agg(F.max(_folder_order())["key"].alias("key"))
        newest |= {row["folder"]: row["key"] for row in found.collect()}
    return newest


def last_keys_of_folders(ledger: Ledger, version: int, count: int) -> list[str]:
    """Return keys of the last folders, in order, from which objects entered bronze, by the folder above them.

    Args:
        ledger: of a table.
        version: Delta version of the ledger.
        count: number of keys of each folder.
    """
    if version < 0:
        return []
    folder = F.regexp_replace("key", "[^/]*/[^/]*$", "")
    last = F.slice(F.sort_array(F.collect_set(_folder_order()), asc=False), 1, count)["key"].alias("keys")
    found = ledger.committed_rows(version).groupBy(folder.alias("folder")).agg(last)
    return [key for row in found.collect() for key in row["keys"]]


def _folder_order() -> Column:
    """Return a key with its folder before it, because the order of keys is another: "a-b/x" is before "a/x"."""
    return F.struct(F.regexp_replace("key", "/[^/]*$", "").alias("folder"), "key")


def find_late_inventories(table: Table) -> list[LateInventory] | None:
    """Return the buckets of a table whose newest inventory is too old. None if it is not a table of inventories."""
    if not table.spec.has_inventories:
        return None
    deliveries = chain.from_iterable(newest_deliveries(table.key, table.ledger, 3).values())
    found = late_inventories(deliveries, spec=table.spec.inventories)
    # The destination lists other buckets, and never itself.
    return [late_inventory for late_inventory in found if late_inventory.subject.bucket != table.key.bucket]
