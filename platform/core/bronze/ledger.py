"""The ledger's rows and their columns: decisions on source objects, and a header for each batch.

Older versions wrote facts into reasons, for which ledgers have columns today. Those facts are read here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.stored_members import read_members

#: Where a reason names the folder of the bad rows. SQL uses this pattern too.
FOLDER_IN_REASON = "; see (s3a://.*/[0-9]{20}-[0-9A-HJKMNP-TV-Z]{26})"

# The last match: an earlier one can be a text of a producer's row, which the reason quotes.
_LAST_FOLDER = re.compile(f"(?P<before>.*){FOLDER_IN_REASON.replace('(', '(?P<folder>', 1)}", re.DOTALL)
_OVERWRITTEN = "overwritten: "

#: The rows of decisions that count. A duplicate with a reason is a further event, perhaps of an object that is gone.
COUNTS = "kind = 'row' AND (status <> 'duplicate' OR reason IS NULL)"
_PLACE = "struct(n, position)"


class Status(StrEnum):
    """How an event ended (docs/internals/architecture.md, invariant 6)."""

    COMMITTED = "committed"
    DUPLICATE = "duplicate"
    REMOVED = "removed"
    QUARANTINED = "quarantined"
    MOVED = "moved"
    UNAPPLIED = "unapplied"
    #: The table had the object, or had removed it, before it was adopted.
    PREEXISTING = "preexisting"
    #: A part of a dataset that has no valid completion signal yet, or a signal whose parts are not all there.
    WAITING = "waiting"
    #: A completion signal whose parts are all in the table.
    COMPLETE = "complete"


class Cause(StrEnum):
    """Why an object is in quarantine, or waits, where later batches or checks depend on it."""

    #: A write-once key of a registered table was overwritten. It stays in quarantine, whatever its bytes are.
    OVERWRITTEN = "overwritten"
    #: A part came after its dataset had entered. It waits until the completion signal is written again.
    LATE = "late"
    #: The object was there when its table was adopted, and its rows had left the table before.
    LEFT = "left"
    #: The object was there when its table was adopted, and the log did not name it. Its rows may be in the table.
    UNLOGGED = "unlogged"


#: States in which the object's present bytes are accounted for: another event with the same etag is a duplicate.
SETTLED = frozenset({Status.COMMITTED, Status.DUPLICATE, Status.MOVED, Status.PREEXISTING, Status.COMPLETE})
#: Condition of the rows of objects that are in the table since their batch, or were when the table was adopted.
ENTERED = f"kind = 'row' AND (status = '{Status.COMMITTED}' OR (status = '{Status.PREEXISTING}' AND cause IS NULL))"
#: States of a key whose last bytes are in the table.
IN_TABLE = frozenset({Status.COMMITTED, Status.MOVED})
#: States of a key whose object is in its bucket, as far as the ledger knows. If a listing lacks the key, the object
#: is gone.
PRESENT = SETTLED - {Status.MOVED} | {Status.WAITING}

#: Characters of the longest reason. Its text can come from a producer's file, the rows of a batch go to the Spark
#: server in one message of at most 128 MiB, and every run reads the ledger.
_REASON_CHARACTERS_MAX = 900
_REASON_END_CHARACTERS = 600

_SQL_TYPES = {"str": "STRING", "int": "BIGINT", "Status": "STRING", "Cause": "STRING"}


@dataclass(frozen=True)
class Stamp:
    """The columns that every row of a ledger has.

    Attributes:
        kind: `header` or `row`.
        n: number of the batch.
        bronze_version: Delta version of the bronze table that the batch committed.
        recorded_at: microseconds since 1970.
        position: position of the row within its batch. None in the header.
    """

    kind: str
    n: int
    run_id: str
    bronze_version: int
    recorded_at: int = field(metadata={"sql": "TIMESTAMP"})
    position: int | None = field(default=None, metadata={"sql": "INT"})


def shorten_reason(reason: str | None) -> str | None:
    """Shorten a reason to the length that batches and the ledger accept.

    The middle is cut out: it quotes the producer's file. The end says what to do, and in a reason of an older version
    it names the folder of the bad rows.
    """
    if reason is None or len(reason) <= _REASON_CHARACTERS_MAX:
        return reason
    return f"{reason[: _REASON_CHARACTERS_MAX - _REASON_END_CHARACTERS - 1]}…{reason[-_REASON_END_CHARACTERS:]}"


def format_reason(reason: str, bad_rows_folder: str | None, max_characters: int | None = None) -> str:
    """Return a reason, and after it the folder of the bad rows if there is one, as AWS's own tools read its address.

    Args:
        reason: of a row of any version.
        bad_rows_folder: as in `LedgerRow`.
        max_characters: a longer reason is cut off.
    """
    text = without_folder(reason) if bad_rows_folder else reason
    if max_characters is not None and len(text) > max_characters:
        text = f"{text[:max_characters]}…"
    return f"{text}; see {S3Address.parse_s3a(bad_rows_folder)}" if bad_rows_folder else text


@dataclass(frozen=True)
class LedgerRow:
    """One decision on a source object. Fields have the names of the columns of `ledger.<table>`.

    Attributes:
        key: decoded object key.
        reason: a sentence for people. Programs read the other fields.
        etag: etag of the object when it was decided. If the object was gone: None, or, where the table keeps its rows,
            the etag of the bytes that the rows came from. `size`, `checksum` and `bad_rows` are of the same bytes.
        size: bytes.
        checksum: algorithm and value, as in `CRC64NVME:nuCUKjhVRg8=`. None if S3 has none.
        cause: None if nothing depends on the cause.
        bad_rows_folder: `s3a://` URI of the folder that the object's quarantined rows are in.
        event_id: `<SQS message id>#<record index>`; None if the hint does not come from an event.
        event_time: ISO 8601.
        rows: number of rows that this decision added to bronze.
        bad_rows: number of quarantined rows.
        event_type: the type of the event by `event_types` of `lake.yaml`. A decision without an event has that of the
            key's last state, or else the one that the key gives.
        removed_rows: number of rows of earlier readings of the key that left bronze with this decision. Then no earlier
            reading has rows there. None if such rows stay.
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
    cause: Cause | None = None
    bad_rows_folder: str | None = None
    event_type: str | None = None
    removed_rows: int | None = None

    @property
    def entered(self) -> bool:
        """Whether the object's rows are in the table by this decision, as `ENTERED` says in SQL."""
        return self.status is Status.COMMITTED or (self.status is Status.PREEXISTING and self.cause is None)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain JSON, without empty values."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> LedgerRow:
        """Make a row from the result of `to_dict`. Cause and folder of an older version's row are in its reason."""
        return read_members(cls, body, "a row", status=Status(body["status"]), **_facts(body))


