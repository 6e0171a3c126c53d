"""The objects of a table of inventories, each of them once."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.times import from_micros


def inventory_objects(session: SparkSession, location: str, configuration: str = "") -> DataFrame:
    """Return the rows of a table of inventories.

    Args:
        session: of Spark.
        location: URI of the table.
        configuration: only inventories of this configuration. Empty: all, if each bucket has one.

    Raises:
        InventoryError: a bucket has inventories of two configurations, and none is chosen.
    """
    rows = session.read.format("delta").load(location)
    if configuration:
        return rows.where(F.col("configuration") == configuration)
    subjects = rows.select("bucket", "configuration").distinct()
    twice = subjects.groupBy("bucket").agg(F.sort_array(F.collect_list("configuration")).alias("names"))
    if found := twice.where(F.size("names") > 1).orderBy("bucket").limit(1).collect():
        raise InventoryError(
            f"the bucket {found[0]['bucket']} has inventories of {' and '.join(found[0]['names'])}, and its objects "
            "would be counted twice: choose a configuration"
        )
    return rows


def buckets_of_versions(objects: DataFrame) -> set[str]:
    """Return the buckets of which an inventory lists all versions.

    Args:
        objects: rows of the table of inventories.
    """
    return {bucket for (bucket,) in objects.where(F.col("is_latest").isNotNull()).select("bucket").distinct().collect()}


def newest_created(objects: DataFrame) -> dict[Subject, datetime]:
    """Return when S3 began the inventory that a table has of each bucket with objects.

    Args:
        objects: rows of the table of inventories.
    """
    newest = F.unix_micros(F.max("inventory_created")).alias("newest")
    rows = objects.groupBy("bucket", "configuration").agg(newest).collect()
    return {Subject(bucket, configuration): from_micros(created) for bucket, configuration, created in rows}
