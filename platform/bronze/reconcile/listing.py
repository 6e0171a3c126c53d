"""Compares a listing with the ledger: finds objects without an event, or with a lost event.

An empty `_SUCCESS` always has the same etag, so the ledger shows no difference where such a signal was written again.
Files that wait, and are not newer than the signal, show it. A listing has no checksums: bytes that the ledger knows
by another etag are found by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from tidegate.platform.bronze.after_load import note_loaded_files
from tidegate.platform.bronze.listener import LogListener, RunListener
from tidegate.platform.bronze.removal_guard import require_bucket
from tidegate.platform.core.bronze.hint import Hint, Missing
from tidegate.platform.core.bronze.ledger import PRESENT, LastState, Status
from tidegate.platform.core.bronze.manifest import split_into_manifests
from tidegate.platform.core.bronze.object_state import S3Found, same_bytes
from tidegate.platform.core.completion.signal_name import SignalKind, SignalName
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import Routed, route, rows_route
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.progress import GenerationListings, ListingProgress
from tidegate.platform.lake.ledger import Clock, Reading

#: Number of listed objects after which hints are written: 100 requests to S3.
LISTED_AT_ONCE = 100_000


def own_objects(source: Bucket, table: TableKey, config: LakeConfig, after: str = "") -> Iterator[Listed]:
    """Yield the source objects of a table in key order, from the first key after `after`."""
    for item in source.list_under(table.prefix, after):
        if is_source(table, config, item.key):
            yield item


def is_source(table: TableKey, config: LakeConfig, key: str) -> bool:
    """Return whether an object of a table's bucket is one of its sources."""
    found = rows_route(table.bucket, key, config) or route(table.bucket, key, config, {table})
    return isinstance(found, Routed) and found.table == table


def may_be_gone(spec: TableSpec, config: LakeConfig, key: str, state: LastState) -> bool:
    """Return whether a key that is not among a table's objects deserves a hint: S3 may no longer have its object.

    Without `completion` a signal such as `_SUCCESS` is not a source. Its object is where it was, and a hint would read
    it as a file.
    """
    of_signals = state.status in (Status.WAITING, Status.COMPLETE)
    if of_signals and not is_source(spec.table_key, config, key):
        return False
    if spec.rows_of_objects.removed and state.status is not Status.MOVED:
        # Earlier rows of a file in quarantine, or of one that was removed when the table kept them, leave as well.
        return state.status in PRESENT or state.status is Status.QUARANTINED or state.in_table
    return state.status in PRESENT


def list_prefix(table: Table, clock: Clock, listener: RunListener | None = None, *, after: str = "") -> int:
    """Write hints for the differences between a listing of the prefix and the ledger. Returns their number.

    With them, a materialization by hand, or a backfill, finds objects without an event. Hints are written during the
    listing, so a run that dies loses nothing of what it has listed.

    Args:
        listener: receives how far the listing is, after each part of it.
        after: the last key that an earlier run listed. This run resumes after it.

    Raises:
        StoreError: the source bucket does not exist or S3 does not answer.
    """
    require_bucket(table.key, table.table_key, table.source)
    listener, config = listener or RunListener(), table.lake.config
    states = table.ledger.live_keys(clock.version)
    # The ledger's keys in the order of the listing, to find missing keys during the listing.
    known = iter(sorted(key for key in states if key > after))
    next_known = next(known, None)
    hints: list[Hint] = []
    here: dict[str, str] = {}
    signals = RewrittenSignals(table.spec.completion)
    objects = differing = 0

    def add_missing(upto: str | None) -> None:
        """Add hints for the ledger's keys before the next listed key."""
        nonlocal next_known
        while next_known is not None and (upto is None or next_known <= upto):
            if next_known != upto and may_be_gone(table.spec, config, next_known, states[next_known]):
                hints.append(Hint(next_known, Missing()))
            next_known = next(known, None)

    def keep(key: str) -> None:
        nonlocal differing
        differing += len(hints)
        table.inbox.put(split_into_manifests(table.table_key, "listing", hints, table.spec.max_files))
        note_loaded_files(table.spec, table.after_notes, here, states)
        hints.clear()
        here.clear()
        how_far = f"up to {key}" if key else "all"
        listener.log(f"listing {table.key.uri}: {objects} objects ({how_far}), {differing} keys differ from the ledger")
        listener.listing_reached(key)

    for item in own_objects(table.source, table.key, config, after):
        add_missing(item.key)
        objects += 1
        here[item.key] = item.etag
        state = states.get(item.key)
        signals.add(item, state)
        if state is None or state.etag != item.etag or (state.status is Status.WAITING and not table.spec.completion):
            hints.append(Hint(item.key, size=item.size))
        if objects % LISTED_AT_ONCE == 0:
            keep(item.key)
    add_missing(None)
    hints += [Hint(key) for key in signals.covering_signals()]
    keep("")
    return differing


