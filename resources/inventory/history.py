"""How much the inventories of each bucket had: from the versions of the table, each of which replaced some of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.storage.growth import StoredDay

#: Versions that are read, the newest ones, and those that one query reads.
MAX_VERSIONS, _A_QUERY = 2_000, 50


def stored_history(session: SparkSession, location: str, configuration: str = "") -> list[StoredDay]:
    """Return what each inventory had that entered the table. Each of them is read once, at the version of its batch.
    The oldest batch is first.

    Args:
        session: of Spark.
        location: URI of the table of inventories.
        configuration: only inventories of this configuration. Empty: all.
    """
    versions = list(_batches(session, location))
    found: list[Row] = []
    for start in range(0, len(versions), _A_QUERY):
        some = [_entered(session, location, *one) for one in versions[start : start + _A_QUERY]]
        rows = reduce(DataFrame.unionByName, some)
        if configuration:
            rows = rows.where(F.col("configuration") == configuration)
        found += rows.collect()
    return [StoredDay(*row[1:]) for row in sorted(found, key=lambda row: row["version"])]


def _batches(session: SparkSession, location: str) -> Iterator[tuple[int, int]]:
    """Yield the version and the number of each batch that is committed, the newest first."""
    history = session.sql(f"DESCRIBE HISTORY delta.`{location}` LIMIT {MAX_VERSIONS}")
    for version, text in history.select("version", "userMetadata").collect():
        mark = json.loads(text).get("tidegate") if text and text.startswith("{") else None
        if mark and mark.get("outcome") == "committed":
            yield version, mark["n"]


def _entered(session: SparkSession, location: str, version: int, batch: int) -> DataFrame:
    rows = session.read.format("delta").option("versionAsOf", version).load(location)
    # A file has the rows of one batch, so Delta's statistics leave all other files out.
    rows = rows.where((F.col("_batch") == batch) & ~F.coalesce("is_delete_marker", F.lit(False)))
    groups = F.lit(version).alias("version"), "bucket", "configuration", F.to_date("inventory_created").alias("day")
    return rows.groupBy(*groups).agg(
        F.count(F.lit(1)).alias("objects"), F.coalesce(F.sum("size"), F.lit(0)).alias("size")
    )
