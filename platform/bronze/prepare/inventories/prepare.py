"""Step 2 for the table of inventories: prove the newest delivery of each subject, stage its rows, and replace the old.

The candidates are objects named `manifest.checksum`, which S3 writes last. One batch replaces the partitions of many
subjects, each whole or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import functions as F

from tidegate.platform.bronze.prepare.inventories.newest_deliveries import newest_keys_below
from tidegate.platform.bronze.prepare.inventories.stage import Entry, prove_entry, stage
from tidegate.platform.bronze.prepare.load.replaced_rows import found_with_entries
from tidegate.platform.bronze.prepare.load.source_columns import SOURCE_FIELDS
from tidegate.platform.bronze.prepare.table_columns import present_schema, refusal
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Remove, SignalDecision
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Status, shorten_reason
from tidegate.platform.core.bronze.plan import BATCH_BYTES, BatchDraft, Candidate
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.core.inventory.columns import PARTITIONS, first_columns, with_fields
from tidegate.platform.core.inventory.delivery import (
    Delivery,
    Subject,
    find_newer_folder,
    group_by_subject,
    superseded_reason,
)
from tidegate.platform.core.inventory.manifest import InventoryError, InventoryForbidden, InventoryIncomplete
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.s3 import ObjectForbidden, StoreError
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.threads import parallel

#: Deliveries that are read in one query of Spark.
_MAX_READ = 100


class InventoryLoad:
    """Stages the newest inventory of each subject. The batch removes the rows that the table has of these subjects.

    An inventory that is older than the one that the table has, or that enters with this batch, brings no rows. If the
    newest one cannot enter, the one before it is tried.
    """

    def __init__(self, table: Table, work: BatchDraft) -> None:
        self.work, self.spec, self.key, self.source = work, table.spec, table.key, table.source
        self.delta, self.batches, self.ledger = table.delta, table.batches, table.ledger
        self.prepared = PreparedBatch(work.plan)
        self.candidates: dict[Delivery, Candidate] = {}
        self.loaded: dict[Subject, str] = {}
        self.entered: dict[Subject, Delivery] = {}
        self.bytes = 0

    def run(self) -> PreparedBatch:
        """Stage the inventories.

        Raises:
            ConfigurationError: the table was born with other columns.
            SparkUnreachable: the Spark server was lost.
            PySparkException: Spark failed, and no inventory is known to be at fault.
        """
        base = self.prepared.base = present_schema(self.spec, self.batches, self.delta, self.work)
        if base and base.partitions != PARTITIONS:
            raise ConfigurationError(
                f"bronze.{self.work.birth.name} has the columns of other files, and `mode: inventory` in lake.yaml "
                "needs those of inventories: give the table its old mode, or start it over (tidegate reset)"
            )
        self.prepared.schema = base or first_columns(SOURCE_FIELDS)
        for candidate in self.work.plan.candidates:
            if delivery := Delivery.from_key(candidate.key, self.key.prefix):
                self.candidates[delivery] = candidate
            else:
                self.prepared.quarantine(
                    candidate, "it is not a manifest.checksum of an inventory right below the prefix"
                )
        waiting = group_by_subject(self.candidates)
        self.loaded = self._newest_loaded_folders(waiting)
        while waiting:
            waiting = self._round(waiting)
        undecided = self._undecided
        for candidate in self.candidates.values():
            state = self.work.states.get(candidate.key)
            if state and state.status is Status.WAITING and candidate.key not in undecided:
                self.work.plan.signals.append(SignalDecision(candidate.key))
        if base and self.entered:
            self.prepared.removes += live_subject_files(self.delta, self.work.birth, self.entered)
        return self.prepared

    @property
    def _undecided(self) -> set[str]:
        """The keys of the deliveries that wait, or that return to the inbox."""
        signals = {signal.key for signal in self.work.plan.signals if signal.waits_for}
        return signals | {hint.key for hint in self.prepared.deferred}

    def _newest_loaded_folders(self, subjects: Mapping[Subject, Sequence[Delivery]]) -> dict[Subject, str]:
        """Return the folder of the newest inventory of each subject that entered the table."""
        folders = {f"{self.key.prefix}{subject.bucket}/{subject.configuration}/": subject for subject in subjects}
        # If another run has recorded a batch meanwhile, this one's batch has its number and is not decided.
        version = self.ledger.clock().version
        found = newest_keys_below(self.ledger, version, list(folders))
        deliveries = (Delivery.from_key(key, self.key.prefix) for key in found.values())
        return {delivery.subject: delivery.began for delivery in deliveries if delivery}

    def _round(self, waiting: Mapping[Subject, list[Delivery]]) -> dict[Subject, list[Delivery]]:
        """Try the newest delivery of each subject. Returns the deliveries before those that could not enter."""
        newest = [deliveries[0] for deliveries in waiting.values()]
        entries = self._limit_to_batch(
            self._prove_deliveries([delivery for delivery in newest if not self._is_old(delivery)])
        )
        for start in range(0, len(entries), _MAX_READ):
            self._stage(entries[start : start + _MAX_READ])
        left, deferred = {}, {hint.key for hint in self.prepared.deferred}
        for subject, (first, *before) in waiting.items():
            if entered := self.entered.get(subject):
                for delivery in before:
                    self._end_superseded(delivery, entered.began)
            elif self.candidates[first].key in deferred:
                # The next batch tries it again. An older one now would only be replaced then.
                for delivery in before:
                    self.prepared.defer(self.candidates[delivery])
            elif before:
                left[subject] = before
        return left

    def _is_old(self, delivery: Delivery) -> bool:
        """Return whether the table has a newer inventory. If so, the delivery ends here."""
        newer = find_newer_folder(delivery, self.loaded)
        if newer:
            self._end_superseded(delivery, newer)
        return newer is not None

    def _end_superseded(self, delivery: Delivery, newer: str) -> None:
        self.prepared.commit(self.candidates[delivery], rows=0, reason=superseded_reason(newer))

    def _prove_deliveries(self, deliveries: Sequence[Delivery]) -> list[Entry]:
        """Return the deliveries that are complete and as S3 wrote them. The others end here, or wait."""

        def prove(delivery: Delivery) -> Entry | InventoryError | StoreError:
            try:
                return prove_entry(self.key, self.source, delivery, self.candidates[delivery])
            except (InventoryError, StoreError) as error:
                return error

        entries = []
        for delivery, result in zip(deliveries, parallel(prove, deliveries), strict=True):
            candidate = self.candidates[delivery]
            if isinstance(result, Entry):
                if self._takes_fields(result):
                    entries.append(result)
                continue
            match result:
                case InventoryIncomplete():
                    self._wait(candidate, result)
                case InventoryForbidden() | ObjectForbidden():
                    self.prepared.record_refusal(candidate, f"access denied: {result}")
                case InventoryError():
                    self.prepared.quarantine(candidate, str(result))
                case StoreError():
                    self.prepared.defer(candidate)
        return entries

    def _wait(self, candidate: Candidate, missing: InventoryIncomplete) -> None:
        """Let a delivery wait. It gets a row for an event, and if it has no row with this reason yet."""
        self.work.plan.signals.append(SignalDecision(candidate.key, missing.key))
        state, reason = self.work.states.get(candidate.key), shorten_reason(str(missing))
        known = state is not None and (state.status, state.reason) == (Status.WAITING, reason)
        if candidate.taken.hint.event_id or not known:
            self.prepared.wait(candidate, str(missing))

    def _takes_fields(self, entry: Entry) -> bool:
        """Give the table the columns of new fields. If that cannot be, the delivery ends in quarantine."""
        try:
            wider = with_fields(self.prepared.schema, entry.columns, entry.inventory.uri)
            self._require(wider)
        except InventoryError as error:
            self.prepared.quarantine(entry.candidate, str(error))
            return False
        self.prepared.schema = wider
        return True

    def _require(self, schema: TableSchema) -> None:
        if schema != self.prepared.schema and (reason := refusal(self.delta, self.work, schema)):
            raise InventoryError(f"Delta refuses the columns of its new fields: {reason}")

    def _limit_to_batch(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that fit into the batch, and at least one. The others are deferred."""
        taken = []
        for entry in entries:
            if self.bytes and self.bytes + entry.size > BATCH_BYTES:
                self.prepared.defer(entry.candidate)
                continue
            self.bytes += entry.size
            taken.append(entry)
        return taken

    def _stage(self, entries: Sequence[Entry]) -> None:
        for entry, adds in stage(self.key, self.source, self.delta, self.work, self.prepared, entries):
            self.prepared.adds += adds
            self.prepared.commit(entry.candidate, rows=sum(add.records for add in adds), reason=entry.left_out)
            self.entered[entry.delivery.subject] = entry.delivery


def live_subject_files(delta: Delta, birth: Birth, subjects: Collection[Subject]) -> list[Remove]:
    """Return the live entries of some subjects, as of one version of the table.

    Raises:
        UnavailableError: another writer committed to the table during each attempt.
    """

    def find() -> Sequence[str]:
        names = [F.col("_tidegate_partition")[name].alias(name) for name in PARTITIONS]
        with temporary_view(delta.session, "live") as view:
            delta.live_view(birth.location, view)
            rows = delta.session.table(view).select("_tidegate_logged", *names)
            found = rows.where(F.col("bucket").isin(sorted({subject.bucket for subject in subjects}))).collect()
        return [path for path, bucket, configuration in found if Subject(bucket, configuration) in subjects]

    paths, entries = found_with_entries(delta, birth.location, f"bronze.{birth.name}", find, lambda path: path)
    return [entries[path].remove for path in paths]
