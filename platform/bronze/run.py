"""One bronze run: look, prepare, decide, commit, record, with a seam after each step.

What is durable after each step::

    look      nothing               (hints of a listing are in the inbox)
    prepare   files in the table's folder that are in no commit yet
    decide    batch n               (from here on, any run continues with it)
    commit    one Delta version     (or none if the batch is void)
    record    rows in the ledger, deferred hints in the inbox, signals that wait for a part, and last, the batch's
              manifests deleted
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidegate.platform.bronze.after_load import retry_noted
from tidegate.platform.bronze.commit import commit
from tidegate.platform.bronze.decide import UnreadableFiles, decide
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.look import look
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.prepare.birth_doubts import birth_doubts
from tidegate.platform.bronze.prepare.load.server_losses import require_awake
from tidegate.platform.bronze.prepare.prepare import prepare
from tidegate.platform.bronze.prepare.read_timeouts import MAX_SECONDS, limit_reading
from tidegate.platform.bronze.prepared_batch import PreparedBatch, keep_named_folders
from tidegate.platform.bronze.reconcile.inventory import compare_inventory
from tidegate.platform.bronze.reconcile.listing import list_generation, list_prefix
from tidegate.platform.bronze.record import find_unfinished, finish, record
from tidegate.platform.catalog import sync_table
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.bronze.manifest import is_taken
from tidegate.platform.core.bronze.plan import BatchDraft, Plan
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.inbox import TableInbox, WaitingManifest
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.spark.delta import NOT_SEEN
from tidegate.platform.lake.spark.results import CommitResult
from tidegate.platform.maintenance.compaction import compact_after_commit, is_due

#: The seams of one run, in order. Each is right after the step of its name.
SEAMS = (
    "look",
    "prepare",
    "decide",
    "commit",
    "record-ledger",
    "record-deferred",
    "record-signals",
    "after-load",
    "record-manifests",
)

#: Batches of one run. The rest is left to the next run.
MAX_BATCHES = 20
#: Seconds after which a run reads no files. It has an hour (`max_runtime_seconds` of dagster.yaml), and a run of
#: several tables begins the last of them later.
READS_SECONDS = 3300
#: Seconds that are worth a read. A run that listed for so long that fewer are left lets the next run read.
_WORTH_SECONDS = 300


@dataclass(frozen=True)
class BatchResult:
    """A batch and the result of its commit.

    Attributes:
        found: whether an earlier run decided the batch.
        has_all: whether nothing was in the inbox that the batch does not have, and nothing was put back: the next
            batch would begin within the table's window.
    """

    batch: Batch
    landed: CommitResult
    found: bool = False
    has_all: bool = False


def run_table(table: Table, options: RunOptions, listener: RunListener | None = None) -> list[BatchResult]:
    """Bring one bronze table up to date with its inbox.

    Args:
        options: what the run may do.
        listener: receives the run's reports.

    Returns:
        The batches, oldest first. Empty if no hint was waiting.
    """
    listener = listener or RunListener()
    until = time.monotonic() + READS_SECONDS
    done: list[BatchResult] = []
    first, present, has_all = True, table, False
    if other := table.delta.other_log_store(table.lake.config.lake.commits):
        listener.log(f"WARNING: {other}")
    if options.listing:
        for line in table.lake.drift(table):
            listener.log(f"WARNING: {line}")
    for _ in range(MAX_BATCHES):
        # What comes while a batch has all is the next run's, which the sensor requests when the window is over.
        if has_all or (not first and _is_empty(table.inbox)):
            break
        if not first and until - time.monotonic() < MAX_SECONDS:
            break  # Files that are read for long would be blamed for the time of the batches before them.
        if done or table.birth is None:
            present = table.reopen()
        result = _next_batch(present, options, listener, until, first=first)
        if result is None:
            break
        done.append(result)
        listener.batch_recorded(result.batch, result.landed)
        first, has_all = first and result.found, result.has_all
        if result.batch.deferred and not result.batch.rows and not first:
            break  # Every hint was deferred, because S3 does not answer. Another attempt now would be in vain.
    if done:
        _compact(present, [result.batch for result in done], listener.log)
    if any(result.batch.create or result.batch.adopt or result.batch.evolve for result in done):
        sync_table(table.lake, table.table_key, listener.log)
    return done


def _is_empty(inbox: TableInbox) -> bool:
    """Return whether no hint waits for a further batch.

    A batch that an earlier run left unfinished still has its manifests in the inbox. The hints of after-load wait for
    the next run, which S3's events of the removals start.
    """
    return all(is_taken(waiting.id) for waiting in inbox.waiting_manifests())


def continue_decided(table: Table, clock: Clock, options: RunOptions, log: Callable[[str], None]) -> BatchResult | None:
    """Commit and record the batch that an earlier run decided and left unfinished. Returns None if there is none."""
    batch = table.batches.read(clock.n + 1)
    if batch is None:
        return None
    log(f"batch {batch.n} was decided by run {batch.run_id or 'unknown'} and not recorded: continuing with it")
    return land(table, batch, options, log, found=True, begun=time.monotonic())


def _next_batch(
    table: Table, options: RunOptions, listener: RunListener, until: float, *, first: bool
) -> BatchResult | None:
    begun = time.monotonic()
    clock, log = table.ledger.clock(), listener.log
    listed = time.monotonic()
    waiting: Sequence[WaitingManifest] | None = table.inbox.waiting_manifests()
    if half_recorded := find_unfinished(table.batches, clock, waiting or ()):
        log(f"batch {clock.n} is in the ledger, but its manifests are still in the inbox: finishing it")
        header = table.ledger.header(clock.version, clock.n)
        outcome, version = (header.outcome, header.bronze_version) if header else ("committed", -1)
        finish(table, half_recorded, log, void=outcome == "void")
        # The run that recorded it did not come to the report of it.
        landed = CommitResult(version, outcome, half_recorded.digest, None, replayed=True)
        return BatchResult(half_recorded, landed, found=True)
    if result := continue_decided(table, clock, options, log):
        return result
    if not options.listing:  # A person may ask for a table that rests.
        require_awake(table.table_key, waiting or ())
    lists = options.listing and first
    if _list(table, clock, options, listener, lists=lists):
        waiting = None
    if first:
        retry_noted(table, log, at_once=lists)
    draft = look(table, clock, waiting, allow_removals=options.allow_removals)
    if draft is None:
        return None
    seam("look")
    log(
        f"batch {draft.n}: {len(draft.plan.candidates)} objects to add, {_count_removals(draft.plan)} to remove, "
        f"{len(draft.plan.rows)} decided already, {len(draft.plan.deferred)} hints deferred"
    )
    _warn_of_changed_inputs(draft, log)
    seconds = until - time.monotonic()
    if draft.plan.candidates and seconds < _WORTH_SECONDS:
        log("WARNING: listing took so long that this run has no time to read files: the next run reads them")
        return None
    with limit_reading(table.table_key, table.inbox, table.delta, draft.plan, seconds):
        prepared, batch = _prepare_and_decide(table, draft, options.run_id, log)
    seam("decide")
    result = land(table, batch, options, log, found=False, begun=begun, seen=prepared.version_seen(batch))
    _warn_about_doubts(table.spec, table.source, draft, prepared, batch, log)
    within = time.monotonic() - listed < table.spec.window
    return replace(result, has_all=within and _has_all(result, waiting))


def _has_all(result: BatchResult, waiting: Sequence[WaitingManifest] | None) -> bool:
    """Return whether a batch has all hints of a listing of the inbox, and put none of them back.

    Args:
        waiting: the listing. None if the run put hints into the inbox after it.
    """
    batch = result.batch
    if waiting is None or batch.deferred or result.landed.outcome != "committed":
        return False
    return all(manifest.id in batch.manifests or is_taken(manifest.id) for manifest in waiting)


def _prepare_and_decide(
    table: Table, draft: BatchDraft, run_id: str, log: Callable[[str], None]
) -> tuple[PreparedBatch, Batch]:
    """Prepare and decide a batch."""
    prepared = prepare(table, draft)
    seam("prepare")
    try:
        batch = decide(table, draft, prepared, run_id)
    except UnreadableFiles as refused:
        log(f"WARNING: {refused}. They are quarantined, and the batch is prepared again without them")
        refused.withdraw(draft.plan)
        keep_named_folders(table.lake.store, prepared, refused.rows)
        prepared = prepare(table, draft)
        batch = decide(table, draft, prepared, run_id)
    keep_named_folders(table.lake.store, prepared, batch.rows)  # Another run may have decided the batch.
    return prepared, batch


def land(
    table: Table,
    batch: Batch,
    options: RunOptions,
    log: Callable[[str], None],
    *,
    found: bool,
    begun: float,
    seen: int = NOT_SEEN,
) -> BatchResult:
    """Commit a batch that was decided, and record it.

    Args:
        table: the table of the batch.
        batch: as it was decided.
        options: of this run.
        log: called with each line.
        found: whether an earlier run decided it.
        begun: when the run began to work on the batch, by `time.monotonic`.
        seen: the version of the table that this run prepared the batch on.
    """
    landed = commit(table, batch, verify_files=found, seen=seen)
    seam("commit")
    log(
        f"batch {batch.n} {landed.outcome} as version {landed.version}"
        + (f": {landed.reason}" if landed.reason else "")
    )
    record(table, batch, landed, options.run_id, log, begun=begun)
    return BatchResult(batch, landed, found)


def _list(table: Table, clock: Clock, options: RunOptions, listener: RunListener, *, lists: bool) -> bool:
    """Turn a listing or an inventory into hints, where this run should. Returns whether it did."""
    # A new generation needs every file. An inventory lacks the newest files, and the key in the run's tags may be of an
    # earlier generation.
    if list_generation(table, clock, listener.log) is not None:
        return True
    if not lists:
        return False
    after = options.after
    if after:
        listener.log(f"listing {table.key.uri}: resuming after {after}, the last key that an earlier run listed")
    if table.spec.inventory:
        listener.inventory_compared(compare_inventory(table, clock, listener, after=after))
    else:
        list_prefix(table, clock, listener, after=after)
    return True


def _count_removals(plan: Plan) -> int:
    return len(plan.drop) + len(plan.leaving)


def _warn_of_changed_inputs(draft: BatchDraft, log: Callable[[str], None]) -> None:
    """Warn of inputs of an output that were overwritten or removed: rows that were written of them stay."""
    if draft.birth.output is None:
        return
    states, plan = draft.states, draft.plan
    overwritten = [item.key for item in plan.candidates if item.key in states and states[item.key].in_table]
    removed = [row.key for row in plan.rows if row.status == Status.REMOVED and row.etag]
    for keys, what in ((overwritten, "overwritten, and the new bytes are written as well"), (removed, "removed")):
        if keys:
            some = f"{len(keys)} objects, such as {keys[0]}, were {what}"
            log(f"WARNING: {some}. Rows of their earlier bytes stay in the output")


def _warn_about_doubts(
    spec: TableSpec,
    source: Bucket,
    draft: BatchDraft,
    prepared: PreparedBatch,
    batch: Batch,
    log: Callable[[str], None],
) -> None:
    """Warn about columns that a first load may have read differently from what the producer intended."""
    if prepared.base or draft.birth.registered or not prepared.schema.fields:
        return
    entered = {row.key for row in batch.rows if row.status == Status.COMMITTED}
    candidates = [candidate for candidate in draft.plan.candidates if candidate.key in entered]
    doubts = birth_doubts(spec, source, candidates, prepared.schema)
    if doubts and spec.personal:
        # A doubt quotes values, and Dagster keeps the log.
        doubts = [f"{len(doubts)} doubts about the columns that the first files gave: `tidegate infer` shows them"]
    for line in doubts:
        log(f"WARNING: {line}")


def _compact(table: Table, batches: Sequence[Batch], log: Callable[[str], None]) -> None:
    """Let a table that was born be clustered, and merge its small files if that is due."""
    first, last = batches[0], batches[-1]
    birth = table.birth
    merges = birth is not None and last.commits and is_due(first.n - 1, last.n)
    is_new = any(batch.create for batch in batches)
    if not (merges or is_new) or (birth and birth.registered):
        return
    # A table that was born in this run has the name of lake.yaml, and is loaded, or `cluster_by` would be refused. A
    # request that fails here would end the run without the report of its batches.
    name = f"bronze.{birth.name if birth else table.spec.name}"
    cluster_by = table.spec.cluster_by
    compact_after_commit(table.delta, last.location, name, cluster_by, log, merges=merges, is_new=is_new)
