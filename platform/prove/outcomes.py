"""What became of every file of a run, by the ledgers, and whether everything has arrived."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from pathlib import Path

from pyspark.sql import Row
from pyspark.sql import functions as F

from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.pending_merge import pending_merge

_COLUMNS = ("n", "position", "event_id", "key", "etag", "status", "bad_rows")
_RECORDED = "CAST(recorded_at AS DOUBLE) AS recorded_at"
_UNCHANGED = "duplicate"


@dataclass(frozen=True)
class Event:
    """What became of an event.

    Attributes:
        key: of the object that it names; empty if it names none.
        outcome: as a ledger or the intake log has it.
    """

    key: str
    outcome: str


@dataclass(frozen=True)
class Awaited:
    """What the ledgers must have before a wave has arrived.

    Attributes:
        states: the last state of each key: `committed`, `quarantined` or `removed`.
        etags: the etag of each key that exists.
    """

    states: Mapping[str, str]
    etags: Mapping[str, str]

    def write(self, path: Path) -> None:
        """Write it to a file for a worker."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Awaited:
        """Read the file."""
        return cls(**json.loads(path.read_text()))

    def missing_keys(self, outcomes: Outcomes) -> list[str]:
        """Return the keys that have not arrived."""
        return [
            key
            for key, state in self.states.items()
            if outcomes.states.get(key, "") != state
            or (state != "removed" and outcomes.etags.get(key) != self.etags[key])
        ]


@dataclass
class Outcomes:
    """What the ledgers have.

    Attributes:
        states: the last state of each key.
        etags: the etag of that state.
        bad_rows: number of rows that could not enter, by key.
        recorded: when a key was last committed, in epoch seconds.
        batch_seconds: of each batch whose seconds the ledger has.
        events: the events of the ledgers, by id: `<SQS message id>#<index of the record in its body>`.
    """

    states: dict[str, str] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    bad_rows: dict[str, int] = field(default_factory=dict)
    recorded: dict[str, float] = field(default_factory=dict)
    batch_seconds: list[float] = field(default_factory=list)
    events: dict[str, Event] = field(default_factory=dict)


def read_outcomes(lake: Lake) -> Outcomes:
    """Read all ledgers, by one query."""
    parts = []
    for table_key in lake.store.births.tables():
        location = lake.table(table_key).ledger.location
        if lake.delta.table_state(location).exists:
            rows = lake.delta.session.read.format("delta").load(location)
            columns = rows.selectExpr("kind", "milliseconds", *_COLUMNS, _RECORDED)
            parts.append(columns.withColumn("table_key", F.lit(table_key)))
    found = Outcomes()
    for row in reduce(lambda some, more: some.union(more), parts).orderBy("n", "position").collect() if parts else []:
        _note(row, found)
    return found


def read_logged_events(lake: Lake) -> dict[str, Event]:
    """Return the events of the intake log, by id: those that are of no table."""
    entries = lake.store.intake_log.entries()
    return {event.event_id: Event(event.key, event.outcome) for entry in entries for event in entry.unrouted}


def _note(row: Row, found: Outcomes) -> None:
    if row["kind"] != "row":
        if row["milliseconds"]:
            found.batch_seconds.append(row["milliseconds"] / 1000)
        return
    key, status = row["key"], row["status"]
    if row["event_id"]:
        found.events[row["event_id"]] = Event(key, status)
    if status == _UNCHANGED:
        return
    found.states[key], found.etags[key] = status, row["etag"]
    if status == "committed":
        found.recorded[key] = row["recorded_at"]
        if row["bad_rows"]:
            found.bad_rows[key] = found.bad_rows.get(key, 0) + row["bad_rows"]


def what_waits(lake: Lake) -> str | None:
    """Return what is on its way: in the queue, in the inbox, or to silver. None if nothing is."""
    waiting, in_flight = lake.queues[0].depth()
    if waiting or in_flight:
        return f"{waiting} messages in the queue, {in_flight} in flight"
    if manifests := lake.store.waiting_manifests():
        return f"{sum(manifest.hints for manifest in manifests)} hints in the inbox"
    for spec in lake.config.tables:
        if spec.silver and pending_merge(lake, spec):
            return f"batches that silver.{spec.name} has not"
    return None
