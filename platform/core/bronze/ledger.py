"""The ledger's rows and their columns: decisions on source objects, and a header for each batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How an event ended (docs/internals/architecture.md, invariant 6)."""

    COMMITTED = "committed"
    DUPLICATE = "duplicate"
    REMOVED = "removed"
    QUARANTINED = "quarantined"
    MOVED = "moved"
    UNAPPLIED = "unapplied"
    PREEXISTING = "preexisting"


#: States in which the object's present bytes are accounted for: the same etag again is a duplicate.
SETTLED = frozenset({Status.COMMITTED, Status.DUPLICATE, Status.MOVED, Status.PREEXISTING})
#: States of a key whose last bytes are in the table.
IN_TABLE = frozenset({Status.COMMITTED, Status.MOVED})
#: States of a key that lies in its bucket, as far as the ledger knows: a listing that lacks it tells something.
PRESENT = SETTLED - {Status.MOVED}

#: Most characters of a reason. A producer's file decides what is in it; the rows of a batch travel in one message to
#: the Spark server, which takes 128 MiB; and every look reads the ledger.
_MOST_REASON = 1_000
_REASON_END = 700

#: First word of the reason of a write-once key that was overwritten.
OVERWRITTEN = "overwritten"


_SQL_TYPES = {"str": "STRING", "int": "BIGINT", "Status": "STRING"}


@dataclass(frozen=True)
class Stamp:
    """What each row of a ledger begins with.

    Attributes:
        kind: ``header`` or ``row``.
        n: the batch.
        bronze_version: Delta version of the bronze table with that batch's txn.
        recorded_at: microseconds since 1970.
        position: orders the rows of one batch; None in its header.
    """

    kind: str
    n: int
    run_id: str
    bronze_version: int
    recorded_at: int = field(metadata={"sql": "TIMESTAMP"})
    position: int | None = field(default=None, metadata={"sql": "INT"})


def bounded(reason: str | None) -> str | None:
    """A reason as batch and ledger take it; of a longer one the middle is left out, for its end names a folder."""
    if reason is None or len(reason) <= _MOST_REASON:
        return reason
    return f"{reason[: _MOST_REASON - _REASON_END - 1]}…{reason[-_REASON_END:]}"


@dataclass(frozen=True)
class LedgerRow:
    """One decision; the columns of the same names in ``ledger.<table>``.

    Attributes:
        key: decoded object key.
        etag: etag of the object when it was looked at. None when it was gone, but where the table keeps its rows: then
            that of the bytes that they came from, as are size, checksum and bad_rows.
        size: bytes.
        checksum: algorithm and value, as in ``CRC64NVME:nuCUKjhVRg8=``, where S3 said it.
        event_id: ``<SQS message id>#<record index>``; None for a listing's hint.
        event_time: ISO 8601.
        rows: rows that entered bronze from the object by this decision.
        bad_rows: rows set apart in the quarantine.
    """

    key: str
    status: Status
    reason: str | None = None
    etag: str | None = None
    size: int | None = None
    version_id: str | None = None
    event_id: str | None = None
    event_name: str | None = None
    event_time: str | None = field(default=None, metadata={"sql": "TIMESTAMP"})
    manifest: str | None = None
    rows: int | None = None
    bad_rows: int | None = None
    checksum: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, without the empty ones."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> LedgerRow:
        """The inverse of ``to_dict``."""
        return cls(**{**body, "status": Status(body["status"])})


@dataclass(frozen=True)
class LastState:
    """What the ledger last said of a key."""

    status: Status
    etag: str | None
    n: int
    reason: str | None = None
    bad_rows: int | None = None
    size: int | None = None
    checksum: str | None = None

    @property
    def in_table(self) -> bool:
        """Whether rows of these bytes are in the table: a loaded one keeps them when the object is removed."""
        return self.status in IN_TABLE or (self.status == Status.REMOVED and self.etag is not None)

    @property
    def partly(self) -> bool:
        """Whether some of the object's rows are in the table and some in the quarantine."""
        return self.status == Status.COMMITTED and bool(self.bad_rows)


@dataclass(frozen=True)
class Header:
    """The ledger's header row of one batch: the table's clock.

    Attributes:
        outcome: ``committed`` or ``void``.
        bronze_version: Delta version of the bronze table with that batch's txn.
    """

    n: int
    digest: str
    outcome: str
    generation: str
    bronze_version: int


def columns_of(*rows: type[Stamp | LedgerRow | LastState | Header]) -> dict[str, str]:
    """The columns that hold some of these, with their SQL types."""
    return {
        one.name: one.metadata.get("sql") or _SQL_TYPES[str(one.type).removesuffix(" | None")]
        for row in rows
        for one in fields(row)
    }


#: The columns of a ledger table, with their SQL types.
COLUMNS = columns_of(Stamp, LedgerRow, Header)
