"""Reads the outcome of every event from the ledgers and the intake log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Row
from pyspark.sql import functions as F

from tidegate.platform.lake.lake import Lake

#: Folders of Tidegate itself below the prefix of a registered table.
_OWN = ("/_delta_log/", "/_tidegate/")
#: What is read of a ledger.
_COLUMNS = (
    "n",
    "position",
    "event_id",
    "key",
    "etag",
    "status",
    "reason",
    "bad_rows",
    "CAST(event_time AS DOUBLE) AS event_time",
    "CAST(recorded_at AS DOUBLE) AS recorded_at",
)


@dataclass(frozen=True)
class Newest:
    """The file of a table that was committed last.

    Attributes:
        n: number of its batch.
        event_time: epoch seconds of its event.
        recorded_at: epoch seconds of its row in the ledger.
    """

    n: int
    event_time: float
    recorded_at: float


@dataclass
class Accounts:
    """The outcome of every event, by its id (docs/internals/architecture.md, invariant 6).

    Attributes:
        outcomes: the outcome of each event id.
        quarantined: reasons of the objects that are in quarantine, by key.
        redriven: reasons why objects were in quarantine that were loaded since, by key.
        bad_rows: number of quarantined rows, by key.
        objects: number of distinct objects (key and etag) that were committed, by table key.
        newest: the file that was committed last, by table key.
        events: the ids of the events of each table, by table key.
        waiting: keys of the files that wait for their completion signal.
    """

    outcomes: dict[str, str] = field(default_factory=dict)
    quarantined: dict[str, str] = field(default_factory=dict)
    redriven: dict[str, str] = field(default_factory=dict)
    bad_rows: Counter[str] = field(default_factory=Counter)
    objects: dict[str, int] = field(default_factory=dict)
    newest: dict[str, Newest] = field(default_factory=dict)
    events: dict[str, set[str]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    def count_since(self, before: Accounts) -> Counter[str]:
        """Count the events that are not in earlier accounts, by outcome."""
        return Counter(outcome for event, outcome in self.outcomes.items() if event not in before.outcomes)


def read_accounts(lake: Lake) -> Accounts:
    """Read all ledgers and the intake log. Test events of S3 are left out."""
    accounts = Accounts()
    for entry in lake.store.intake_log.entries():
        # The log and the copies of a registered table are below its prefix, so S3 notifies them too. No producer wrote
        # them.
        events = [event for event in entry.unrouted if not any(name in event.key for name in _OWN)]
        accounts.outcomes.update({event.event_id: event.outcome for event in events})
    for table_key, rows in _ledgers(lake).items():
        _count(table_key, rows, accounts)
    return accounts


def _ledgers(lake: Lake) -> dict[str, list[Row]]:
    """Return the rows of all ledgers, in their order, by table key. One query reads them: each costs a second."""
    every = []
    for table_key in lake.store.births.tables():
        location = lake.table(table_key).ledger.location
        if lake.delta.table_state(location).exists:
            ledger = lake.delta.session.read.format("delta").load(location).where("kind = 'row'")
            every.append(ledger.selectExpr(*_COLUMNS).withColumn("table_key", F.lit(table_key)))
    found: dict[str, list[Row]] = {}
    for row in reduce(lambda some, more: some.union(more), every).orderBy("n", "position").collect() if every else []:
        found.setdefault(row["table_key"], []).append(row)
    return found


def _count(table_key: str, rows: list[Row], accounts: Accounts) -> None:
    committed = {(row["key"], row["etag"]): row for row in rows if row["status"] == "committed"}
    accounts.objects[table_key] = len(committed)
    # Notifications that the demo sends have old times. Only those of S3 show how late a row is.
    timely = [
        row for row in committed.values() if row["event_time"] and row["recorded_at"] - row["event_time"] < 86_400
    ]
    if timely:
        accounts.newest[table_key] = Newest(timely[-1]["n"], timely[-1]["event_time"], timely[-1]["recorded_at"])
    for row in rows:
        if row["event_id"]:
            accounts.outcomes[row["event_id"]] = row["status"]
            accounts.events.setdefault(table_key, set()).add(row["event_id"])
        if row["status"] == "waiting":
            accounts.waiting.add(row["key"])
        elif row["status"] != "duplicate":
            accounts.waiting.discard(row["key"])
        if row["status"] == "quarantined":
            accounts.quarantined[row["key"]] = row["reason"] or ""
        elif row["status"] == "committed" and row["key"] in accounts.quarantined:
            accounts.redriven[row["key"]] = accounts.quarantined.pop(row["key"])
    for (key, _), row in committed.items():
        if row["bad_rows"]:
            accounts.bad_rows[key] += row["bad_rows"]