@dataclass(frozen=True)
class LastState:
    """The last state of a key in the ledger."""

    status: Status
    etag: str | None
    n: int
    reason: str | None = None
    bad_rows: int | None = None
    size: int | None = None
    checksum: str | None = None
    cause: Cause | None = None
    bad_rows_folder: str | None = None
    event_type: str | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> LastState:
        """Make a state from the columns of a ledger row. Cause and folder of an older row are in its reason."""
        return cls(**{**row, "status": Status(row["status"]), **_facts(row)})

    @property
    def in_table(self) -> bool:
        """Whether rows of these bytes are in the table. A loaded table keeps them when the object is removed."""
        return self.status in IN_TABLE or (self.status == Status.REMOVED and self.etag is not None)

    @property
    def partly(self) -> bool:
        """Whether some of the object's rows are in the table and some in the quarantine."""
        return self.status == Status.COMMITTED and bool(self.bad_rows)


@dataclass(frozen=True)
class Header:
    """The ledger's header row of one batch: the table's clock.

    Attributes:
        outcome: `committed` or `void`.
        bronze_version: Delta version of the bronze table that the batch committed.
    """

    n: int
    digest: str
    outcome: str
    generation: str
    bronze_version: int


@dataclass(frozen=True)
class Effort:
    """What a batch took. Only its header has it.

    Attributes:
        milliseconds: from the beginning of the run's work on the batch to its record. If a run died, the one that
            finished its batch counts its own part. None if an older version recorded the batch.
    """

    milliseconds: int | None = None


def columns_of(*rows: type[Stamp | LedgerRow | LastState | Header | Effort]) -> dict[str, str]:
    """Return the columns of these kinds of rows, with their SQL types."""
    return {
        column.name: column.metadata.get("sql") or _SQL_TYPES[str(column.type).removesuffix(" | None")]
        for row in rows
        for column in fields(row)
    }


def _facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return cause and folder of a row that is read."""
    cause, folder, reason = row.get("cause"), row.get("bad_rows_folder"), row.get("reason")
    if cause is not None or folder is not None:
        return {"cause": None if cause is None else Cause(cause), "bad_rows_folder": folder}
    # Versions that had no columns for cause and folder put them into the reason.
    overwritten = is_overwritten(reason)
    return {
        "cause": Cause.OVERWRITTEN if overwritten else None,
        "bad_rows_folder": bad_rows_folder(reason),
    }


#: The columns of a decision.
ROW_COLUMNS = tuple(columns_of(LedgerRow))
#: The columns of a ledger table, with their SQL types.
COLUMNS = columns_of(Stamp, LedgerRow, Header, Effort)


def is_overwritten(reason: str | None) -> bool:
    """Return whether the reason is that of an overwritten write-once key."""
    return (reason or "").startswith(_OVERWRITTEN)


def bad_rows_folder(reason: str | None) -> str | None:
    """Return the `s3a://` URI of the folder that the reason names. None if it names none."""
    match = _LAST_FOLDER.match(reason or "")
    return match["folder"] if match else None


def without_folder(reason: str) -> str:
    """Return the reason without the folder, if it names one."""
    match = _LAST_FOLDER.match(reason)
    return match["before"] + reason[match.end() :] if match else reason


def deciding_value(value: str, over: str = "") -> str:
    """Return SQL of a value of the row of a ledger that decides a key: an aggregate over the key's rows of `COUNTS`.

    It is the last row that is not a duplicate. But an object that was removed, and put again with the bytes that are in
    the table, is a duplicate of their reading: then that reading decides, whose bad rows are in quarantine as before.

    Args:
        value: SQL over a row.
        over: makes each aggregate one over a window, such as ` OVER (PARTITION BY key)`.
    """

    def last_value(wanted: str, condition: str) -> str:
        return f"(max_by(if({condition}, {wanted}, NULL), if({condition}, {_PLACE}, NULL)){over})"

    state = last_value(f"struct(status, {value} AS value)", "status <> 'duplicate'")
    reading = last_value(f"struct(etag, {value} AS value)", "status = 'committed'")
    newest = last_value("struct(status, etag)", "true")
    is_back = f"{state}.status = 'removed' AND {newest}.status = 'duplicate' AND {newest}.etag = {reading}.etag"
    return f"if(coalesce({is_back}, false), {reading}.value, {state}.value)"
