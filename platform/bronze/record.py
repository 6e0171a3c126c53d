"""Step 5, record: appends to the ledger, puts deferred hints back, runs after-load, and deletes the manifests last."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tidegate.platform.bronze.after_load import remove_loaded
from tidegate.platform.bronze.entry_hints import put_entry_hints
from tidegate.platform.bronze.publish import clear_staged
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import Hint, Listed
from tidegate.platform.core.bronze.ledger import Effort
from tidegate.platform.core.bronze.manifest import Manifest, is_listed
from tidegate.platform.core.completion.signal_name import SignalName
from tidegate.platform.core.completion.waiting_datasets import MAX_SIGNALS, WaitingDatasets
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.lake_root.inbox import TableInbox, WaitingManifest
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock, Ledger
from tidegate.platform.lake.spark.results import CommitResult
from tidegate.platform.lake.sql_names import SqlNames


def record(
    table: Table, batch: Batch, landed: CommitResult, run_id: str, log: Callable[[str], None], *, begun: float
) -> None:
    """Append a batch and its outcome to the ledger, then finish it.

    Args:
        table: the table of the batch.
        landed: what its commit did.
        run_id: Dagster's id of the run.
        log: called with each line.
        begun: when the run began to work on the batch, by `time.monotonic`.

    Raises:
        ConfigurationError: another lake committed to the table with this lake's identity.
    """
    if landed.digest != batch.digest:
        raise ConfigurationError(
            f"the commit of batch {batch.n} of {table.table_key} carries digest {landed.digest}, the batch has "
            f"{batch.digest}: another lake writes with this lake's identity. Stop both lakes and "
            "compare their lake.yaml"
        )
    if batch.adopt:
        put_entry_hints(table.inbox, table.ledger, batch, table.spec.max_files, log)
    table.ledger.append(batch, landed, run_id, Effort(round((time.monotonic() - begun) * 1000)))
    seam("record-ledger")
    finish(table, batch, log, void=landed.outcome == "void")


def finish(table: Table, batch: Batch, log: Callable[[str], None], *, void: bool) -> None:
    """Finish a batch after the ledger's append. Repeating it changes nothing."""
    if batch.create or batch.n == 1:
        SqlNames(table.lake).name_table(table.table_key)
    clear_staged(table.lake.store, batch)
    if batch.adopt:
        table.lake.store.remove_seeds(table.table_key)
    if void:
        # Nothing was committed, so every hint goes back. The manifests still exist, because they are deleted last.
        taken = table.inbox.read(batch.manifests)
        hints = [hint for manifest in taken for hint in manifest.hints]
    else:
        hints = list(batch.deferred)
    if hints:
        _put_back(table.inbox, batch, hints)
    seam("record-deferred")
    if not void:
        table.waiting_signals.update(batch.n, batch.signals)
        note_waiting(table.spec, table.table_key, table.ledger, table.lake.store)
    seam("record-signals")
    if not void:
        remove_loaded(table, batch, log)
    seam("after-load")
    table.inbox.delete(batch.manifests)
    seam("record-manifests")


def _put_back(inbox: TableInbox, batch: Batch, hints: Sequence[Hint]) -> None:
    """Put deferred hints back. Those that a list named come last again.

    The manifests of the batch are deleted last, so if they are gone the batch is finished. Without this check a run
    that slept meanwhile would put back hints that a later batch has decided.
    """
    waiting = {manifest.id for manifest in inbox.waiting_manifests()}
    if waiting.isdisjoint(batch.manifests):
        return
    has_list = any(map(is_listed, batch.manifests))
    by_origin: dict[bool, list[Hint]] = {}
    for hint in hints:
        by_origin.setdefault(has_list and hint.cause == Listed(), []).append(hint)
    deferred = [
        Manifest.from_deferred(batch.table, batch.n, batch.digest, some, of_list=of_list)
        for of_list, some in by_origin.items()
    ]
    inbox.put(manifest for manifest in deferred if manifest.id not in waiting)


def find_unfinished(batches: Batches, clock: Clock, waiting: Sequence[WaitingManifest]) -> Batch | None:
    """Return batch n if a run died after recording it and before deleting all its manifests."""
    if clock.n == 0 or not waiting:
        return None
    batch = batches.read(clock.n)
    return batch if batch and not {manifest.id for manifest in waiting}.isdisjoint(batch.manifests) else None


def note_waiting(spec: TableSpec, table_key: str, ledger: Ledger, store: LakeStore) -> WaitingDatasets | None:
    """Write what waits in a table, as its ledger says now, and return it. None if the table has no signals."""
    if not spec.completion:
        return None
    signals = SignalName.parse(spec.completion).regex
    waiting = ledger.waiting_datasets(ledger.clock().version, signals, MAX_SIGNALS)
    store.waiting_notes.write(table_key, waiting)
    return waiting


def read_waiting_note(spec: TableSpec, table_key: str, ledger: Ledger, store: LakeStore) -> WaitingDatasets | None:
    """Return what waited in a table when its last batch was recorded. None if the table has no signals.

    A note that is missing, because it was lost or `completion` is new, is written.
    """
    if not spec.completion:
        return None
    return store.waiting_notes.read(table_key) or note_waiting(spec, table_key, ledger, store)
