"""Compares a listing with the ledger: finds objects without an event, or with a lost event."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidegate.platform.bronze.after_load import note_loaded_files
from tidegate.platform.bronze.listener import LogListener, RunListener
from tidegate.platform.bronze.reconcile.rewritten_signals import RewrittenSignals
from tidegate.platform.bronze.removals import require_bucket
from tidegate.platform.core.bronze.hint import Hint, Missing
from tidegate.platform.core.bronze.ledger import PRESENT, LastState, Status
from tidegate.platform.core.bronze.manifest import chunked
from tidegate.platform.core.routing.route import Routed, route, rows_route
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.listings import GenerationListings, ListingProgress
from tidegate.platform.lake.ledger import Clock

#: Number of listed objects after which hints are written: 100 requests to S3.
LISTED_AT_ONCE = 100_000


def own_objects(table: Table, after: str = "") -> Iterator[Listed]:
    """Yield the source objects of a table in key order, from the first key after `after`."""
    for item in table.source.under(table.key.prefix, after):
        if is_source(table, item.key):
            yield item


def is_source(table: Table, key: str) -> bool:
    """Whether an object of a table's bucket is one of its sources."""
    bucket, config = table.key.bucket, table.lake.config
    found = rows_route(bucket, key, config) or route(bucket, key, config, {table.key})
    return isinstance(found, Routed) and found.table == table.key


def may_be_gone(table: Table, key: str, state: LastState) -> bool:
    """Whether a key that is not among a table's objects deserves a hint: S3 may no longer have its object.

    Without `completion` a signal such as `_SUCCESS` is not a source. Its object is where it was, and a hint would read
    it as a file.
    """
    if state.status in (Status.WAITING, Status.COMPLETE) and not is_source(table, key):
        return False
    return state.status in PRESENT


def list_prefix(table: Table, clock: Clock, listener: RunListener | None = None, *, after: str = "") -> int:
    """Write hints for the differences between a listing of the prefix and the ledger. Returns their number.

    With them, a materialization by hand, or a backfill, finds objects without an event. Hints are written during the
    listing, so a run that dies loses nothing of what it has listed.

    Args:
        clock: the clock of the table's ledger.
        listener: receives how far the listing is, after each part of it.
        after: the last key that an earlier run listed. This run resumes after it.

    Raises:
        StoreError: the source bucket does not exist or S3 does not answer.
    """
    require_bucket(table)
    listener = listener or RunListener()
    states = table.ledger.live_keys(clock.version)
    # The ledger's keys in the order of the listing, to find missing keys during the listing.
    known = iter(sorted(key for key in states if key > after))
    next_known = next(known, None)
    hints: list[Hint] = []
    here: dict[str, str] = {}
    signals = RewrittenSignals(table)
    objects = differing = 0

    def missing(upto: str | None) -> None:
        """Add hints for the ledger's keys before the next listed key."""
        nonlocal next_known
        while next_known is not None and (upto is None or next_known <= upto):
            if next_known != upto and may_be_gone(table, next_known, states[next_known]):
                hints.append(Hint(next_known, Missing()))
            next_known = next(known, None)

    def keep(key: str) -> None:
        nonlocal differing
        differing += len(hints)
        table.inbox.put(chunked(table.table_key, "listing", hints, table.spec.max_files))
        note_loaded_files(table, here, states)
        hints.clear()
        here.clear()
        how_far = f"up to {key}" if key else "all"
        listener.log(f"listing {table.key.uri}: {objects} objects ({how_far}), {differing} keys differ from the ledger")
        listener.listing_reached(key)

    for item in own_objects(table, after):
        missing(item.key)
        objects += 1
        here[item.key] = item.etag
        state = states.get(item.key)
        signals.add(item, state)
        if state is None or state.etag != item.etag or (state.status is Status.WAITING and not table.spec.completion):
            hints.append(Hint(item.key, size=item.size))
        if objects % LISTED_AT_ONCE == 0:
            keep(item.key)
    missing(None)
    hints += [Hint(key) for key in signals.covering()]
    keep("")
    return differing


def list_generation(table: Table, clock: Clock, log: Callable[[str], None] = lambda _: None) -> int | None:
    """Write hints for all objects of a generation that a reset began. Returns their number.

    A listing that was ended is resumed after the last key whose hints are in the inbox. Until the generation has a
    batch, its hints stay there: no run of an earlier generation can decide a batch with them.

    Returns None if an earlier listing of this generation came to its end, if no reset began it, or if it has batches.

    Args:
        table: the table as it is after the reset.
        clock: the clock of the table's ledger.
        log: called with each line of progress.

    Raises:
        StoreError: the source bucket does not exist or S3 does not answer.
    """
    folder = table.birth.generation_folder if clock.n == 0 and table.birth else ""
    if not folder:
        return None
    listings = table.lake.store.generation_listings
    reached = listings.read(folder)
    if reached.whole:
        return None
    if reached.key:
        log(f"listing {table.key.uri}: resuming after {reached.key}, the last key that an earlier run listed")
    return list_prefix(table, clock, _GenerationListener(log, listings, folder), after=reached.key)


class _GenerationListener(LogListener):
    """Records how far the listing of a generation is, so that another run can resume it.

    Two runs may list at once, and the one that is behind may write last: its key is true as well.
    """

    def __init__(self, log: Callable[[str], None], listings: GenerationListings, folder: str) -> None:
        super().__init__(log)
        self._listings, self._folder = listings, folder

    def listing_reached(self, key: str) -> None:
        """Write the last listed key."""
        self._listings.write(self._folder, ListingProgress(key, whole=not key))
