"""What a preparation hands to the decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tidegate.platform.core.bronze.batch import Add, Remove
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.plan import Candidate, Plan, candidate_hints, followers_rows
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.aws.s3 import NotWritable, ObjectForbidden, StoreError


@dataclass
class PreparedBatch:
    """Files ready to be added, and what became of every candidate.

    Attributes:
        plan: the plan whose candidates are prepared.
        removes: live entries that leave with the adds.
        base: the table's schema as the preparation found it; None where there is no table yet.
        schema: the schema once the adds are in the table.
        sent_until: of a row queue's table, what its batch says so.
        folders: where rows were set apart, ``s3a://`` URIs.
        obstacle: why some candidates wait that are not at fault; the run fails with it once the others are done.
    """

    plan: Plan = field(default_factory=Plan)
    adds: list[Add] = field(default_factory=list)
    removes: list[Remove] = field(default_factory=list)
    rows: list[LedgerRow] = field(default_factory=list)
    deferred: list[Hint] = field(default_factory=list)
    base: TableSchema | None = None
    schema: TableSchema = field(default_factory=TableSchema)
    sent_until: int | None = None
    folders: list[str] = field(default_factory=list)
    obstacle: str | None = None

    def commit(
        self, candidate: Candidate, *, rows: int, bad_rows: int | None = None, reason: str | None = None
    ) -> None:
        """Note that a candidate's rows are among the adds; ``reason`` is that of its bad rows."""
        self._end(candidate, candidate.row(Status.COMMITTED, reason, rows=rows, bad_rows=bad_rows))

    def quarantine(self, candidate: Candidate, reason: str) -> None:
        """Note that a candidate cannot be ingested; what the table has of it stays, and can be redriven again."""
        if candidate.replaces is None:
            self._end(candidate, candidate.row(Status.QUARANTINED, reason))
        else:
            self._end_without_state(candidate, f"read again, and refused: {reason}; its rows in the table stay")

    def refused(self, candidate: Candidate, reason: str) -> None:
        """Note that S3 shows a candidate and does not give it: no state of its key, so the next look asks again."""
        self._end_without_state(candidate, f"access denied: {reason}; the next event or listing looks again")

    def failed(self, candidate: Candidate, error: ValueError | StoreError) -> None:
        """End a candidate, or put it off, for what reading it raised: its own fault, S3's refusal, or the moment's."""
        match error:
            case NotWritable():
                self.obstacle = str(error)
                self.defer(candidate)
            case ObjectForbidden():
                self.refused(candidate, str(error))
            case StoreError():
                self.defer(candidate)
            case _:
                self.quarantine(candidate, str(error))

    def require_progress(self) -> None:
        """Stop where nothing is left but what waits for somebody: a batch of it would say nothing, window for window.

        Raises:
            NotWritable: the permission that is missing, and what waits for it.
        """
        if self.obstacle and not (self.adds or self.rows or self.plan.rows or self.plan.drop):
            raise NotWritable(
                f"{self.obstacle}. Give Dagster's role what `tidegate policy dagster` prints, and `tidegate check` "
                f"tries. No file is at fault: what {len(self.deferred)} hints tell of waits in the inbox until then"
            )

    def defer(self, candidate: Candidate) -> None:
        """Put a candidate off: its hints go back to the inbox."""
        self.deferred += candidate_hints(self.plan, candidate)

    def _end_without_state(self, candidate: Candidate, reason: str) -> None:
        """End a candidate in quarantine so that the ledger's last word of its key stays what it was."""
        row = candidate.row(Status.QUARANTINED, reason)
        self._end(candidate, replace(row, etag=None, size=None, checksum=None))

    def _end(self, candidate: Candidate, row: LedgerRow) -> None:
        self.rows += [*followers_rows(self.plan, candidate.key, candidate.found), row]
