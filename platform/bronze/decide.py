"""Step 3, decide: write batch n from the plan and the prepared files. Its content never changes afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from tidegate.platform.bronze.completion.incomplete_datasets import withdraw_unrecorded
from tidegate.platform.bronze.prepare.load.repeated_messages import newest_sent_time
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Batch, Create, Evolve, Remove
from tidegate.platform.core.bronze.ledger import COLUMNS, LedgerRow, Status, shorten_reason
from tidegate.platform.core.bronze.plan import BatchDraft, Plan
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.log_paths import copy_path, log_path
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import Struct
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.ledger import recorded_rows
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import BatchRefusal

_LEDGER_COLUMNS = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
#: Characters of a batch that are sent to the server in one call. Spark Connect takes 128 MiB, in which quotes and
#: backslashes count twice, and its parser holds the text several times.
_MAX_SENT = 8 << 20
#: Fields of a batch that grow with its files.
_LISTS = ("adds", "removes", "rows", "deferred", "manifests", "objects", "signals")

#: Ten years in which VACUUM deletes nothing: the files of a registered table belong to the producer, and the table of
#: inventories is asked for the state of any day.
_RETENTION = "interval 3650 days"
#: What to do about a file that cannot be recorded.
_WAY_OUT = "Write it again and redrive it, and report it if that does not help"


class UnreadableFiles(DataError):
    """The server cannot read what a batch has of some files, so the batch was not decided.

    Attributes:
        rows: rows that record the same events and say nothing else of the files.
    """

    def __init__(self, batch: Batch, reasons: dict[str, str]) -> None:
        some = "; ".join(f"{key}: {reason}" for key, reason in list(reasons.items())[:3])
        super().__init__(f"batch {batch.n} of {batch.table} was not decided, because {len(reasons)} files are: {some}")
        self.reasons = reasons
        self.rows = [_row_without_object(row, reasons[row.key]) for row in batch.rows if row.key in reasons]

    def withdraw(self, plan: Plan) -> None:
        """Quarantine the files in a plan, so that the others can be prepared and decided without them.

        A dataset waits of which a part or the signal is such a file.
        """
        withdraw_unrecorded(plan, self.rows)
        plan.candidates = [candidate for candidate in plan.candidates if candidate.key not in self.reasons]
        plan.rows = [*(row for row in plan.rows if row.key not in self.reasons), *self.rows]
        for key in self.reasons:
            plan.drop.pop(key, None)
            plan.leaving.pop(key, None)


def decide(table: Table, draft: BatchDraft, prepared: PreparedBatch, run_id: str) -> Batch:
    """Create batch n unless another run already has.

    Returns the batch that exists afterwards. A run that loses the race continues with the winner's batch. Its own
    prepared files are cleaned up later. Before that, the server reads the batch as its commit and its record will:
    nothing that is decided can fail to be read.

    Raises:
        UnreadableFiles: the server cannot read what the batch has of some files.
        AssertionError: the server cannot read the batch. Nothing is decided.
    """
    batch = _draft_batch(table, draft, prepared, run_id).seal()
    _require_readable(table.delta, batch)
    prepared.digest = batch.digest
    return table.batches.decide(batch)


def _require_readable(delta: Delta, batch: Batch) -> None:
    reasons: dict[str, str] = {}
    for part in _parts(batch):
        rows = json.dumps(recorded_rows(part), ensure_ascii=False)
        # A part has the digest of the whole batch, and the text of one that commits nothing is not read again.
        digest = batch.digest if part is batch and batch.commits else ""
        for refusal in delta.check_batch(part.to_json(), rows, _LEDGER_COLUMNS, digest):
            key = _key(part, refusal)
            if key is None:
                where = f"{refusal.part} {refusal.place}: " if refusal.part else ""
                raise AssertionError(
                    f"batch {batch.n} of {batch.table} was not decided, because the Spark server could not read it: "
                    f"{where}{refusal.problem} Nothing was changed, and no file is at fault: report it"
                )
            reasons.setdefault(key, f"the Spark server cannot record it: {refusal.problem} {_WAY_OUT}")
    if reasons:
        raise UnreadableFiles(batch, reasons)


def _parts(batch: Batch) -> Iterator[Batch]:
    """Divide a batch that is too large for one call. Each part has all that does not grow with the files."""
    count = -(-len(batch.to_json()) // _MAX_SENT)
    for place in range(count):
        members = {name: getattr(batch, name) for name in _LISTS}
        yield replace(batch, **{name: members[name][place::count] for name in _LISTS}) if count > 1 else batch


def _key(batch: Batch, refusal: BatchRefusal) -> str | None:
    """Return the key of the file that a refusal is about. None if it is about no single file."""
    if refusal.place is None:
        return None
    if refusal.part == "adds":
        return batch.adds[refusal.place].source_key
    return batch.rows[refusal.place].key if refusal.part == "rows" else None


def _row_without_object(row: LedgerRow, reason: str) -> LedgerRow:
    """Return the row of the same event that says nothing of the object. The next event or listing looks again."""
    status = row.status if row.status is Status.DUPLICATE else Status.QUARANTINED
    return LedgerRow(row.key, status, shorten_reason(reason), event_id=row.event_id, manifest=row.manifest)


def _draft_batch(table: Table, draft: BatchDraft, prepared: PreparedBatch, run_id: str) -> Batch:
    removes, dropped = _removals(table.key, table.delta, draft)
    create, evolve = _columns(table.spec, table.table_key, table.lake.id, draft, prepared)
    return Batch(
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
        sent_until=_last_sent_time(table.spec, table.batches, draft, prepared),
        signals=tuple(draft.plan.signals),
        run_id=run_id,
        decided_at=datetime.now(UTC).isoformat(),
    )


def _last_sent_time(spec: TableSpec, batches: Batches, draft: BatchDraft, prepared: PreparedBatch) -> int | None:
    """Return the batch's `sent_until`. One that brings no rows, as one that forgets, has that of the batch before."""
    if prepared.sent_until is None and spec.row_queue:
        return newest_sent_time(batches, draft.n)
    return prepared.sent_until


