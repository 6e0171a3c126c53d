"""Step 3, decide: write batch n from the plan and the prepared files. Its content never changes afterwards."""

from __future__ import annotations

from datetime import UTC, datetime

from tidegate.assets.bronze.prepare.load.repeated_messages import sent_before
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.batch import Batch, Create, Evolve, Remove
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.ledger import LedgerRow
from tidegate.platform.core.keys.own_paths import copy_path, log_path
from tidegate.platform.core.schema.column_types import Struct
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.lake import Table

#: Ten years in which VACUUM deletes nothing: the files of a registered table belong to the producer, and the table of
#: inventories is asked for the state of any day.
_RETENTION = "interval 3650 days"


def decide(table: Table, draft: BatchDraft, prepared: PreparedBatch, run_id: str) -> Batch:
    """Create batch n unless another run already has.

    Returns the batch that exists afterwards. A run that loses the race continues with the winner's batch. Its own
    prepared files are cleaned up later.
    """
    removes, dropped = _removals(table, draft)
    create, evolve = _columns(table, draft, prepared)
    batch = Batch(
        lake=table.lake.id,
        table=table.table_key,
        generation=draft.birth.generation,
        n=draft.n,
        location=draft.birth.location,
        after_version=draft.after_version,
        manifests=draft.manifests,
        rows=tuple([*draft.plan.rows, *dropped, *prepared.rows]),
        adds=tuple(prepared.adds),
        removes=tuple([*removes, *prepared.removes]),
        deferred=tuple([*draft.plan.deferred, *prepared.deferred]),
        create=create,
        evolve=evolve,
        objects=tuple(prepared.objects),
        columns=_columns_of_output(prepared) if draft.birth.output else None,
        sent_until=_sent_until(table, draft, prepared),
        signals=tuple(draft.plan.signals),
        run_id=run_id,
        decided_at=datetime.now(UTC).isoformat(),
    )
    return table.batches.decide(batch.sealed())


def _sent_until(table: Table, draft: BatchDraft, prepared: PreparedBatch) -> int | None:
    """Return the batch's `sent_until`. One that brings no rows, as one that forgets, has that of the batch before."""
    if prepared.sent_until is None and table.spec.row_queue:
        return sent_before(table, draft.n)
    return prepared.sent_until


def _removals(table: Table, draft: BatchDraft) -> tuple[list[Remove], list[LedgerRow]]:
    prefix = table.key.prefix
    paths = {
        key: [log_path(key, prefix), copy_path(key, draft.states[key].etag or "", prefix)] for key in draft.plan.drop
    }
    live = table.delta.live_entries(draft.birth.location, [path for both in paths.values() for path in both])
    removes = [live[path] for both in paths.values() for path in both if path in live]
    rows = [
        was_live if any(path in live for path in paths[key]) else was_not
        for key, (was_live, was_not) in draft.plan.drop.items()
    ]
    return removes, rows


def _columns(table: Table, draft: BatchDraft, prepared: PreparedBatch) -> tuple[Create | None, Evolve | None]:
    """Return the birth of the table, or its new columns or properties, if the adds need one of them."""
    if not prepared.adds or (prepared.schema == prepared.base and not prepared.schema.stale):
        return None, None
    schema, needed = prepared.schema.for_delta()
    if prepared.base is None:
        properties = table_properties(table, draft.birth.generation, registered=draft.birth.registered)
        return Create(schema, {**properties, **needed}, draft.birth.name), None
    return None, Evolve(Struct(prepared.base.fields), Struct(schema.fields), needed)


def _columns_of_output(prepared: PreparedBatch) -> TableSchema | None:
    """Return the columns of an output's files. None if its objects are lines, or before its first file."""
    if prepared.objects and prepared.schema.fields:
        return prepared.schema.for_delta()[0]
    return prepared.base


def table_properties(table: Table, generation: str, *, registered: bool) -> dict[str, str]:
    """Return the Delta properties of a bronze table."""
    properties = {"tidegate.lake": table.lake.id, "tidegate.generation": generation, "tidegate.table": table.table_key}
    if registered or table.spec.has_inventories:
        # Delta 4.4 refuses a file retention that is longer than the retention of the log.
        properties["delta.deletedFileRetentionDuration"] = _RETENTION
        properties["delta.logRetentionDuration"] = _RETENTION
    return properties
