"""One bronze run: look, prepare, decide, commit, record, with a seam between any two.

What is durable after each step::

    look      nothing               (what listings found is in the inbox)
    prepare   files in the table's folder that no commit has yet
    decide    batch n, for ever     (from here on, any run continues with it)
    commit    one Delta version     (or none: the batch is void)
    record    the ledger's row n+1, deferred hints; at last the manifests are deleted
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.assets.bronze.after_load import after_notes
from tidegate.assets.bronze.commit import commit
from tidegate.assets.bronze.decide import decide
from tidegate.assets.bronze.look import look
from tidegate.assets.bronze.prepare.birth_doubts import birth_doubts
from tidegate.assets.bronze.prepare.prepare import prepare
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.assets.bronze.record import finish, record, unfinished
from tidegate.assets.maintenance.compaction import compact, is_due
from tidegate.assets.reconcile.inventory import compare_inventory
from tidegate.assets.reconcile.listing import list_prefix
from tidegate.assets.runs.listener import RunListener
from tidegate.assets.runs.options import RunOptions
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.manifest import is_taken
from tidegate.platform.core.failpoints import seam
from tidegate.resources.lake import Table
from tidegate.resources.lake_root.inbox import WaitingManifest
from tidegate.resources.ledger import Clock
from tidegate.resources.spark.results import CommitResult

#: The seams of one run, in order; each is right after the step that it is named for.
SEAMS = ("look", "prepare", "decide", "commit", "record-ledger", "record-deferred", "after-load", "record-manifests")

#: Batches of one run: a run that finds more leaves the rest to the next.
MAX_BATCHES = 20


@dataclass(frozen=True)
class BatchResult:
    """A batch and what landed of it; ``found`` if an earlier run decided it."""

    batch: Batch
    landed: CommitResult
    found: bool = False


def run_table(table: Table, options: RunOptions, listener: RunListener | None = None) -> list[BatchResult]:
    """Bring one bronze table up to date with its inbox.

    Args:
        table: the table.
        options: what the run may do.
        listener: takes what the run reports.

    Returns:
        What was committed, oldest first; empty if nothing was waiting.
    """
    listener = listener or RunListener()
    done: list[BatchResult] = []
    first = True
    if options.listing:
        for line in table.lake.drift(table):
            listener.log(f"WARNING: {line}")
    for _ in range(MAX_BATCHES):
        # A batch that some run left unfinished still has its manifests in the inbox. What after-load took away waits
        # for the next run, which S3's own events of it ask for.
        if not first and all(is_taken(waiting.id) for waiting in table.inbox.waiting()):
            break
        result = _next_batch(table.reopened(), options, listener, first=first)
        if result is None:
            break
        done.append(result)
        first = first and result.found
        if result.batch.deferred and not result.batch.rows and not first:
            break  # Every hint was put off: S3 does not answer for them now, and to go on would be to spin.
    if done:
        _compact(table.reopened(), done[0].batch, done[-1].batch, listener.log)
    return done


def _next_batch(table: Table, options: RunOptions, listener: RunListener, *, first: bool) -> BatchResult | None:
    clock, log = table.ledger.clock(), listener.log
    waiting: Sequence[WaitingManifest] | None = table.inbox.waiting()
    if half_recorded := unfinished(table, clock, waiting or ()):
        log(f"batch {clock.n} is in the ledger, its manifests are still in the inbox: finishing it")
        header = table.ledger.header(clock.version, clock.n)
        finish(table, half_recorded, log, void=header is not None and header.outcome == "void")
        waiting = None
    if batch := table.batches.read(clock.n + 1):
        log(f"batch {batch.n} was decided by run {batch.run_id or 'unknown'} and not recorded: going on with it")
        return _land(table, batch, options, log, found=True)
    lists = options.listing and first
    if _list(table, clock, options, listener, lists=lists):
        waiting = None
    if first:
        after_notes(table, log, at_once=lists)
    draft = look(table, clock, waiting, allow_removals=options.allow_removals)
    if draft is None:
        return None
    seam("look")
    log(
        f"batch {draft.n}: {len(draft.plan.candidates)} objects to add, {len(draft.plan.drop)} to remove, "
        f"{len(draft.plan.rows)} decided already, {len(draft.plan.deferred)} hints deferred"
    )
    prepared = prepare(table, draft)
    seam("prepare")
    batch = decide(table, draft, prepared, options.run_id)
    seam("decide")
    result = _land(table, batch, options, log, found=False)
    _doubt(table, draft, prepared, batch, log)
    return result


def _land(table: Table, batch: Batch, options: RunOptions, log: Callable[[str], None], *, found: bool) -> BatchResult:
    landed = commit(table, batch, verify_files=found)
    seam("commit")
    log(
        f"batch {batch.n} {landed.outcome} as version {landed.version}"
        + (f": {landed.reason}" if landed.reason else "")
    )
    record(table, batch, landed, options.run_id, log)
    return BatchResult(batch, landed, found)


def _list(table: Table, clock: Clock, options: RunOptions, listener: RunListener, *, lists: bool) -> bool:
    """Turn a listing or an inventory into hints, where this run should. Returns whether it did."""
    log, uri, after = listener.log, table.key.uri, options.after
    if clock.n == 0 and table.birth and table.birth.folder:
        # A generation begins with every file: an inventory lacks the last ones, and how far an earlier listing came
        # was another generation's.
        log(f"listing {uri}: {list_prefix(table, clock)} keys differ from the ledger")
        return True
    if not lists:
        return False

    def listed(key: str, objects: int, differing: int) -> None:
        how_far = f"up to {key}" if key else "all"
        log(f"listing {uri}: {objects} objects ({how_far}), {differing} keys differ from the ledger")
        listener.came_to(key)

    if after:
        log(f"listing {uri}: it goes on behind {after}, where an earlier run came to")
    if table.spec.inventory:
        listener.inventoried(compare_inventory(table, clock, after=after, came_to=listener.came_to, log=log))
    else:
        list_prefix(table, clock, after=after, listed=listed)
    return True


def _doubt(table: Table, draft: BatchDraft, prepared: PreparedBatch, batch: Batch, log: Callable[[str], None]) -> None:
    """Warn of what a first load may have read otherwise than its producer meant."""
    if prepared.base or draft.birth.registered:
        return
    entered = {row.key for row in batch.rows if row.status == Status.COMMITTED}
    candidates = [candidate for candidate in draft.plan.candidates if candidate.key in entered]
    for line in birth_doubts(table, candidates, prepared.schema):
        log(f"WARNING: {line}")


def _compact(table: Table, first: Batch, last: Batch, log: Callable[[str], None]) -> None:
    if last.commits and table.birth and not table.birth.registered and is_due(first.n - 1, last.n):
        compact(table.delta, last.location, f"bronze.{table.birth.name}", log)
