"""The objects below a table's folder, as inventories have them, and which inventory replaces a listing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.late_buckets import WEEKLY_LATE
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.s3_address import S3Address

_LOG = "_delta_log/"
#: Names that Delta's listing leaves out, in each folder. VACUUM itself looks only at the first segment of a path of an
#: inventory. It deletes old files of `_change_data` and `_delta_index`.
_HIDDEN = r"(^|/)(?!_change_data|_delta_index)([_.][^/=]*|metadata)(/|$)"
#: Names that Hadoop's paths keep as they are. Delta gives its files no others.
_PLAIN = r"^[^/:]+(/[^/:]+)*$"

#: An older inventory knows too little of what may be deleted. A weekly one is younger.
MAX_AGE = WEEKLY_LATE


def folder_objects(session: SparkSession, location: str, version: int, bucket: str, folder: str) -> DataFrame:
    """Return the current versions below a folder, as the newest inventory of each configuration has them.

    The columns `path`, `length`, `isDir` and `modificationTime` are those that VACUUM wants of an inventory. The others
    are `name`, below the folder, `configuration` and `created`, in epoch seconds.

    Args:
        location: URI of the table of inventories.
        version: Delta version of this table.
        bucket: of the folder.
        folder: key prefix with its trailing "/".
    """
    rows = session.read.format("delta").option("versionAsOf", version).load(location)
    present = F.coalesce("is_latest", F.lit(True)) & ~F.coalesce("is_delete_marker", F.lit(False))
    return rows.where((F.col("bucket") == bucket) & F.col("key").startswith(folder) & present).select(
        F.expr(f"substring(key, {len(folder) + 1})").alias("name"),
        "configuration",
        F.unix_seconds("inventory_created").alias("created"),
        F.concat(F.lit(S3Address(bucket).s3a), F.col("key")).alias("path"),
        F.col("size").alias("length"),
        # Always false, because names that end so are left out. VACUUM refuses a column that cannot be null.
        F.col("key").endswith("/").alias("isDir"),
        F.unix_millis("last_modified_date").alias("modificationTime"),
    )


def folder_inventories(objects: DataFrame) -> list[FolderInventory]:
    """Return what each inventory has of a folder.

    Args:
        objects: of `folder_objects`.
    """
    described = (F.col("length") + F.col("modificationTime")).isNotNull()
    counted = objects.groupBy("configuration", "created").agg(*folder_counts(F.col("name"), described))
    return [FolderInventory(**row.asDict()) for row in counted.collect()]


def folder_counts(name: Column, described: Column) -> list[Column]:
    """Return the aggregates of the counts of a `FolderInventory`.

    Args:
        name: of an object, below the folder.
        described: whether the inventory has what is needed of an object.
    """
    in_log = name.startswith(_LOG)
    return [
        F.count_if(in_log).alias("log_files"),
        F.count_if(~in_log).alias("files"),
        F.count_if(~in_log & described).alias("described"),
    ]


def vacuum_inventory(objects: DataFrame, inventory: FolderInventory) -> DataFrame:
    """Return the files of an inventory that a listing by Delta would find.

    Args:
        objects: of `folder_objects`.
        inventory: the one that is used.
    """
    names = F.col("name")
    found = objects.where((F.col("configuration") == inventory.configuration) & (F.col("created") == inventory.created))
    found = found.where(names.rlike(_PLAIN) & ~names.rlike(_HIDDEN))
    return found.select("path", "length", "isDir", "modificationTime")


@dataclass(frozen=True)
class FolderInventory:
    """What one inventory has of the folder of a table, without noncurrent versions and delete markers.

    Attributes:
        configuration: its name.
        created: when S3 began to look at the bucket, in epoch seconds.
        log_files: number of objects in the table's log.
        files: number of all other objects.
        described: number of these with a size and a time of the last modification.
    """

    configuration: str
    created: int
    log_files: int
    files: int
    described: int

    @property
    def is_whole(self) -> bool:
        """Whether the inventory covers the whole folder.

        A configuration can have a prefix. One that has objects of the log and others is not below the folder.
        """
        return self.log_files > 0 and self.files > 0

    @property
    def began(self) -> str:
        """`created` as people read it, to the minute."""
        return f"{datetime.fromtimestamp(self.created, UTC):%Y-%m-%d %H:%M} UTC"


def newest_usable_inventory(found: Iterable[FolderInventory], bucket: str, now: float) -> FolderInventory:
    """Return the newest inventory that lists the whole folder.

    Args:
        found: what the newest inventory of each configuration has of the folder.
        bucket: that they are of.
        now: epoch seconds.

    Raises:
        InventoryError: none can be used. The message is the reason, as a part of a sentence.
    """
    whole = [folder_inventory for folder_inventory in found if folder_inventory.is_whole]
    if not whole:
        raise InventoryError(f"no inventory of {bucket} lists the table")
    newest = max(whole, key=lambda folder_inventory: (folder_inventory.created, folder_inventory.configuration))
    age = timedelta(seconds=now - newest.created)
    if age > MAX_AGE:
        raise InventoryError(f"the newest inventory of {bucket} is of {newest.began}, {age.days} days old")
    if newest.described < newest.files:
        raise InventoryError(
            f"the inventory of {bucket} by configuration {newest.configuration} has no Size or LastModifiedDate"
        )
    return newest
