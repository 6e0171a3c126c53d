"""Step 3, decide: fix the intent of batch n for ever."""

from __future__ import annotations

from datetime import UTC, datetime

from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.batch import Batch, Create, Evolve, Remove
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.ledger import LedgerRow
from tidegate.platform.core.keys.own_paths import copy_path, log_path
from tidegate.resources.lake import Table

#: Years in which a VACUUM of a registered table deletes nothing: its directory is the producer's.
_REGISTERED_RETENTION = "interval 3650 days"


def decide(table: Table, work: BatchDraft, prepared: PreparedBatch, run_id: str) -> Batch:
    """Put batch n if nobody did; the batch that stands.

    Whoever loses goes on with the winner's: what this run prepared is left to the janitor.
    """
    removes, dropped = _removals(table, work)
    batch = Batch(
        lake=table.lake.id,
        table=table.text,
        generation=work.birth.generation,
        n=work.n,
        location=work.birth.location,
        after_version=work.after_version,
        manifests=work.manifests,
        rows=tuple([*work.plan.rows, *dropped, *prepared.rows]),
        adds=tuple(prepared.adds),
        removes=tuple([*removes, *prepared.removes]),
        deferred=tuple([*work.plan.deferred, *prepared.deferred]),
        create=_create(table, work, prepared) if prepared.adds and prepared.base is None else None,
        evolve=_evolve(prepared),
        sent_until=prepared.sent_until,
        run_id=run_id,
        decided_at=datetime.now(UTC).isoformat(),
    )
    return table.batches.decide(batch.sealed())


def _removals(table: Table, work: BatchDraft) -> tuple[list[Remove], list[LedgerRow]]:
    prefix = table.key.prefix
    paths = {
        key: [log_path(key, prefix), copy_path(key, work.states[key].etag or "", prefix)] for key in work.plan.drop
    }
    live = table.delta.live_entries(work.birth.location, [path for both in paths.values() for path in both])
    removes = [live[path] for both in paths.values() for path in both if path in live]
    rows = [
        was_live if any(path in live for path in paths[key]) else was_not
        for key, (was_live, was_not) in work.plan.drop.items()
    ]
    return removes, rows


def _create(table: Table, work: BatchDraft, prepared: PreparedBatch) -> Create:
    properties = table_properties(table, work.birth.generation, registered=work.birth.registered)
    schema, needed = prepared.schema.for_delta()
    return Create(schema.to_spark(), schema.partitions, {**properties, **needed}, work.birth.name)


def table_properties(table: Table, generation: str, *, registered: bool) -> dict[str, str]:
    """The Delta properties of a bronze table."""
    properties = {"tidegate.lake": table.lake.id, "tidegate.generation": generation, "tidegate.table": table.text}
    if registered:
        # Delta 4.4 refuses a file retention that is longer than the log's.
        properties["delta.deletedFileRetentionDuration"] = _REGISTERED_RETENTION
        properties["delta.logRetentionDuration"] = _REGISTERED_RETENTION
    return properties


def _evolve(prepared: PreparedBatch) -> Evolve | None:
    if prepared.base is None or not prepared.adds or prepared.schema == prepared.base:
        return None
    schema, needed = prepared.schema.for_delta()
    return Evolve(prepared.base.to_spark(), schema.to_spark(), needed)
