"""The objects of a table of inventories, each of them once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.counted import buckets_with_several, counted_rows_condition, uncounted_inventories
from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.times import from_micros


def inventory_objects(session: SparkSession, location: str, configuration: str = "") -> DataFrame:
    """Return the rows of a table of inventories.

    Args:
        session: of Spark.
        location: URI of the table.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.

    Raises:
        InventoryError: a bucket has several configurations, and none is chosen; or no bucket has the chosen one.
    """
    rows = session.read.format("delta").load(location)
    return rows.where(counted_objects_condition(rows, subjects_of(rows), configuration) or "true")


def subjects_of(rows: DataFrame) -> list[Subject]:
    """Return the subjects that have a row in the table of inventories."""
    return [Subject(*row) for row in rows.select("bucket", "configuration").distinct().collect()]


def counted_objects_condition(rows: DataFrame, subjects: Sequence[Subject], configuration: str) -> str:
    """Return the SQL condition of the rows of which each object is counted once. Empty: all.

    Args:
        rows: of the table of inventories.
        subjects: of these rows.
        configuration: as in `inventory_objects`, whose error this raises.
    """
    newest = dict.fromkeys(subjects, datetime.min)
    if configuration and (several := buckets_with_several(subjects)):
        newest |= newest_created(rows.where(F.col("bucket").isin(list(several))))
    return counted_rows_condition(subjects, uncounted_inventories(newest, configuration))


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
