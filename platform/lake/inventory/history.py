"""What the inventories of each bucket had: from the versions of the table, each of which replaced some of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.storage.history import HistoryPart, InventoriesRead, VersionRead


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
    rows = reduce(DataFrame.unionByName, (_version_inventories(session, location, read) for read in part.reads))
    found = {}
    for bucket, configuration, n, objects, size in rows.collect():
        found[Subject(bucket, configuration), n] = objects, size
    return found


def rows_of_inventories(session: SparkSession, location: str, reads: Sequence[InventoriesRead]) -> DataFrame:
    """Return the rows of inventories, each read from a version that has it.

    Args:
        session: of Spark.
        location: URI of the table of inventories.
        reads: the versions. Without any, the result has no rows.
    """
    rows = [session.read.format("delta").load(location).limit(0)]  # the columns of today
    for read in reads:
        batches = sorted({one.n for one in read.inventories})
        names = [f"{one.subject.bucket}/{one.subject.configuration}/{one.n}" for one in read.inventories]
        found = session.read.format("delta").option("versionAsOf", read.version).load(location)
        # Statistics leave out the files of other batches. A batch may have other inventories, too.
        is_asked = F.concat_ws("/", "bucket", "configuration", F.col("_batch").cast("string")).isin(names)
        rows.append(found.where(F.col("_batch").isin(batches) & is_asked))
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), rows)


def _version_inventories(session: SparkSession, location: str, read: VersionRead) -> DataFrame:
    rows = session.read.format("delta").option("versionAsOf", read.version).load(location)
    # A file has the rows of one batch, so Delta's statistics leave all other files out.
    rows = rows.where(F.col("_batch").between(read.first, read.last))
    is_stored = ~F.coalesce("is_delete_marker", F.lit(False))
    size = F.sum(F.when(is_stored, F.col("size")))
    sums = F.count_if(is_stored).alias("objects"), F.coalesce(size, F.lit(0)).alias("size")
    return rows.groupBy("bucket", "configuration", "_batch").agg(*sums)
