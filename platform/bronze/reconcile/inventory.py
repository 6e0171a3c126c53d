"""Compares S3 Inventory with the ledger, for prefixes that are too large to list."""

from __future__ import annotations

import time

from tidegate.platform.bronze.after_load import note_loaded_files
from tidegate.platform.bronze.listener import InventoryComparison, RunListener
from tidegate.platform.bronze.reconcile.listing import LISTED_AT_ONCE, is_source, may_be_gone
from tidegate.platform.bronze.removals import REMOVAL_FLOOR, require_bucket
from tidegate.platform.core.bronze.hint import Hint, Missing
from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.config.after_load import removes_source
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.lake.inventory.deliveries import newest_inventory
from tidegate.platform.lake.inventory.differences import Difference, inventory_differences
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Clock

#: Age in days at which even a weekly inventory is too old.
_OLD_DAYS = 9


def compare_inventory(table: Table, clock: Clock, listener: RunListener, *, after: str = "") -> InventoryComparison:
    """Turn the difference between a table's inventory and its ledger into hints, as `list_prefix` does.

    An inventory is hours or days old, so it gives hints only. The step look asks S3 for the present state.

    Args:
        table: a table with an inventory in lake.yaml.
        clock: the clock of the table's ledger.
        listener: receives how far the comparison is, after each part of it.
        after: the last key that an earlier run compared. This run resumes after it.

    Raises:
        InventoryError: there is no usable inventory.
        StoreError: the source bucket does not exist or S3 does not answer.
    """
    log = listener.log
    require_bucket(table)
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
        )
        keys = found.keys
        if not keys:
            _require_some(table, found.found, inventory.uri)
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
        if difference.kind == "missing" and difference.state and may_be_gone(table, difference.key, difference.state):
            hints.append(Hint(difference.key, Missing()))
        if difference.kind == "listed" and is_source(table, difference.key):
            hints.append(Hint(difference.key, size=difference.size))
    table.inbox.put(chunked(table.table_key, "listing", hints, table.spec.max_files))
    left = [difference for difference in found if difference.kind == "left"]
    note_loaded_files(
        table,
        {difference.key: difference.etag or "" for difference in left},
        {difference.key: difference.state for difference in left if difference.state},
    )
    return len(hints)


def _require_some(table: Table, found: list[Difference], uri: str) -> None:
    """Refuse an inventory of another folder.

    It lacks every key, and asking S3 for each key would cost more than a listing.
    """
    missing = sum(difference.kind == "missing" for difference in found)
    if missing >= REMOVAL_FLOOR:
        raise InventoryError(
            f"the inventory {uri} has no object below {table.key.uri}, but the ledger knows {missing} or more. Check "
            "the prefix in the inventory's configuration. If the objects are really gone, remove `inventory` from "
            "lake.yaml and materialize the partition, which lists the prefix"
        )


def _days_too_old(created: float) -> int:
    days = int((time.time() - created) / 86_400)
    return days if days >= _OLD_DAYS else 0
