"""A table's ledger: its clock and its memory, in a Delta table of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.batch import Adopt, Batch
from tidegate.platform.core.bronze.ledger import (
    COLUMNS,
    COUNTS,
    ENTERED,
    Cause,
    Effort,
    Header,
    LastState,
    LedgerRow,
    Stamp,
    Status,
    columns_of,
    deciding_value,
    format_reason,
    shorten_reason,
)
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.core.stored_members import require_known
from tidegate.platform.core.times import from_micros, parse_time, to_micros
from tidegate.platform.lake.spark.delta import NOT_SEEN, Delta
from tidegate.platform.lake.spark.results import CommitResult, TableState
from tidegate.platform.lake.spark.session import command

_HEADER, _STATE = list(columns_of(Header)), list(columns_of(LastState))
#: Up to this many keys, a query lists them; more are sent as a table.
_LISTED_KEYS = 1000
#: Rows of one data file of a ledger that an adoption begins.
_SEED_ROWS_OF_FILE = 100_000


@dataclass(frozen=True)
class Quarantined:
    """An object that is in quarantine now, or that S3 refused at the last request.

    Attributes:
        at: time of its record in the ledger.
        partly: whether only some of its rows are in quarantine, and the others in the table.
        bad_rows_folder: `s3a://` URI of the folder of its quarantined rows. None if the object was refused as a whole.
        unlogged: whether it was there when the table was adopted, so that its rows may be in the table.
    """

    key: str
    reason: str
    at: datetime
    partly: bool = False
    bad_rows_folder: str | None = None
    unlogged: bool = False

    @property
    def reason_and_folder(self) -> str:
        """The reason for people, with the folder of its quarantined rows if there is one."""
        return format_reason(self.reason, self.bad_rows_folder)


@dataclass(frozen=True)
class Reading:
    """Bytes of an object that entered bronze, with the facts of the last batch that read them.

    Attributes:
        rows: number of rows in the table.
        n: the batch.
        event_time: ISO 8601 time of the newest event among the batches that read them; None if no event is known.
        size: bytes.
        checksum: as in the ledger.
    """

    key: str
    etag: str
    rows: int
    n: int
    event_time: str | None = None
    size: int | None = None
    checksum: str | None = None


@dataclass(frozen=True)
class Decision:
    """A batch's decision on one object."""

    stamp: Stamp
    row: LedgerRow


class Clock(NamedTuple):
    """One version of a ledger.

    Attributes:
        version: Delta version; -1 while there is no ledger.
        n: number of the last batch that the ledger has recorded; 0 if none.
    """

    version: int
    n: int