def list_generation(table: Table, clock: Clock, log: Callable[[str], None] = lambda _: None) -> int | None:
    """Write hints for all objects of a generation that a reset began. Returns their number.

    A listing that was ended is resumed after the last key whose hints are in the inbox. Until the generation has a
    batch, its hints stay there: no run of an earlier generation can decide a batch with them.

    Returns None if an earlier listing of this generation came to its end, if no reset began it, or if it has batches.

    Args:
        table: the table as it is after the reset.
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


class RewrittenSignals:
    """The signals and the waiting files of one listing.

    Args:
        completion: that of the table. Without signals that cover their folders, nothing is found.
    """

    def __init__(self, completion: str | None) -> None:
        name = SignalName.parse(completion) if completion else None
        self._name = name if name and name.kind is SignalKind.FOLDER else None
        self._signals: dict[str, Listed] = {}
        self._oldest: dict[str, float] = {}

    def add(self, item: Listed, state: LastState | None) -> None:
        """Add an object of the listing, with its last state in the ledger."""
        if self._name is None or state is None or state.etag != item.etag:
            return
        folder = folder_of(item.key)
        if self._name.matches(item.key):
            # A signal in quarantine waits for a redrive.
            if state.status is not Status.QUARANTINED:
                self._signals[folder] = item
        elif state.status is Status.WAITING:
            self._oldest[folder] = min(item.modified, self._oldest.get(folder, item.modified))

    def covering_signals(self) -> list[str]:
        """Return the signals that cover a file that waits."""
        found: dict[str, None] = {}
        for folder, modified in self._oldest.items():
            signal = self._nearest_signal(folder)
            # S3's times have whole seconds.
            if signal and int(modified) <= int(signal.modified):
                found[signal.key] = None
        return list(found)

    def _nearest_signal(self, folder: str) -> Listed | None:
        while folder not in self._signals and folder:
            folder = folder_of(folder[:-1])
        return self._signals.get(folder)


def replace_known_etags(source: Bucket, present: Sequence[Listed], readings: Iterable[Reading]) -> list[Listed]:
    """Replace the etags of listed objects by the etags that the ledger has for the same bytes.

    S3 is asked only for objects with an unknown etag and the size of a reading that has a checksum.
    """
    last: dict[str, list[Reading]] = {}
    for reading in sorted(readings, key=lambda reading: -reading.n):
        last.setdefault(reading.key, []).append(reading)
    unsure = [item.key for item in present if _may_be_known(item, last.get(item.key, []))]
    if not unsure:
        return list(present)
    probes = source.head_many(unsure)

    def replace_etag(item: Listed) -> Listed:
        found = probes.get(item.key)
        if not isinstance(found, S3Found):
            return item
        return next(
            (replace(item, etag=reading.etag) for reading in last[item.key] if same_bytes(found, reading)), item
        )

    return [replace_etag(item) for item in present]


def _may_be_known(item: Listed, readings: Sequence[Reading]) -> bool:
    if any(reading.etag == item.etag for reading in readings):
        return False
    return any(reading.size == item.size and reading.checksum for reading in readings)
