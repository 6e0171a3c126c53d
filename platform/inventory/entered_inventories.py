"""The inventories that entered a table, as its ledger has them, and the objects that they had."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.inventory.delivery import DROPPED, Delivery, Subject, has_entered
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.storage.history import (
    EnteredInventory,
    HistoryPart,
    InventoriesRead,
    KeptPast,
    VersionRead,
    inventories_as_of,
)
from tidegate.platform.core.times import from_micros
from tidegate.platform.inventory.stored_objects import with_inventories
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.ledger import Clock, Ledger
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.maintenance.vacuum import deleted_file_retention, log_retention

#: A version is read if it is kept for so much longer: a query takes time, and the ledger has a batch after its commit.
_MARGIN = timedelta(hours=1)


class InventoriesInHistory(NamedTuple):
    """Inventories whose rows replaced those of their bucket.

    Attributes:
        inventories: in the order of their batches.
        kept: which versions of the table can be read.
        present: Delta version that has the newest inventory of each bucket.
    """

    inventories: list[EnteredInventory]
    kept: KeptPast
    present: int


def inventories_in_history(
    key: TableKey, batches: Batches, ledger: Ledger, delta: Delta, birth: Birth, after: int
) -> InventoriesInHistory | None:
    """Return the inventories that entered a table and which of its versions have them, or None if none entered.

    Args:
        batches: its batches.
        ledger: its ledger.
        birth: of the table.
        after: number of a batch. Only inventories of later batches are returned.

    Raises:
        ValueError: the retention of the table cannot be read.
    """
    clock = ledger.clock()
    inventories = entered_inventories(key, ledger, clock, after)
    if not inventories:
        return None
    last = batches.read(clock.n)
    state = delta.table_state(birth.location, last.app_id if last else "")
    # A batch that the ledger does not have yet may have replaced the newest inventories.
    present = state.version if state.txn == clock.n else inventories[-1].version
    now = datetime.now(UTC) + _MARGIN
    kept = KeptPast(now - deleted_file_retention(state.properties), now - log_retention(state.properties))
    return InventoriesInHistory(inventories, kept, present)


def dropped_inventories(key: TableKey, ledger: Ledger) -> set[tuple[Subject, date]]:
    """Return which inventories of a table a person dropped, with the days.

    Args:
        ledger: its ledger.
    """
    clock = ledger.clock()
    if clock.version < 0:
        return set()
    rows = ledger.committed_rows(clock.version).where(F.col("key").contains(f"{DROPPED}/"))
    found = (Delivery.from_key(row["key"], key.prefix) for row in rows.select("key").collect())
    return {(delivery.subject, delivery.began_at.date()) for delivery in found if delivery and delivery.is_drop}


def entered_inventories(table: TableKey, ledger: Ledger, clock: Clock, after: int) -> list[EnteredInventory]:
    """Return the inventories whose rows replaced those of their bucket, in the order of their batches.

    Args:
        ledger: its ledger.
        clock: of its ledger.
        after: number of a batch. Only inventories of later batches are returned.
    """
    if clock.version < 0:
        return []
    rows = ledger.committed_rows(clock.version).where(F.col("n") > after)
    columns = "key", "n", "bronze_version", F.unix_micros("recorded_at").alias("recorded"), "rows", "reason"
    return [
        EnteredInventory(found.subject, found.began_at.date(), n, version, from_micros(recorded), count or 0)
        for key, n, version, recorded, count, reason in rows.orderBy("n", "position").select(*columns).collect()
        if has_entered(reason) and (found := Delivery.from_key(key, table.prefix))
    ]


def inventory_as_of(lake: Lake, table_key: str, day: date) -> DataFrame:
    """Return the rows of the inventories of a day: of each bucket the newest that S3 began by its end.

    Args:
        table_key: key of the table of inventories.
        day: in UTC.

    Raises:
        InventoryError: it is not such a table, has no inventory of that day, or its files may be deleted.
        ValueError: the retention of the table cannot be read.
    """
    table, birth = with_inventories(lake, table_key)
    entered = inventories_in_history(table.key, table.batches, table.ledger, table.delta, birth, 0)
    if entered is None:
        raise InventoryError(f"{table.spec.name} has no inventories yet")
    reads = inventories_as_of(entered.inventories, day, entered.kept, entered.present)
    return rows_of_inventories(table.delta.session, birth.location, reads)


def objects_and_bytes(
    session: SparkSession, location: str, part: HistoryPart
) -> dict[tuple[Subject, int], tuple[int, int]]:
    """Return objects and bytes of the inventories of a part, by subject and batch. Those without rows are not in it.

    Args:
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
        location: URI of the table of inventories.
        reads: the versions. Without any, the result has no rows.
    """
    rows = [session.read.format("delta").load(location).limit(0)]  # the columns of today
    for read in reads:
        batches = sorted({inventory.n for inventory in read.inventories})
        names = [
            f"{inventory.subject.bucket}/{inventory.subject.configuration}/{inventory.n}"
            for inventory in read.inventories
        ]
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