def _removals(table: TableKey, delta: Delta, draft: BatchDraft) -> tuple[list[Remove], list[LedgerRow]]:
    prefix = table.prefix
    paths = {
        key: [log_path(key, prefix), copy_path(key, draft.states[key].etag or "", prefix)] for key in draft.plan.drop
    }
    live = delta.live_entries(draft.birth.location, [path for both in paths.values() for path in both])
    removes = [live[path].remove for both in paths.values() for path in both if path in live]
    rows = [
        was_live if any(path in live for path in paths[key]) else was_not
        for key, (was_live, was_not) in draft.plan.drop.items()
    ]
    return removes, rows


def _columns(
    spec: TableSpec, table_key: str, lake_id: str, draft: BatchDraft, prepared: PreparedBatch
) -> tuple[Create | None, Evolve | None]:
    """Return the birth of the table, or its new columns or properties, if the adds need one of them."""
    if not prepared.adds or (prepared.schema == prepared.base and not prepared.schema.stale):
        return None, None
    schema, needed = prepared.schema.to_delta()
    if prepared.base is None:
        properties = table_properties(
            spec, table_key, lake_id, draft.birth.generation, registered=draft.birth.registered
        )
        return Create(schema, {**properties, **needed}, draft.birth.name), None
    return None, Evolve(Struct(prepared.base.fields), Struct(schema.fields), needed)


def _columns_of_output(prepared: PreparedBatch) -> TableSchema | None:
    """Return the columns of an output's files. None if its objects are lines, or before its first file."""
    if prepared.objects and prepared.schema.fields:
        return prepared.schema.to_delta()[0]
    return prepared.base


def table_properties(
    spec: TableSpec, table_key: str, lake_id: str, generation: str, *, registered: bool
) -> dict[str, str]:
    """Return the Delta properties of a bronze table."""
    properties = {"tidegate.lake": lake_id, "tidegate.generation": generation, "tidegate.table": table_key}
    if registered or spec.has_inventories:
        # Delta 4.4 refuses a file retention that is longer than the retention of the log.
        properties["delta.deletedFileRetentionDuration"] = _RETENTION
        properties["delta.logRetentionDuration"] = _RETENTION
    return properties
