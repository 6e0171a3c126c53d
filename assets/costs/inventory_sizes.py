"""The bytes of the folders of a lake's own tables, as an inventory of the lake's bucket lists them."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import functions as F

from tidegate.assets.storage.stored import stored_objects
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.resources.inventory.sums import first_folders
from tidegate.resources.lake import Lake


def inventory_sizes(lake: Lake) -> Counter[str]:
    """Return the bytes of all versions below each folder of a table, by its `s3a://` URI without a "/" at its end.

    The folders are those of loaded tables, ledgers and silver tables: `bronze/<key>`, `ledger/<key>`, `silver/<name>`.
    Nothing is returned if no table of inventories has one of the lake's bucket.

    Args:
        lake: the lake.
    """
    root, found = lake.config.lake, Counter[str]()
    for spec in lake.config.tables:
        if not spec.has_inventories:
            continue
        chosen = spec.storage_reports.configuration if spec.storage_reports else None
        try:
            objects = stored_objects(lake, spec.table_key.encode(), chosen or "")
        except InventoryError:
            continue  # it has nothing yet, or several configurations, of which none was chosen
        below = (F.col("bucket") == root.bucket) & F.col("key").startswith(root.prefix)
        stored = objects.where(below & ~F.coalesce("is_delete_marker", F.lit(False)))
        folder = first_folders(root.prefix.count("/") + 2).alias("folder")
        for row in stored.groupBy(folder).agg(F.coalesce(F.sum("size"), F.lit(0)).alias("bytes")).collect():
            uri = f"s3a://{root.bucket}/{row['folder'].rstrip('/')}"
            found[uri] = max(found[uri], row["bytes"])
    return found
