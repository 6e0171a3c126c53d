"""The differences between an inventory and a ledger, computed by Spark: neither fits into this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.ledger import IN_TABLE, PRESENT, LastState, Status
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError
from tidegate.platform.core.keys.object_key import HIDDEN_FILE, HIDDEN_FOLDER
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.inventory.rows import inventory_rows
from tidegate.platform.lake.spark.delta import Delta


@dataclass(frozen=True)
class Difference:
    """A key on which an inventory and a ledger differ, or a loaded file that still exists.

    Attributes:
        kind: `listed`: the ledger does not know the key, or knows other bytes, or has it as waiting for a signal that
            the table no longer awaits; `missing`: the ledger has the key and the inventory does not; `left`: both have
            it, and its rows are in the table.
        size: bytes, from the inventory.
        etag: from the inventory.
        state: the last state of the key in the ledger.
    """

    key: str
    kind: Literal["listed", "missing", "left"]
    size: int | None
    etag: str | None
    state: LastState | None


@dataclass(frozen=True)
class Differences:
    """The first differences in the order of keys, and the number of keys that the inventory has below the prefix."""

    found: list[Difference]
    keys: int


def inventory_differences(
    delta: Delta,
    inventory: Inventory,
    prefix: str,
    states: DataFrame,
    *,
    after: str,
    limit: int,
    left: bool,
    waits: bool = False,
) -> Differences:
    """Compare an inventory with a ledger.

    A state that was recorded after the inventory was begun is newer than the inventory, and no difference.

    Args:
        delta: the handle on Spark.
        inventory: a complete inventory.
        prefix: key prefix of the table.
        states: `Ledger.last_states`.
        after: only differences of later keys are returned.
        limit: at most this many differences are returned.
        left: whether loaded files that still exist are returned too.
        waits: whether files wait for completion signals. Then files whose names begin with "_" or "." may be sources:
            `_SUCCESS` is such a signal.

    Raises:
        InventoryError: Spark cannot read the inventory.
        PySparkException: the server is gone, or was restarted.
        SparkUnreachable: the server is gone.
    """
    try:
        return _ask(_rows(delta, inventory, prefix, waits), inventory, states, after, limit, _kind(left, waits))
    except PySparkException as error:
        delta.check_session_alive()
        raise InventoryError(
            f"Spark cannot compare the inventory {inventory.uri} with the ledger: {first_line(error)}. If S3 refused "
            "it: Spark's role needs s3:GetObject on the inventory's files, and kms:Decrypt where KMS encrypts them"
        ) from error


def _ask(
    listed: DataFrame, inventory: Inventory, states: DataFrame, after: str, limit: int, kind: Column
) -> Differences:
    counted = Observation()
    listed = listed.observe(counted, F.count(F.lit(1)).alias("keys"))
    here, there = listed.alias("here"), states.alias("there")
    both = here.join(there, F.col("here.key") == F.col("there.key"), "full_outer")
    began = F.timestamp_seconds(F.lit(inventory.created))
    compared = both.select(
        F.coalesce("here.key", "there.key").alias("key"),
        kind.alias("kind"),
        F.col("here.size").alias("here_size"),
        F.col("here.etag").alias("here_etag"),
        *(F.col(f"there.{name}") for name in ("status", "etag", "n", "reason", "bad_rows")),
        F.coalesce(F.col("there.recorded_at") >= began, F.lit(False)).alias("newer"),
    )
    differ = compared.where(F.col("kind").isNotNull() & ~F.col("newer") & (F.col("key") > after))
    rows = differ.orderBy("key").limit(limit).toArrow()
    found = [_difference(row) for batch in rows.to_batches() for row in batch.to_pylist()]
    return Differences(found, cast(int, counted.get.get("keys", 0)))


def _rows(delta: Delta, inventory: Inventory, prefix: str, waits: bool) -> DataFrame:
    """Key, size and etag of the table's objects that are present versions."""
    raw = inventory_rows(delta, inventory)
    present = F.coalesce("is_latest", F.lit(True)) & ~F.coalesce("is_delete_marker", F.lit(False))
    # A registered prefix may have as many hidden files as sources. Hidden files may be completion signals, and the
    # caller applies the exact rule.
    rows = raw.where(present).select("key", "size", F.col("e_tag").alias("etag"))
    rows = rows.where(F.col("key").startswith(prefix) & ~F.col("key").rlike(HIDDEN_FOLDER))
    return rows if waits else rows.where(~F.col("key").rlike(HIDDEN_FILE))


def _kind(left: bool, waits: bool) -> Column:
    here, known = F.col("here.key").isNotNull(), F.col("there.key").isNotNull()
    etag, status = F.col("here.etag"), F.col("there.status")
    # Without etags an inventory shows new and missing objects, but not overwritten ones.
    same = F.coalesce(etag.eqNullSafe(F.col("there.etag")), F.lit(False))
    back = etag.isNull() & status.isin(str(Status.REMOVED), str(Status.UNAPPLIED))
    waited = status.eqNullSafe(str(Status.WAITING)) & F.lit(not waits)
    kind = F.when(here & (~known | (etag.isNotNull() & ~same) | back | waited), "listed")
    kind = kind.when(~here & status.isin(*sorted(map(str, PRESENT))), "missing")
    if left:
        # A removed file has an etag if its rows stay in the table.
        loaded = status.isin(*sorted(map(str, IN_TABLE | {Status.REMOVED})))
        kind = kind.when(here & loaded & same, "left")
    return kind


def _difference(row: dict[str, object]) -> Difference:
    status = row["status"]
    state = (
        LastState(
            Status(str(status)),
            cast("str | None", row["etag"]),
            cast(int, row["n"]),
            cast("str | None", row["reason"]),
            cast("int | None", row["bad_rows"]),
        )
        if status is not None
        else None
    )
    return Difference(
        cast(str, row["key"]),
        cast('Literal["listed", "missing", "left"]', row["kind"]),
        cast("int | None", row["here_size"]),
        cast("str | None", row["here_etag"]),
        state,
    )
