"""Step 1, look: the table's clock, the hints waiting, and S3's present state of their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.assets.bronze.after_load import note_what_lies_there
from tidegate.assets.bronze.small_objects import SmallObjects
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import PRESENT, Header, LastState
from tidegate.platform.core.bronze.manifest import MISSING, Hint, chunked, is_note, is_rebuild
from tidegate.platform.core.bronze.plan import BATCH_BYTES, Gone, Plan, Probe, TakenHint, make_plan
from tidegate.platform.core.keys.file_format import format_of
from tidegate.platform.core.routing.route import Routed, route, rows_route
from tidegate.resources.aws.s3 import Listed, StoreError
from tidegate.resources.lake import Lake, Table
from tidegate.resources.lake_root.births import Birth
from tidegate.resources.lake_root.inbox import Waiting
from tidegate.resources.parquet.tail import probe_with_footer
from tidegate.resources.threads import parallel

#: A batch that removes at least this many files, and more than this share of the live ones, stops and asks.
REMOVAL_FLOOR = 10
REMOVAL_SHARE = 0.5
#: Objects of a listing after which its hints are written: a hundred requests.
LISTED_AT_ONCE = 100_000
#: How events of objects that go begin, and what a listing says of a key that it lacks.
_REMOVED = ("ObjectRemoved", "LifecycleExpiration", MISSING)


class TooManyRemovals(RuntimeError):
    """So many files are gone at once that somebody should look first."""


@dataclass(frozen=True)
class Work:
    """What a look found to do: the plan of batch n.

    Attributes:
        manifests: ids of the manifests taken, whole.
        states: the ledger's last states of the keys taken.
        previous: the ledger's last header, None before batch 1.
    """

    n: int
    birth: Birth
    previous: Header | None
    manifests: tuple[str, ...]
    plan: Plan
    states: Mapping[str, LastState]

    @property
    def after_version(self) -> int:
        """Version of the Delta table that this generation has last committed; -1 while there is no table."""
        return self.previous.bronze_version if self.previous else self.birth.after_version


@dataclass(frozen=True)
class Clock:
    """One version of the ledger, and the last batch number in it."""

    version: int
    n: int


def read_clock(table: Table) -> Clock:
    """The table's clock."""
    return Clock(*table.ledger.clock())


def decided(lake: Lake, table: Table, clock: Clock) -> Batch | None:
    """Batch n+1, if some earlier run decided it and died; it goes first, as it is."""
    return table.batches.read(clock.n + 1)


def look(
    lake: Lake, table: Table, clock: Clock, waiting: Sequence[Waiting] | None = None, *, allow_removals: bool = False
) -> Work | None:
    """Plan batch n+1 from the hints waiting; None if there are none.

    Args:
        lake: handles.
        table: the table.
        clock: the ledger's.
        waiting: the table's manifests as they were just listed; None: list them.
        allow_removals: let the batch remove most of a registered table's files.

    Raises:
        StoreError: the source bucket is gone or S3 does not answer.
        TooManyRemovals: see ``REMOVAL_SHARE``.
    """
    waiting = _in_order(lake.store.inbox.waiting(table.text) if waiting is None else waiting)
    ids = _of_one_batch(waiting, table.spec.max_files)
    manifests = lake.store.inbox.read(table.text, ids)
    if not manifests:
        return None
    taken = [TakenHint(hint, manifest.id) for manifest in manifests for hint in manifest.hints]
    keys = list(dict.fromkeys(item.hint.key for item in taken))
    previous, states = table.ledger.memory(clock.version, clock.n, keys)
    found = probes(lake, table, keys, states, {item.hint.key: item.hint.size for item in taken})
    if any(isinstance(probe, Gone) for probe in found.values()):
        require_bucket(lake, table)
    birth = lake.bear(table, keys[0])
    plan = make_plan(taken, found, states, registered=birth.registered)
    if not allow_removals:
        _guard_removals(lake, table, birth, len(plan.drop), [one.id for one in waiting[len(ids) :]])
    return Work(clock.n + 1, birth, previous, tuple(manifest.id for manifest in manifests), plan, states)


def _in_order(waiting: Sequence[Waiting]) -> list[Waiting]:
    """Notes of a lost server, of which the newest says most; then the others, oldest first, and a rebuild's last.

    Where there are notes a rebuild's are first: it may be what they tell of, and has to end with them.
    """
    notes = [one for one in waiting if is_note(one.id)]
    others = [one for one in waiting if not is_note(one.id)]
    return [*reversed(notes), *sorted(others, key=lambda one: is_rebuild(one.id) != bool(notes))]


