"""The difference between an S3 Inventory and the ledger as hints: a listing of what is too large to be listed."""

from __future__ import annotations

import time
from collections.abc import Callable

from tidegate.assets.bronze.after_load import note_what_lies_there
from tidegate.assets.bronze.removals import REMOVAL_FLOOR, require_bucket
from tidegate.assets.reconcile.listing import LISTED_AT_ONCE, is_source
from tidegate.platform.core.bronze.hint import MISSING, Hint
from tidegate.platform.core.bronze.inventory_comparison import InventoryComparison
from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.config.after_load import takes_away
from tidegate.platform.core.inventory_manifest import InventoryError
from tidegate.resources.inventory.deliveries import newest_inventory
from tidegate.resources.inventory.differences import Difference, inventory_differences
from tidegate.resources.lake import Table
from tidegate.resources.ledger import Clock

#: Days after which an inventory is old even where it is a weekly one.
_OLD_DAYS = 9


def compare_inventory(
    table: Table,
    clock: Clock,
    *,
    after: str = "",
    came_to: Callable[[str], None] = lambda _: None,
    log: Callable[[str], None] = lambda _: None,
) -> InventoryComparison:
    """Turn the difference between a table's inventory and its ledger into hints, as ``list_prefix`` does.

    An inventory is hours or days old. What it says is a reason to look and nothing more: the look asks S3.

    Args:
        table: the table, which names an inventory.
        clock: the ledger's.
        after: the key that an earlier run came to; this one goes on behind it.
        came_to: told the key to which the comparison came; empty when it came to its end.
        log: takes progress, a line at a time.

    Raises:
        InventoryError: there is no inventory that can be used.
        StoreError: the source bucket is gone or S3 does not answer.
    """
    require_bucket(table)
    inventory = newest_inventory(table.lake.store.objects, table.spec.inventory or "", table.key.bucket, log)
    log(f"comparing the ledger with the inventory {inventory.uri} of {inventory.began}")
    if days := _days_too_old(inventory.created):
        log(f"WARNING: the inventory is {days} days old: does S3 still deliver it?")
    if inventory.column("etag") is None:
        log("WARNING: the inventory has no column ETag, so files that were overwritten are not found: add it")
    states = table.ledger.last_states(clock.version)
    differing = keys = 0
    left = takes_away(table.spec.after_load)
    while True:
        found = inventory_differences(
            table.delta, inventory, table.key.prefix, states, after=after, limit=LISTED_AT_ONCE, left=left
        )
        keys = found.keys
        if not keys:
            _require_some(table, found.found, inventory.uri)
        differing += _keep(table, found.found)
        last = len(found.found) < LISTED_AT_ONCE
        after = "" if last else found.found[-1].key
        how_far = f"up to {after}" if after else "all"
        log(f"inventory of {table.key.uri}: {keys} objects, {differing} keys differ from the ledger ({how_far})")
        came_to(after)
        if last:
            return InventoryComparison(inventory.uri, inventory.created, keys, differing)


def _keep(table: Table, found: list[Difference]) -> int:
    """Write the hints of some differences; how many they are."""
    hints = [
        Hint(one.key, event_name=MISSING) if one.kind == "missing" else Hint(one.key, size=one.size)
        for one in found
        if one.kind == "missing" or (one.kind == "listed" and is_source(table, one.key))
    ]
    table.inbox.put(chunked(table.text, "listing", hints, table.spec.max_files))
    left = [one for one in found if one.kind == "left"]
    note_what_lies_there(
        table, {one.key: one.etag or "" for one in left}, {one.key: one.state for one in left if one.state}
    )
    return len(hints)


def _require_some(table: Table, found: list[Difference], uri: str) -> None:
    """An inventory of another folder lacks every key: to ask S3 for each would cost more than a listing."""
    missing = sum(one.kind == "missing" for one in found)
    if missing >= REMOVAL_FLOOR:
        raise InventoryError(
            f"the inventory {uri} has no object below {table.key.uri}, of which the ledger knows {missing} or more. "
            "Does its configuration filter by another prefix? If they are gone indeed, take `inventory` out of "
            "lake.yaml and materialize the partition, which lists the prefix"
        )


def _days_too_old(created: float) -> int:
    days = int((time.time() - created) / 86_400)
    return days if days >= _OLD_DAYS else 0
