"""Hints from a listing: what no event announced, or whose event was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidegate.assets.bronze.after_load import note_what_lies_there
from tidegate.assets.bronze.removals import require_bucket
from tidegate.platform.core.bronze.hint import MISSING, Hint
from tidegate.platform.core.bronze.ledger import PRESENT
from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.routing.route import Routed, route, rows_route
from tidegate.resources.aws.s3 import Listed
from tidegate.resources.lake import Table
from tidegate.resources.ledger import Clock

#: Objects of a listing after which its hints are written: a hundred requests.
LISTED_AT_ONCE = 100_000


def own_objects(table: Table, after: str = "") -> Iterator[Listed]:
    """The objects under a table's prefix that are its sources, in key order; from the first key after ``after`` on."""
    for item in table.source.under(table.key.prefix, after):
        if is_source(table, item.key):
            yield item


def is_source(table: Table, key: str) -> bool:
    """Whether an object of a table's bucket is one of its sources."""
    found = rows_route(table.key.bucket, key, table.lake.config) or route(
        table.key.bucket, key, table.lake.config, {table.key}
    )
    return isinstance(found, Routed) and found.table == table.key


def list_prefix(
    table: Table, clock: Clock, *, after: str = "", listed: Callable[[str, int, int], None] | None = None
) -> int:
    """Turn the difference between the prefix's listing and the ledger into hints; how many.

    This is what makes a materialization by hand, or a backfill, find what no event told. Hints are written as the
    listing goes on, so a run that dies has lost nothing of what it had listed.

    Args:
        table: the table.
        clock: the ledger's.
        after: the key that an earlier run came to; its listing goes on behind it.
        listed: told how far it came: the key, how many objects, how many of them differ.

    Raises:
        StoreError: the source bucket is gone or S3 does not answer.
    """
    require_bucket(table)
    states = table.ledger.live_keys(clock.version)
    # The ledger's keys in the order of the listing, to tell the missing ones as it goes on.
    known = iter(sorted(key for key in states if key > after))
    next_known = next(known, None)
    hints: list[Hint] = []
    here: dict[str, str] = {}
    objects = differing = 0

    def missing(upto: str | None) -> None:
        """Hints of the keys that the ledger has before the next one that is there."""
        nonlocal next_known
        while next_known is not None and (upto is None or next_known <= upto):
            if next_known != upto and states[next_known].status in PRESENT:
                hints.append(Hint(next_known, event_name=MISSING))
            next_known = next(known, None)

    def keep(key: str) -> None:
        nonlocal differing
        differing += len(hints)
        table.inbox.put(chunked(table.text, "listing", hints, table.spec.max_files))
        note_what_lies_there(table, here, states)
        hints.clear()
        here.clear()
        if listed is not None:
            listed(key, objects, differing)

    for item in own_objects(table, after):
        missing(item.key)
        objects += 1
        here[item.key] = item.etag
        state = states.get(item.key)
        if state is None or state.etag != item.etag:
            hints.append(Hint(item.key, size=item.size))
        if objects % LISTED_AT_ONCE == 0:
            keep(item.key)
    missing(None)
    keep("")
    return differing
