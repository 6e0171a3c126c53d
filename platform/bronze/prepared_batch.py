"""The result of a preparation, from which the batch is decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidegate.platform.core.bronze.batch import Add, Batch, OutputObject, Remove
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.plan import Candidate, Plan, candidate_hints, followers_rows
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.s3 import NotWritable, ObjectArchived, ObjectForbidden, ObjectRefused, StoreError
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import NOT_SEEN


@dataclass
class PreparedBatch:
    """Files ready to be added, and the outcome of each candidate.

    Attributes:
        plan: the plan whose candidates are prepared.
        removes: live entries that the batch removes in the commit of its adds.
        objects: objects that the batch adds to an output.
        base: the table's schema as the preparation found it; None if there is no table yet.
        schema: the table's schema after the adds.
        sent_until: the batch's `sent_until`; None unless the table belongs to a row queue.
        folders: `s3a://` URIs of the folders with quarantined rows.
        denied: what S3 says of the candidates whose content it denies, by key.
        waiting: keys of objects that are gone whose rows leave with a later batch.
        digest: digest of the batch that was last made of the preparation; empty before.
        obstacle: why some candidates wait although they are not at fault; the run fails with this text after the other
            candidates are done.
    """

    plan: Plan = field(default_factory=Plan)
    adds: list[Add] = field(default_factory=list)
    removes: list[Remove] = field(default_factory=list)
    rows: list[LedgerRow] = field(default_factory=list)
    deferred: list[Hint] = field(default_factory=list)
    objects: list[OutputObject] = field(default_factory=list)
    base: TableSchema | None = None
    schema: TableSchema = field(default_factory=TableSchema)
    sent_until: int | None = None
    folders: list[str] = field(default_factory=list)
    denied: dict[str, str] = field(default_factory=dict)
    obstacle: str | None = None
    waiting: set[str] = field(default_factory=set)
    digest: str = ""

    def version_seen(self, batch: Batch) -> int:
        """Return the version of the table that a batch was prepared on.

        `NOT_SEEN` if another run decided the batch, or the table was not looked at.
        """
        return self.base.version if self.base and batch.digest == self.digest else NOT_SEEN

    @property
    def all_denied(self) -> bool:
        """Whether S3 denied the content of each candidate that has ended."""
        return bool(self.denied) and all(row.key in self.denied for row in self.rows)

    def commit(
        self,
        candidate: Candidate,
        *,
        rows: int,
        bad_rows: int | None = None,
        reason: str | None = None,
        bad_rows_folder: str | None = None,
    ) -> None:
        """Record that a candidate's rows are among the adds. `reason` says why its bad rows are bad."""
        row = candidate.row(Status.COMMITTED, reason, rows=rows, bad_rows=bad_rows, bad_rows_folder=bad_rows_folder)
        self._end(candidate, row)

    def quarantine(self, candidate: Candidate, reason: str, bad_rows_folder: str | None = None) -> None:
        """Record that a candidate cannot be ingested.

        Its rows that are in the table already stay, and it can be redriven again. Then the rows that its last reading
        quarantined stay too, and `bad_rows_folder` is not recorded.
        """
        if candidate.replaces is None:
            reason = f"{reason}; its earlier rows in the table stay" if candidate.replaces_all else reason
            self._end(candidate, candidate.row(Status.QUARANTINED, reason, bad_rows_folder=bad_rows_folder))
        else:
            self._end_without_state(candidate, f"read again, and refused: {reason}; its rows in the table stay")

    def wait(self, candidate: Candidate, reason: str) -> None:
        """Record that a candidate waits for another object. The next event or listing of it looks again."""
        self._end(candidate, candidate.row(Status.WAITING, reason))

    def record_refusal(self, candidate: Candidate, reason: str) -> None:
        """Record that S3 reports a candidate but refuses to return its content.

        The row has no state of the key, so the next look asks S3 again.
        """
        self._end_without_state(candidate, f"{reason}; the next event or listing looks again")

    def record_failure(self, candidate: Candidate, error: ValueError | StoreError) -> None:
        """End or defer a candidate because of the error that its read raised.

        The cause is the file itself, a refusal of S3, or a fault that will pass.
        """
        match error:
            case NotWritable():
                self.obstacle = str(error)
                self.defer(candidate)
            case ObjectForbidden():
                if not isinstance(error, ObjectArchived):
                    self.denied[candidate.key] = str(error)
                self.record_refusal(candidate, f"access denied: {error}")
            case ObjectRefused():
                self.record_refusal(candidate, f"S3 refuses it: {error}")
            case StoreError():
                self.defer(candidate)
            case _:
                self.quarantine(candidate, str(error))

    def require_progress(self) -> None:
        """Stop if all that is left waits for a missing permission.

        Without this check, each window would add a batch that contains nothing.

        Raises:
            NotWritable: the message names the missing permission and what waits for it.
        """
        if self.obstacle and not (self.adds or self.rows or self.plan.rows or self.plan.drop):
            raise NotWritable(
                f"{self.obstacle}. Give Dagster's role what `tidegate policy dagster` prints, and `tidegate check` "
                f"tries. No file is at fault: {len(self.deferred)} hints wait in the inbox until then"
            )

    def defer(self, candidate: Candidate) -> None:
        """Defer a candidate: its hints return to the inbox."""
        self.deferred += candidate_hints(self.plan, candidate)

    def keep_rows(self, key: str) -> None:
        """Leave the rows of an object that is gone to a later batch: its hint returns to the inbox."""
        self.waiting.add(key)
        self.deferred.append(self.plan.leaving[key].hint.hint)

    def _end_without_state(self, candidate: Candidate, reason: str) -> None:
        """End a candidate in quarantine without changing the last state of its key in the ledger."""
        row = candidate.row(Status.QUARANTINED, reason)
        self._end(candidate, replace(row, etag=None, size=None, checksum=None))

    def _end(self, candidate: Candidate, row: LedgerRow) -> None:
        self.rows += [*followers_rows(self.plan, candidate.key, candidate.found), row]


def keep_named_folders(store: LakeStore, prepared: PreparedBatch, rows: Iterable[LedgerRow]) -> None:
    """Remove the folders that a preparation made, except those that rows name."""
    named = {row.bad_rows_folder for row in rows}
    for folder in [*prepared.folders]:
        if folder not in named:
            store.remove_folder(folder)
            prepared.folders.remove(folder)