def _of_one_batch(waiting: Sequence[Waiting], most_hints: int) -> list[str]:
    """Ids of the manifests that one batch takes, whole, in their order; notes are taken beside the bound.

    Of a rebuild's no more than a batch loads: what is put off is asked for again by each batch, and a rebuild puts all
    of a table into the inbox.
    """
    ids = [one.id for one in waiting if is_note(one.id)]
    hints = size = 0
    for one in waiting[len(ids) :]:
        full = hints + one.hints > most_hints or (is_rebuild(one.id) and size + one.size > BATCH_BYTES)
        if hints and full:
            break
        ids.append(one.id)
        hints, size = hints + one.hints, size + one.size
    return ids


def probes(
    lake: Lake,
    table: Table,
    keys: Sequence[str],
    states: Mapping[str, LastState],
    sizes: Mapping[str, int | None],
) -> dict[str, Probe]:
    """S3's present state of the keys.

    Of those that the ledger does not know it comes with what is needed of the object: the footer of Parquet, all bytes
    of what is small otherwise.

    Args:
        lake: handles.
        table: the table.
        keys: below its prefix.
        states: what the ledger knows of keys.
        sizes: bytes of the objects, as events said.
    """
    objects, bucket = lake.store.objects, table.key.bucket
    small = SmallObjects(objects, bucket)

    def probe(key: str) -> tuple[str, Probe]:
        if key in states:
            return key, objects.head(bucket, key)
        if (table.spec.format or format_of(key)) == "parquet":
            return key, probe_with_footer(objects, bucket, key)
        return key, small.probe(key, sizes.get(key))

    return dict(parallel(probe, keys))


def own_objects(lake: Lake, table: Table, after: str = "") -> Iterator[Listed]:
    """The objects under a table's prefix that are its sources, in key order; from the first key after ``after`` on."""
    for item in lake.store.objects.under(table.key.bucket, table.key.prefix, after):
        if is_source(lake, table, item.key):
            yield item


def is_source(lake: Lake, table: Table, key: str) -> bool:
    """Whether an object of a table's bucket is one of its sources."""
    found = rows_route(table.key.bucket, key, lake.config) or route(table.key.bucket, key, lake.config, {table.key})
    return isinstance(found, Routed) and found.table == table.key


def list_prefix(
    lake: Lake, table: Table, clock: Clock, *, after: str = "", listed: Callable[[str, int, int], None] | None = None
) -> int:
    """Turn the difference between the prefix's listing and the ledger into hints; how many.

    This is what makes a materialization by hand, or a backfill, find what no event told. Hints are written as the
    listing goes on, so a run that dies has lost nothing of what it had listed.

    Args:
        lake: handles.
        table: the table.
        clock: the ledger's.
        after: the key that an earlier run came to; its listing goes on behind it.
        listed: told how far it came: the key, how many objects, how many of them differ.

    Raises:
        StoreError: the source bucket is gone or S3 does not answer.
    """
    require_bucket(lake, table)
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
        lake.store.inbox.put(chunked(table.text, "listing", hints, table.spec.max_files))
        note_what_lies_there(lake, table, here, states)
        hints.clear()
        here.clear()
        if listed is not None:
            listed(key, objects, differing)

    for item in own_objects(lake, table, after):
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


def unfinished(table: Table, clock: Clock, waiting: Sequence[Waiting]) -> Batch | None:
    """Batch n, if a run died between recording it and deleting its manifests, some of which are still waiting."""
    if clock.n == 0 or not waiting:
        return None
    batch = table.batches.read(clock.n)
    return batch if batch and not {one.id for one in waiting}.isdisjoint(batch.manifests) else None


def require_bucket(lake: Lake, table: Table) -> None:
    """Stop where a table's bucket is gone: none of its files is believed to be.

    Raises:
        StoreError: it is gone, or S3 did not answer.
    """
    if not lake.store.objects.bucket_exists(table.key.bucket):
        raise StoreError(
            f"the source bucket s3://{table.key.bucket} does not exist, so no file of {table.text} is believed "
            "to be gone: restore the bucket, or take the table out of lake.yaml"
        )


def _guard_removals(lake: Lake, table: Table, birth: Birth, gone: int, waiting: Sequence[str]) -> None:
    """Stop before most of a registered table goes, at once or batch by batch.

    Args:
        lake: handles.
        table: the table.
        birth: its birth.
        gone: files that this batch would remove.
        waiting: ids of the manifests behind this batch: what they say was removed counts as well.
    """
    if not birth.registered or gone < REMOVAL_FLOOR:
        return
    behind = sum(
        hint.event_name.startswith(_REMOVED)
        for manifest in lake.store.inbox.read(table.text, waiting)
        for hint in manifest.hints
    )
    live = lake.delta.table_state(birth.location).files
    if gone + behind > REMOVAL_SHARE * live:
        raise TooManyRemovals(
            f"{gone + behind} of {live} live files of bronze.{birth.name} are gone from S3, or were overwritten, at "
            "once. If that is meant, materialize the partition with the run tag tidegate/allow-removals=true; nothing "
            "was changed"
        )
