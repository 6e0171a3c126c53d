"""The bytes of the folders of a lake's own tables, as an inventory of the lake's bucket lists them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.config.lake import LakeSpec
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.inventory.stored_objects import stored_objects
from tidegate.platform.lake.inventory.folder import FolderInventory, folder_counts, newest_usable_inventory
from tidegate.platform.lake.inventory.sums import first_folders
from tidegate.platform.lake.lake import Lake


@dataclass(frozen=True)
class ListedFolder:
    """What an inventory has of a folder.

    Attributes:
        uri: `s3a://` URI without a "/" at its end.
        inventory: its objects. All versions count.
        bytes: of all versions.
    """

    uri: str
    inventory: FolderInventory
    bytes: int = field(compare=False)


def inventory_sizes(lake: Lake, now: datetime) -> dict[str, int]:
    """Return the bytes of all versions below each folder of a table, by its `s3a://` URI without a "/" at its end.

    The folders are those of loaded tables, ledgers and silver tables: `bronze/<key>`, `ledger/<key>`, `silver/<name>`.
    Nothing is returned if no table of inventories has one of the lake's bucket.
    """
    found: list[ListedFolder] = []
    for spec in lake.config.tables:
        if not spec.has_inventories:
            continue
        chosen = spec.storage_reports.configuration if spec.storage_reports else None
        # It may have nothing yet, or several configurations, of which none was chosen.
        with suppress(InventoryError):
            found += _listed_folders(stored_objects(lake, spec.table_key.encode(), chosen or ""), lake.config.lake)
    return usable_sizes(found, now)


def usable_sizes(folders: Iterable[ListedFolder], now: datetime) -> dict[str, int]:
    """Return the bytes of each folder that the newest inventory lists as a whole, by its URI.

    A folder is left out if its inventory is old, has no sizes, or has a prefix below the folder: the bytes would be too
    few.

    Args:
        folders: what inventories have of them.
    """
    by_uri: defaultdict[str, dict[FolderInventory, int]] = defaultdict(dict)
    for folder in folders:
        by_uri[folder.uri][folder.inventory] = folder.bytes
    found: dict[str, int] = {}
    for uri, inventories in by_uri.items():
        with suppress(InventoryError):
            found[uri] = inventories[newest_usable_inventory(inventories, uri, now.timestamp())]
    return found


def _listed_folders(objects: DataFrame, root: LakeSpec) -> list[ListedFolder]:
    below = (F.col("bucket") == root.bucket) & F.col("key").startswith(root.prefix)
    stored = objects.where(below & ~F.coalesce("is_delete_marker", F.lit(False)))
    folder = first_folders(root.prefix.count("/") + 2)
    name = F.expr("substring(key, length(folder) + 1)")
    rows = (
        stored.withColumn("folder", folder)
        .groupBy("folder", "configuration", F.unix_seconds("inventory_created").alias("created"))
        .agg(
            # The cost needs no times. The field Size is listed of all objects or of none.
            *folder_counts(name, F.col("size").isNotNull()),
            F.coalesce(F.sum("size"), F.lit(0)).alias("bytes"),
        )
        .collect()
    )
    return [_folder(root, row.asDict()) for row in rows]


def _folder(root: LakeSpec, row: Mapping[str, object]) -> ListedFolder:
    values = dict(row)
    folder, size = str(values.pop("folder")), values.pop("bytes")
    uri = S3Address(root.bucket, folder.rstrip("/")).s3a
    return ListedFolder(uri, FolderInventory(**values), size)  # type: ignore[arg-type]