class Ledger:
    """The ledger of one bronze table.

    Args:
        location: `s3a://` URI of the ledger.
        table: table key.
    """

    def __init__(self, delta: Delta, location: str, table: str) -> None:
        self._delta = delta
        self.location = location
        self._app_id = f"tidegate:ledger:{table}"
        # As of the last read of the clock: the columns that the ledger lacks, and its version.
        self._lacking: list[str] | None = None
        self._seen = NOT_SEEN

    def clock(self) -> Clock:
        """Return the clock of the table.

        The append of batch n is the ledger's own txn n, so the tail of the log shows n without a read of rows.

        Raises:
            NewerVersionError: the ledger has a column that this version does not know.
        """
        state = self._delta.table_state(self.location, self._app_id)
        _require_known_columns(self.location, state)
        self._lacking, self._seen = _missing_columns(state), state.version
        return Clock(state.version, state.txn or 0)

    def header(self, version: int, n: int) -> Header | None:
        """Return the header row of batch n as of a ledger version; None for n = 0.

        Raises:
            DataError: the ledger's txn is n, but the row is missing: the ledger was changed by hand.
        """
        return self.memory(version, n, [])[0]

    def memory(self, version: int, n: int, keys: Collection[str]) -> tuple[Header | None, dict[str, LastState]]:
        """Return the header row of batch n and the known last states of these keys, as of a ledger version.

        Raises:
            DataError: see `header`.
        """
        if version < 0 or n == 0:
            return None, {}
        found = self._delta.ledger_memory(self.location, version, n, list(keys))
        if found is None:
            found = self._query_rows(version, n, keys)
        headers = [Header(*(row[name] for name in _HEADER)) for row in found if row["kind"] == "header"]
        if len(headers) != 1:
            raise DataError(
                f"the ledger {self.location} has {len(headers)} header rows of batch {n} instead of one: it "
                "was changed by hand; restore it to the version before with RESTORE TABLE"
            )
        return headers[0], {row["key"]: _state(row) for row in found if row["kind"] == "row"}

    def _query_rows(self, version: int, n: int, keys: Collection[str]) -> list[Row]:
        """Return the rows that `memory` needs, by a query. The decisions on a key are in order."""
        is_header = (F.col("kind") == "header") & (F.col("n") == n)
        rows = self.rows(version)
        if len(keys) > _LISTED_KEYS:
            wanted = self._delta.session.createDataFrame(pa.table({"wanted": pa.array([None, *keys], pa.string())}))
            rows = rows.join(F.broadcast(wanted), F.col("key").eqNullSafe(F.col("wanted")), "left_semi")
            of_keys = F.col("key").between(min(keys), max(keys))
        else:
            of_keys = F.col("key").isin(list(keys))
        rows = rows.where(is_header | (of_keys & state_change_condition()) if keys else is_header)
        found = rows.select("kind", "position", "key", *dict.fromkeys([*_STATE, *_HEADER])).collect()
        return sorted(found, key=lambda row: (row["n"], row["position"] or 0))

    def live_keys(self, version: int) -> dict[str, LastState]:
        """Return the last state of every key, as of a ledger version."""
        if version < 0:
            return {}
        # A Spark job takes longer than all else in a run of a small table. No batch is number 0, so no header comes.
        found = self._delta.ledger_memory(self.location, version, 0, None)
        if found is None:
            found = self.last_states(version).select("key", *_STATE).collect()
        return {row["key"]: _state(row) for row in found}

    def last_states(self, version: int) -> DataFrame:
        """Return the query of every key's last state and the time of its record, as of a ledger version."""
        if version < 0:
            columns = {"key": "STRING", **columns_of(LastState), "recorded_at": "TIMESTAMP"}
            return self._delta.session.createDataFrame([], _ddl(columns))
        last = F.max_by(F.struct(*_STATE, "recorded_at"), F.struct("n", "position")).alias("last")
        found: DataFrame = self.rows(version).where(state_change_condition()).groupBy("key").agg(last)
        return found.select("key", "last.*")

    def committed_readings(self, version: int) -> list[Reading]:
        """Return all objects that entered bronze and did not leave it, as of a ledger version.

        An overwritten object has an entry for each etag whose rows are in the table.
        """
        if version < 0:
            return []
        found = _readings_with_rows(self.rows(version))
        # The last batch, which may have replaced the rows of the first.
        last = (
            F.max_by("rows", "n").alias("rows"),
            F.max("n").alias("n"),
            F.max(F.unix_micros("event_time")).alias("at"),
            F.max_by("size", "n").alias("size"),
            F.max_by("checksum", "n").alias("checksum"),
        )
        rows = found.groupBy("key", "etag").agg(*last).collect()
        return [
            Reading(row["key"], row["etag"], row["rows"] or 0, row["n"], _iso(row["at"]), row["size"], row["checksum"])
            for row in rows
        ]

    def batches_of_rows(self, version: int, keys: Collection[str]) -> dict[str, frozenset[int]]:
        """Return the batches that brought the rows which bronze has of these keys, as of a ledger version.

        A key without such a batch is left out.
        """
        if version < 0 or not keys:
            return {}
        rows = self.rows(version).where(F.col("key").between(min(keys), max(keys)))
        if len(keys) > _LISTED_KEYS:
            wanted = self._delta.session.createDataFrame(pa.table({"key": pa.array([*keys], pa.string())}))
            rows = rows.join(F.broadcast(wanted), "key", "left_semi")
        else:
            rows = rows.where(F.col("key").isin([*keys]))
        # By `_readings_with_rows`, but without its shuffles: they take longer than the load of a small file.
        committed, left = _entry_conditions()
        decisions = rows.where((F.col("kind") == "row") & (committed | left)).select("n", ~left, committed, "key")
        brought: dict[str, set[int]] = {}
        for n, stay, entered, key in sorted(decisions.collect()):
            batches = brought.setdefault(key, set())
            if not stay:
                batches.clear()
            if entered:
                batches.add(n)
        return {key: frozenset(batches) for key, batches in brought.items() if batches}

    def count_keys_with_rows(self, version: int) -> int:
        """Return how many keys have rows in bronze, as of a ledger version that exists."""
        return _readings_with_rows(self.rows(version)).select("key").distinct().count()

    def committed_rows(self, version: int) -> DataFrame:
        """Return the query of the records of the objects that entered bronze, as of a ledger version that exists."""
        rows: DataFrame = self.rows(version).where(ENTERED)
        return rows

    def waiting_datasets(self, version: int, signals: str, max_signals: int) -> WaitingDatasets:
        """Return what waits for completion signals, as of a ledger version.

        Args:
            version: Delta version of the ledger.
            signals: regular expression of the keys of signals.
            max_signals: number of signals whose reasons are returned, the oldest first.
        """
        if version < 0:
            return WaitingDatasets()
        is_signal, status = F.col("key").rlike(signals), F.col("status")
        waits = status == str(Status.WAITING)
        states = self.last_states(version).where(waits | (is_signal & (status == str(Status.QUARANTINED))))
        counted = states.agg(
            F.count_if(~is_signal).alias("files"),
            F.count_if(F.col("cause") == str(Cause.LATE)).alias("late"),
            F.count_if(is_signal).alias("signals"),
            F.min("recorded_at").cast("double").alias("since"),
        ).collect()[0]
        named = states.where(is_signal).orderBy("recorded_at", "key").limit(max_signals).select("key", "reason")
        reasons = {row["key"]: row["reason"] or "" for row in named.collect()} if counted["signals"] else {}
        return WaitingDatasets(counted["files"], counted["late"], reasons, counted["since"])

    def quarantined_objects(self, version: int) -> list[Quarantined]:
        """Return the objects that are in quarantine, wholly or partly, as of a ledger version, by key
        (`deciding_value`).
        """
        if version < 0:
            return []
        decision = f"struct({', '.join(_STATE)}, CAST(recorded_at AS DOUBLE) AS at)"
        found = self.rows(version).where(COUNTS).groupBy("key").agg(F.expr(deciding_value(decision)).alias("last"))
        wholly = F.col("last.status") == str(Status.QUARANTINED)
        partly = (F.col("last.status") == str(Status.COMMITTED)) & (F.col("last.bad_rows") > 0)
        rows = found.where(wholly | partly).select("key", "last.*", partly.alias("partly")).orderBy("key").collect()
        return [_parse_quarantined(row) for row in rows]

    def history(self, version: int, *keys: str) -> list[Decision]:
        """Return all decisions on some keys, as of a ledger version, in order."""
        if version < 0 or not keys:
            return []
        of_keys = (F.col("kind") == "row") & F.col("key").isin(list(keys))
        decisions = self.rows(version).where(of_keys)
        plain = {"recorded_at": F.unix_micros("recorded_at"), "event_time": F.col("event_time").cast("string")}
        rows = [row.asDict() for row in decisions.withColumns(plain).collect()]
        rows.sort(key=lambda row: (row["n"], row["position"]))  # a sort by Spark is two jobs more
        return [
            Decision(
                Stamp(**{name: row[name] for name in columns_of(Stamp)}),
                LedgerRow.from_dict({name: row[name] for name in columns_of(LedgerRow)}),
            )
            for row in rows
        ]

    def append(self, batch: Batch, landed: CommitResult, run_id: str, effort: Effort) -> None:
        """Record a commit: the header row, and the batch's rows unless it is void.

        Each batch number is recorded once. A later call for it has no effect.

        Args:
            effort: what the batch took so far.
        """
        stamp = Stamp("header", batch.n, run_id, landed.version, to_micros(datetime.now(UTC)))
        header = Header(batch.n, landed.digest, landed.outcome, batch.generation, landed.version)
        rows: list[dict[str, Any]] = [
            {**vars(stamp), **vars(header), **vars(effort), "reason": shorten_reason(landed.reason)}
        ]
        if batch.adopt:
            self._create()
            self._append_seed(batch.adopt, stamp, rows[0])
            return
        if landed.outcome == "committed":
            rows += [
                {**vars(replace(stamp, kind="row", position=position)), **row}
                for position, row in enumerate(recorded_rows(batch))
            ]
        if batch.n == 1:
            self._create()
        self._add_columns()
        self._delta.append(self.location, rows, self._app_id, batch.n, self._seen)

    def objects_to_enter(self, adopt: Adopt) -> DataFrame:
        """Return the query of the keys and sizes of the objects that enter a table after its adoption."""
        return self._delta.session.read.parquet(adopt.seed).where("status IS NULL").select("key", "size")

    def _append_seed(self, adopt: Adopt, stamp: Stamp, header: dict[str, Any]) -> None:
        """Record an adoption: its header, and the rows of the objects that were there before, in one append."""
        if self.clock().n >= stamp.n:
            return
        session = self._delta.session
        found = session.read.parquet(adopt.seed)
        if (count := found.count()) != adopt.rows:
            raise DataError(
                f"{adopt.seed} has {count} of the {adopt.rows} rows with which the ledger begins: restore its objects"
            )
        values = {**vars(replace(stamp, kind="row")), "recorded_at": None, "position": None}
        known = {name: F.lit(value) for name, value in values.items() if value is not None}
        rows = found.where("status IS NOT NULL").withColumns(
            {**known, "recorded_at": F.timestamp_micros(F.lit(stamp.recorded_at))}
        )
        plain = {name: kind.replace("TIMESTAMP", "BIGINT") for name, kind in COLUMNS.items()}
        head = session.createDataFrame([tuple(header.get(name) for name in plain)], _ddl(plain))
        head = head.withColumn("recorded_at", F.timestamp_micros("recorded_at"))
        head = head.withColumn("event_time", F.timestamp_micros("event_time"))
        both = rows.unionByName(head, allowMissingColumns=True)
        cast = both.select(*(F.col(name).cast(kind) for name, kind in COLUMNS.items()))
        # A run reads the files that may have its keys.
        parted = cast.repartitionByRange(1 + adopt.rows // _SEED_ROWS_OF_FILE, "key").sortWithinPartitions("key")
        writer = parted.write.format("delta").mode("append")
        writer.option("txnAppId", self._app_id).option("txnVersion", str(stamp.n)).save(self.location)

    def _create(self) -> None:
        ddl = _ddl(COLUMNS)
        try:
            command(
                self._delta.session,
                f"CREATE TABLE IF NOT EXISTS {delta_table(self.location)} ({ddl}) USING delta CLUSTER BY (key)",
            )
        except PySparkException:
            if not self._delta.table_state(self.location).exists:
                raise
        state = self._delta.table_state(self.location)
        self._lacking = _missing_columns(state)
        if state.exists:
            return
        # If another run is creating the table, or died at the beginning of that, Spark takes the folder of the log for
        # the table. A write does not: the first writer creates the table.
        try:
            rows = self._delta.session.createDataFrame([], ddl)
            rows.write.format("delta").mode("append").save(self.location)
            command(self._delta.session, f"ALTER TABLE {delta_table(self.location)} CLUSTER BY (key)")
        except PySparkException:
            if not self._delta.table_state(self.location).exists:
                raise

    def _add_columns(self) -> None:
        """Add the columns of later versions to a ledger that an older version created."""
        if self._lacking is None:
            self.clock()
        if not self._lacking:
            return
        ddl = _ddl({name: COLUMNS[name] for name in self._lacking})
        try:
            command(self._delta.session, f"ALTER TABLE {delta_table(self.location)} ADD COLUMNS ({ddl})")
        except PySparkException:
            self.clock()  # another run may have added them
            if self._lacking:
                raise
        self._lacking = []

    def rows(self, version: int) -> Any:
        """Return the rows of a ledger version, with the columns of later versions, which are null."""
        rows = self._delta.session.read.format("delta").option("versionAsOf", version).load(self.location)
        lacking = COLUMNS.keys() - set(rows.columns)
        return rows.withColumns({name: F.lit(None).cast(COLUMNS[name]) for name in lacking}) if lacking else rows


def recorded_rows(batch: Batch) -> list[dict[str, Any]]:
    """Return the rows of a batch as the ledger records them, by column name, without their stamps.

    Raises:
        ValueError: a row has a time that is none. The message names its key.
    """
    return [_plain_values(row) for row in batch.rows]


def state_change_condition() -> Column:
    """Return the condition for rows that change a key's state: no duplicates, and no requests that S3 refused (403).

    If a refusal counted, an object that entered bronze before it would enter a second time afterwards.
    """
    refused = (F.col("status") == str(Status.QUARANTINED)) & F.col("etag").isNull()
    return (F.col("kind") == "row") & (F.col("status") != str(Status.DUPLICATE)) & ~refused


def _readings_with_rows(rows: DataFrame) -> DataFrame:
    """Return the decisions by which objects entered bronze whose rows have not left it since.

    Args:
        rows: all rows of some keys.
    """
    committed, left = _entry_conditions()
    decisions = rows.where((F.col("kind") == "row") & (committed | left))
    last = F.max(F.when(left, F.col("n"))).over(Window.partitionBy("key"))
    return decisions.withColumn("left_at", last).where(committed & (F.coalesce("left_at", F.lit(0)) <= F.col("n")))


def _entry_conditions() -> tuple[Column, Column]:
    """Return the conditions for decisions by which an object entered bronze, and by which its earlier rows left it."""
    return F.col("status") == str(Status.COMMITTED), F.col("removed_rows").isNotNull()


def _missing_columns(state: TableState) -> list[str]:
    """Return the columns that an older ledger lacks."""
    has = {field.name for field in state.schema.fields}
    return [name for name in COLUMNS if name not in has] if state.exists else []


def _require_known_columns(location: str, state: TableState) -> None:
    # What this version appends would have nothing in such a column.
    require_known({field.name: field for field in state.schema.fields}, COLUMNS, f"a row of the ledger {location}")


def _ddl(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _state(row: Row) -> LastState:
    return LastState.from_row({name: row[name] for name in _STATE})


def _parse_quarantined(row: Row) -> Quarantined:
    state, at = _state(row), datetime.fromtimestamp(row["at"], UTC)
    unlogged = state.cause is Cause.UNLOGGED
    return Quarantined(row["key"], state.reason or "", at, row["partly"], state.bad_rows_folder, unlogged)


def _plain_values(row: LedgerRow) -> dict[str, Any]:
    # Batches of older versions have reasons of any length, and must be recorded. With `replace`, cause and folder that
    # were read from such a reason are recorded too.
    body = replace(row, reason=shorten_reason(row.reason)).to_dict()
    if row.event_time:
        body["event_time"] = to_micros(parse_time(row.event_time))
    return body


def _iso(micros: int | None) -> str | None:
    return None if micros is None else from_micros(micros).isoformat()
