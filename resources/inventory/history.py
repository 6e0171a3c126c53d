"""How much the inventories of each bucket had: from the versions of the table, each of which replaced some of them."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.storage.history import HistoryPart, VersionRead


def objects_and_bytes(
    session: SparkSession, location: str, part: HistoryPart
) -> dict[tuple[Subject, int], tuple[int, int]]:
    """Return objects and bytes of the inventories of a part, by subject and batch. Those without rows are not in it.

    Args:
        session: of Spark.
        location: URI of the table of inventories.
        part: with the versions to read.
    """
    if not part.reads:
        return {}
    rows = reduce(DataFrame.unionByName, (_of_version(session, location, read) for read in part.reads))
    found = {}
    for bucket, configuration, n, objects, size in rows.collect():
        found[Subject(bucket, configuration), n] = objects, size
    return found


def _of_version(session: SparkSession, location: str, read: VersionRead) -> DataFrame:
    rows = session.read.format("delta").option("versionAsOf", read.version).load(location)
    # A file has the rows of one batch, so Delta's statistics leave all other files out.
    rows = rows.where(F.col("_batch").between(read.first, read.last))
    is_stored = ~F.coalesce("is_delete_marker", F.lit(False))
    size = F.sum(F.when(is_stored, F.col("size")))
    sums = F.count_if(is_stored).alias("objects"), F.coalesce(size, F.lit(0)).alias("size")
    return rows.groupBy("bucket", "configuration", "_batch").agg(*sums)
