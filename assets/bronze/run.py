"""One bronze run: look, prepare, decide, commit, record, with a seam between any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.assets.bronze.after_load import after_batch, after_notes
from tidegate.assets.bronze.decide import decide
from tidegate.assets.bronze.look import Clock, Work, decided, list_prefix, look, read_clock, unfinished
from tidegate.assets.bronze.prepare.birth_doubts import birth_doubts
from tidegate.assets.bronze.prepare.load.load import prepare_load
from tidegate.assets.bronze.prepare.prepared import Prepared
from tidegate.assets.bronze.prepare.register import prepare_register
from tidegate.assets.maintenance.compaction import compact, is_due
from tidegate.assets.reconcile.inventory import Inventoried, compare_inventory
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.manifest import Manifest, is_taken
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import Lake, Table
from tidegate.resources.lake_root.inbox import Waiting
from tidegate.resources.spark.delta import Landed

#: The seams of one run, in order; each lies right after the step that it is named for.
SEAMS = ("look", "prepare", "decide", "commit", "record-ledger", "record-deferred", "after-load", "record-manifests")

#: Batches of one run: a run that finds more leaves the rest to the next.
MOST_BATCHES = 20


@dataclass(frozen=True)
class Done:
    """A batch and what landed of it; ``found`` if an earlier run decided it."""

    batch: Batch
    landed: Landed
    found: bool = False


def run_table(
    lake: Lake,
    text: str,
    *,
    run_id: str,
    listing: bool = False,
    allow_removals: bool = False,
    log: Callable[[str], None] = lambda _: None,
    after: str = "",
    came_to: Callable[[str], None] = lambda _: None,
    inventoried: Callable[[Inventoried], None] = lambda _: None,
) -> list[Done]:
    """Bring one bronze table up to date with its inbox.

    Args:
        lake: handles.
        text: table key.
        run_id: Dagster's run id, for the ledger.
        listing: first turn the prefix's listing, or the table's inventory, into hints: for runs that no event asked
            for.
        allow_removals: let a batch remove most of a registered table's files.
        log: takes progress, a line at a time.
        after: key to which the listing of an earlier run came; this one's goes on behind it.
        came_to: told the key to which the listing came; empty when it came to its end.
        inventoried: told what the comparison with the table's inventory found, where it has one.

    Returns:
        What was committed, oldest first; empty if nothing was waiting.
    """
    done: list[Done] = []
    first = True

    def list_table(table: Table, clock: Clock) -> None:
        def listed(key: str, objects: int, differing: int) -> None:
            how_far = f"up to {key}" if key else "all"
            log(f"listing {table.key.uri}: {objects} objects ({how_far}), {differing} keys differ from the ledger")
            came_to(key)

        if after:
            log(f"listing {table.key.uri}: it goes on behind {after}, where an earlier run came to")
        if table.spec.inventory:
            inventoried(compare_inventory(lake, table, clock, after=after, came_to=came_to, log=log))
        else:
            list_prefix(lake, table, clock, after=after, listed=listed)

    if listing:
        for line in lake.drift(lake.table(text)):
            log(f"WARNING: {line}")
    for _ in range(MOST_BATCHES):
        # A batch that some run left unfinished still has its manifests in the inbox. What after-load took away waits
        # for the next run, which S3's own events of it ask for.
        if not first and all(is_taken(waiting.id) for waiting in lake.store.inbox.waiting(text)):
            break
        one = _next_batch(
            lake,
            lake.table(text),
            run_id,
            first=first,
            list_table=list_table if listing and first else None,
            allow_removals=allow_removals,
            log=log,
        )
        if one is None:
            break
        done.append(one)
        first = first and one.found
        if one.batch.deferred and not one.batch.rows and not first:
            break  # Every hint was put off: S3 does not answer for them now, and to go on would be to spin.
    if done:
        _compact(lake, done[0].batch, done[-1].batch, log)
    return done


def _next_batch(
    lake: Lake,
    table: Table,
    run_id: str,
    *,
    first: bool,
    list_table: Callable[[Table, Clock], None] | None,
    allow_removals: bool,
    log: Callable[[str], None],
) -> Done | None:
    clock = read_clock(table)
    waiting: Sequence[Waiting] | None = lake.store.inbox.waiting(table.text)
    if half_recorded := unfinished(table, clock, waiting or ()):
        log(f"batch {clock.n} is in the ledger, its manifests are still in the inbox: finishing it")
        header = table.ledger.header(clock.version, clock.n)
        _finish(lake, table, half_recorded, log, void=header is not None and header.outcome == "void")
        waiting = None
    batch = decided(lake, table, clock)
    found = batch is not None
    born: tuple[Sequence[Candidate], TableSchema] | None = None
    if batch is None:
        if clock.n == 0 and table.birth and table.birth.folder:
            # A generation begins with every file: an inventory lacks the last ones, and how far an earlier listing came
            # was another generation's.
            log(f"listing {table.key.uri}: {list_prefix(lake, table, clock)} keys differ from the ledger")
            waiting = None
        elif list_table is not None:
            list_table(table, clock)
            waiting = None
        if first:
            after_notes(lake, table, log, at_once=list_table is not None)
        work = look(lake, table, clock, waiting, allow_removals=allow_removals)
        if work is None:
            return None
        seam("look")
        log(
            f"batch {work.n}: {len(work.plan.candidates)} objects to add, {len(work.plan.drop)} to remove, "
            f"{len(work.plan.rows)} decided already, {len(work.plan.deferred)} hints deferred"
        )
        prepared = _prepare(lake, table, work)
        seam("prepare")
        batch = decide(lake, table, work, prepared, run_id)
        seam("decide")
        born = None if prepared.base or work.birth.registered else (work.plan.candidates, prepared.schema)
    else:
        log(f"batch {batch.n} was decided by run {batch.run_id or 'unknown'} and not recorded: going on with it")
    landed = _commit(lake, table, batch, verify_files=found)
    seam("commit")
    log(
        f"batch {batch.n} {landed.outcome} as version {landed.version}"
        + (f": {landed.reason}" if landed.reason else "")
    )
    _record(lake, table, batch, landed, run_id, log)
    if born:
        entered = {row.key for row in batch.rows if row.status == Status.COMMITTED}
        candidates, schema = born
        for line in birth_doubts(lake, table, [one for one in candidates if one.key in entered], schema):
            log(f"WARNING: {line}")
    return Done(batch, landed, found)


def _prepare(lake: Lake, table: Table, work: Work) -> Prepared:
    prepared = prepare_register(lake, table, work) if work.birth.registered else prepare_load(lake, table, work)
    prepared.require_progress(work.plan)
    return prepared


def _commit(lake: Lake, table: Table, batch: Batch, *, verify_files: bool) -> Landed:
    if not batch.commits:
        return Landed(version=-1, outcome="committed", digest=batch.digest, reason=None, replayed=False)
    return lake.delta.add_files(batch.location, table.batches.uri(batch.n), verify_files=verify_files)


def _record(lake: Lake, table: Table, batch: Batch, landed: Landed, run_id: str, log: Callable[[str], None]) -> None:
    if landed.digest != batch.digest:
        raise RuntimeError(
            f"the commit of batch {batch.n} of {table.text} carries digest {landed.digest}, the batch has "
            f"{batch.digest}: another lake wrote with this lake's identity. Stop both and compare them"
        )
    table.ledger.append(batch, landed, run_id)
    seam("record-ledger")
    _finish(lake, table, batch, log, void=landed.outcome == "void")


def _finish(lake: Lake, table: Table, batch: Batch, log: Callable[[str], None], *, void: bool) -> None:
    """What follows the ledger's append; repeating it changes nothing."""
    if batch.create or batch.n == 1:
        lake.name_table(table.text)
    if void:
        # Nothing of it landed, so every hint goes back. The manifests are still there: they are deleted last.
        taken = lake.store.inbox.read(batch.table, batch.manifests)
        hints = [hint for manifest in taken for hint in manifest.hints]
    else:
        hints = list(batch.deferred)
    if hints and _still_deferring(lake, batch):
        lake.store.inbox.put([Manifest.deferred(batch.table, batch.n, batch.digest, hints)])
    seam("record-deferred")
    if not void:
        after_batch(lake, table, batch, log)
    seam("after-load")
    lake.store.inbox.delete(batch.table, batch.manifests)
    seam("record-manifests")


def _compact(lake: Lake, first: Batch, last: Batch, log: Callable[[str], None]) -> None:
    if not last.commits or not is_due(first.n - 1, last.n):
        return
    birth = lake.store.births.read(last.table)
    if birth and not birth.registered:
        compact(lake.delta, last.location, f"bronze.{birth.name}", log)


def _still_deferring(lake: Lake, batch: Batch) -> bool:
    """Whether the deferred hints have yet to be put: the manifests go last, so without them all is done.

    A run that slept meanwhile would otherwise put back hints that a later batch has decided.
    """
    waiting = {one.id for one in lake.store.inbox.waiting(batch.table)}
    put = any(one.startswith(Manifest.deferred_prefix(batch.n, batch.digest)) for one in waiting)
    return not put and not waiting.isdisjoint(batch.manifests)
