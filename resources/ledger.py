"""A table's ledger: its clock and its memory, in a Delta table of its own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from tidegate.platform.core.batch import Batch
from tidegate.platform.core.ledger import LEDGER_DDL, Header, LastState, LedgerRow, Status
from tidegate.resources.delta import Delta, Landed

_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("kind", pa.string()),
    ("n", pa.int64()),
    ("position", pa.int32()),
    ("key", pa.string()),
    ("etag", pa.string()),
    ("size", pa.int64()),
    ("version_id", pa.string()),
    ("event_id", pa.string()),
    ("event_name", pa.string()),
    ("event_time", pa.timestamp("us", "UTC")),
    ("manifest", pa.string()),
    ("run_id", pa.string()),
    ("status", pa.string()),
    ("reason", pa.string()),
    ("rows", pa.int64()),
    ("bad_rows", pa.int64()),
    ("digest", pa.string()),
    ("outcome", pa.string()),
    ("generation", pa.string()),
    ("bronze_version", pa.int64()),
    ("recorded_at", pa.timestamp("us", "UTC")),
]
_ARROW = pa.schema(_COLUMNS)


class Ledger:
    """The ledger of one bronze table.

    Args:
        delta: the door to tables.
        location: ``s3a://`` URI of the ledger.
        table: table key.
    """

    def __init__(self, delta: Delta, location: str, table: str) -> None:
        self._delta = delta
        self.location = location
        self._app_id = f"tidegate:ledger:{table}"

    def clock(self) -> tuple[int, int]:
        """The ledger's Delta version (-1: no ledger yet) and the last batch number recorded in it (0: none).

        The append of batch n is the ledger's own txn n, so the log's tail tells n without reading rows.
        """
        state = self._delta.table_state(self.location, self._app_id)
        return state.version, state.txn or 0

    def header(self, version: int, n: int) -> Header | None:
        """The header row of batch n as of a ledger version; None for n = 0.

        Raises:
            RuntimeError: the ledger's txn says n, but the row is not there: somebody changed the ledger.
        """
        return self.memory(version, n, [])[0]

    def memory(self, version: int, n: int, keys: Collection[str]) -> tuple[Header | None, dict[str, LastState]]:
        """The header row of batch n, and the last state of each of these keys that is known, as of a ledger version.

        One query: on a small ledger, what a query costs is Spark's planning of it.

        Raises:
            RuntimeError: as ``header``.
        """
        if version < 0 or n == 0:
            return None, {}
        wanted = self._delta.session.createDataFrame(pa.table({"wanted": pa.array([None, *sorted(keys)], pa.string())}))
        is_header = (F.col("kind") == "header") & (F.col("n") == n)
        candidates = is_header
        if keys:
            candidates = candidates | ((F.col("kind") == "row") & F.col("key").between(min(keys), max(keys)))
        rows = (
            self._at(version)
            .where(candidates)
            .join(F.broadcast(wanted), F.col("key").eqNullSafe(F.col("wanted")), "left_semi")
        )
        headers, states = _collected(rows)
        if len(headers) != 1:
            raise RuntimeError(
                f"the ledger {self.location} has {len(headers)} header rows of batch {n} instead of one: it "
                "was changed by hand; restore it to the version before with RESTORE TABLE"
            )
        return headers[0], states

    def live_keys(self, version: int) -> dict[str, LastState]:
        """The last state of every key, as of a ledger version."""
        return _collected(self._at(version).where(F.col("kind") == "row"))[1] if version >= 0 else {}

    def append(self, batch: Batch, landed: Landed, run_id: str) -> None:
        """Record what landed: the header row, and the batch's rows unless it is void.

        Written once per batch number, whoever comes first.
        """
        now = datetime.now(UTC)
        stamp = {"n": batch.n, "run_id": run_id, "bronze_version": landed.version, "recorded_at": now}
        rows: list[dict[str, Any]] = [
            {
                **stamp,
                "kind": "header",
                "digest": landed.digest,
                "outcome": landed.outcome,
                "generation": batch.generation,
                "reason": landed.reason,
            }
        ]
        if landed.outcome == "committed":
            rows += [
                {**stamp, **_plain(row), "kind": "row", "position": position} for position, row in enumerate(batch.rows)
            ]
        self._create()
        table = pa.Table.from_pylist(rows, schema=_ARROW)
        self._delta.append(self.location, self._delta.session.createDataFrame(table), self._app_id, batch.n)

    def _create(self) -> None:
        if self._delta.table_state(self.location).exists:
            return
        try:
            self._delta.session.sql(
                f"CREATE TABLE IF NOT EXISTS delta.`{self.location}` ({LEDGER_DDL}) USING delta CLUSTER BY (key)"
            ).collect()
        except PySparkException:
            if not self._delta.table_state(self.location).exists:
                raise

    def _at(self, version: int) -> Any:
        return self._delta.session.read.format("delta").option("versionAsOf", version).load(self.location)


def _collected(rows: Any) -> tuple[list[Header], dict[str, LastState]]:
    """Headers, and the last state by key.

    Rows that change no state are left out: duplicates, and looks that S3 refused (403), which saw no object. Would a
    refusal count, an object that entered bronze before it would enter a second time after it.
    """
    refused = (F.col("status") == str(Status.QUARANTINED)) & F.col("etag").isNull()
    header = F.col("kind") == "header"
    found = (
        rows.where(header | ((F.col("status") != str(Status.DUPLICATE)) & ~refused))
        # Headers are as many as they are; of the rows of a key the last one counts.
        .groupBy(
            "key", F.when(header, F.struct("n", "digest", "outcome", "generation", "bronze_version")).alias("header")
        )
        .agg(
            F.max_by(F.struct("status", "etag", "n", "reason"), F.struct("n", "position")).alias("last"),
            F.count("*").alias("times"),
        )
        .collect()
    )
    headers = [Header(*row["header"]) for row in found if row["header"] for _ in range(row["times"])]
    states = {
        row["key"]: LastState(
            Status(row["last"]["status"]), row["last"]["etag"], row["last"]["n"], row["last"]["reason"]
        )
        for row in found
        if not row["header"]
    }
    return headers, states


def _plain(row: LedgerRow) -> dict[str, Any]:
    body = row.to_dict()
    if row.event_time:
        body["event_time"] = datetime.fromisoformat(row.event_time)
    return body
