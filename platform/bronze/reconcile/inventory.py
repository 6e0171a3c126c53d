"""Compares S3 Inventory with the ledger, for prefixes that are too large to list.

Spark computes the differences, because neither fits into this process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidegate.platform.bronze.after_load import note_loaded_files
from tidegate.platform.bronze.listener import InventoryComparison, RunListener
from tidegate.platform.bronze.reconcile.listing import LISTED_AT_ONCE, is_source, may_be_gone
from tidegate.platform.bronze.removal_guard import REMOVAL_FLOOR, require_bucket
from tidegate.platform.core.bronze.hint import Hint, Missing
from tidegate.platform.core.bronze.ledger import IN_TABLE, PRESENT, LastState, Status
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.config.after_load import removes_source
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError
from tidegate.platform.core.keys.object_key import HIDDEN_FILE, HIDDEN_FOLDER
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.inventory.deliveries import newest_inventory
from tidegate.platform.lake.inventory.rows import inventory_rows
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.spark.delta import Delta

#: Age in days at which even a weekly inventory is too old.
_OLD_DAYS = 9


def compare_inventory(table: Table, clock: Clock, listener: RunListener, *, after: str = "") -> InventoryComparison:
    """Turn the difference between a table's inventory and its ledger into hints, as `list_prefix` does.

    An inventory is hours or days old, so it gives hints only. The step look asks S3 for the present state.

    Args:
        table: a table with an inventory in lake.yaml.
        listener: receives how far the comparison is, after each part of it.
        after: the last key that an earlier run compared. This run resumes after it.

    Raises:
        InventoryError: there is no usable inventory.
        StoreError: the source bucket does not exist or S3 does not answer.
    """
    log = listener.log
    require_bucket(table.key, table.table_key, table.source)
    inventory = newest_inventory(table.source.objects, table.spec.inventory or "", table.key.bucket, log)
    log(f"comparing the ledger with the inventory {inventory.uri} of {inventory.began}")
    if days := _days_too_old(inventory.created):
        log(f"WARNING: the inventory is {days} days old. Check whether S3 still delivers it")
    if inventory.column("etag") is None:
        log("WARNING: the inventory has no column ETag, so overwritten files are not found. Add the column")
    states = table.ledger.last_states(clock.version)
    differing = keys = 0
    left = removes_source(table.spec.after_load)
    while True:
        found = inventory_differences(
            table.delta,
            inventory,
            table.key.prefix,
            states,
            after=after,
            limit=LISTED_AT_ONCE,
            left=left,
            waits=table.spec.completion is not None,
            rows_leave=table.spec.rows_of_objects.removed,
        )
        keys = found.keys
        if not keys:
            _require_some(table.key, found.found, inventory.uri)
        differing += _keep(table, found.found)
        last = len(found.found) < LISTED_AT_ONCE
        after = "" if last else found.found[-1].key
        how_far = f"up to {after}" if after else "all"
        log(f"inventory of {table.key.uri}: {keys} objects, {differing} keys differ from the ledger ({how_far})")
        listener.listing_reached(after)
        if last:
            return InventoryComparison(inventory.uri, inventory.created, keys, differing)


def _keep(table: Table, found: list[Difference]) -> int:
    """Write hints for differences. Returns their number."""
    hints = []
    for difference in found:
        if (
            difference.kind == "missing"
            and difference.state
            and may_be_gone(table.spec, table.lake.config, difference.key, difference.state)
        ):
            hints.append(Hint(difference.key, Missing()))
        if difference.kind == "listed" and is_source(table.key, table.lake.config, difference.key):
            hints.append(Hint(difference.key, size=difference.size))
    table.inbox.put(split_into_manifests(table.table_key, "listing", hints, table.spec.max_files))
    left = [difference for difference in found if difference.kind == "left"]
    note_loaded_files(
        table.spec,
        table.after_notes,
        {difference.key: difference.etag or "" for difference in left},
        {difference.key: difference.state for difference in left if difference.state},
    )
    return len(hints)


def _require_some(key: TableKey, found: list[Difference], uri: str) -> None:
    """Refuse an inventory of another folder.

    It lacks every key, and asking S3 for each key would cost more than a listing.
    """
    missing = sum(difference.kind == "missing" for difference in found)
    if missing >= REMOVAL_FLOOR:
        raise InventoryError(
            f"the inventory {uri} has no object below {key.uri}, but the ledger knows {missing} or more. Check "
            "the prefix in the inventory's configuration. If the objects are really gone, remove `inventory` from "
            "lake.yaml and materialize the partition, which lists the prefix"
        )


def _days_too_old(created: float) -> int:
    days = int((time.time() - created) / 86_400)
    return days if days >= _OLD_DAYS else 0


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
    rows_leave: bool = False,
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
        rows_leave: whether the rows of a file that is gone leave the table. Then a file in quarantine may be missing,
            and one that was removed when its rows stayed.

    Raises:
        InventoryError: Spark cannot read the inventory.
        PySparkException: the server is gone, or was restarted.
        SparkUnreachable: the server is gone.
    """
    try:
        kind = _kind(left, waits, rows_leave)
        return _ask(_rows(delta, inventory, prefix, waits), inventory, states, after, limit, kind)
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
    """Return the key, size and etag of the table's objects that are present versions."""
    raw = inventory_rows(delta, inventory)
    present = F.coalesce("is_latest", F.lit(True)) & ~F.coalesce("is_delete_marker", F.lit(False))
    # A registered prefix may have as many hidden files as sources. Hidden files may be completion signals, and the
    # caller applies the exact rule.
    rows = raw.where(present).select("key", "size", F.col("e_tag").alias("etag"))
    rows = rows.where(F.col("key").startswith(prefix) & ~F.col("key").rlike(HIDDEN_FOLDER))
    return rows if waits else rows.where(~F.col("key").rlike(HIDDEN_FILE))


def _kind(left: bool, waits: bool, rows_leave: bool) -> Column:
    here, known = F.col("here.key").isNotNull(), F.col("there.key").isNotNull()
    etag, status = F.col("here.etag"), F.col("there.status")
    # Without etags an inventory shows new and missing objects, but not overwritten ones.
    same = F.coalesce(etag.eqNullSafe(F.col("there.etag")), F.lit(False))
    back = etag.isNull() & status.isin(str(Status.REMOVED), str(Status.UNAPPLIED))
    waited = status.eqNullSafe(str(Status.WAITING)) & F.lit(not waits)
    kind = F.when(here & (~known | (etag.isNotNull() & ~same) | back | waited), "listed")
    present = PRESENT | {Status.QUARANTINED} if rows_leave else PRESENT
    kind = kind.when(~here & status.isin(*sorted(map(str, present))), "missing")
    if rows_leave:
        kind = kind.when(~here & (status == str(Status.REMOVED)) & F.col("there.etag").isNotNull(), "missing")
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
