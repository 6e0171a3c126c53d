"""What the ledgers of tables have of each month: batches, seconds, events, files, and when they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.hint import RowsSent
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.costs.table_cost import Recorded
from tidegate.resources.ledger import Ledger

#: Ledgers of one query. Spark opens each of them when it analyzes the query.
_MAX_LEDGERS = 40
_DAY = 86_400


@dataclass(frozen=True)
class _Asked:
    """Which rows of ledgers are read.

    Attributes:
        since: epoch seconds at which the first month begins.
        tick: seconds of a slot.
    """

    since: float
    tick: float

    def rows(self, ledger: Ledger) -> DataFrame:
        recorded_since = F.col("recorded_at") >= F.timestamp_seconds(F.lit(int(self.since)))
        rows: DataFrame = ledger.rows(ledger.clock().version).where(recorded_since)
        return rows

    def slot(self, time: str) -> Column:
        return F.floor(F.unix_micros(time) / F.lit(self.tick * 1e6))


def was_read() -> Column:
    """Return the condition for decisions on files that a run read."""
    read = F.col("status").isin(str(Status.COMMITTED), str(Status.QUARANTINED))
    return (F.col("kind") == "row") & read & F.col("etag").isNotNull()


def month_of(day: int) -> str:
    """Return the month (UTC) of a day since 1970, such as `2026-11`."""
    return datetime.fromtimestamp(day * _DAY, UTC).strftime("%Y-%m")


def recorded_months(ledgers: Mapping[str, Ledger], since: datetime, tick: float) -> dict[str, list[Recorded]]:
    """Return what the ledgers have of each month since a time, the last month first.

    The arrivals are those of the last month that has any batch.

    Args:
        ledgers: by the key of their table. They must exist. A run counts in parts if it recorded batches of several.
        since: beginning of the first month.
        tick: seconds of a slot.
    """
    asked = _Asked(since.timestamp(), tick)
    days = _collected(ledgers, lambda ledger: _days(asked, ledger))
    tables_of_run = Counter(run for rows in days.values() for run in {run for row in rows for run in row["runs"]})
    months = {key: _months(rows, tables_of_run) for key, rows in days.items()}
    last = {key: found[0].month for key, found in months.items() if found}
    arrivals = _collected(
        {key: ledger for key, ledger in ledgers.items() if key in last}, lambda ledger: _arrivals(asked, ledger)
    )
    for key, month in last.items():
        slots: Counter[int] = Counter()
        for row in arrivals[key]:
            if month_of(row["day"]) == month:
                slots[row["slot"]] += row["events"]
        months[key][0] = replace(months[key][0], arrivals=sorted(slots.items()))
    return months


def _days(asked: _Asked, ledger: Ledger) -> DataFrame:
    header, decided = F.col("kind") == "header", F.col("kind") == "row"
    read = was_read()
    rows_of_queue = F.coalesce("rows", F.lit(0)) + F.coalesce("bad_rows", F.lit(0))
    events = F.col("event_id").isNotNull().cast("int")
    messages = F.when(F.col("event_name") == RowsSent.name, rows_of_queue).otherwise(events)
    return (
        asked.rows(ledger)
        .groupBy(_day().alias("day"))
        .agg(
            F.count_if(header).alias("batches"),
            F.count_if(header & F.col("milliseconds").isNotNull()).alias("timed"),
            F.coalesce(F.sum(F.when(header, F.col("milliseconds"))), F.lit(0)).alias("milliseconds"),
            F.collect_set(F.when(header, F.col("run_id"))).alias("runs"),
            F.coalesce(F.sum(F.when(decided, messages)), F.lit(0)).alias("messages"),
            F.count_distinct(F.when(decided, F.col("manifest"))).alias("manifests"),
            F.count_if(read).alias("files"),
            F.coalesce(F.sum(F.when(read, F.col("size"))), F.lit(0)).alias("bytes"),
            F.collect_list(F.when(header, asked.slot("recorded_at"))).alias("begun"),
        )
    )


def _arrivals(asked: _Asked, ledger: Ledger) -> DataFrame:
    """The events by the slot in which S3 sent them, and the day of their record."""
    arrived = asked.rows(ledger).where((F.col("kind") == "row") & F.col("event_time").isNotNull())
    return arrived.groupBy(_day().alias("day"), asked.slot("event_time").alias("slot")).agg(
        F.count(F.lit(1)).alias("events")
    )


def _day() -> Column:
    return F.floor(F.unix_seconds("recorded_at") / F.lit(_DAY))


def _collected(ledgers: Mapping[str, Ledger], query: Callable[[Ledger], DataFrame]) -> dict[str, list[Row]]:
    """Return the rows of a query over each ledger, by table."""
    found: dict[str, list[Row]] = {key: [] for key in ledgers}
    keys = list(ledgers)
    for start in range(0, len(keys), _MAX_LEDGERS):
        queries = [
            query(ledgers[key]).select(F.lit(key).alias("table_key"), "*") for key in keys[start : start + _MAX_LEDGERS]
        ]
        for row in reduce(DataFrame.unionAll, queries).collect():
            found[row["table_key"]].append(row)
    return found


def _months(days: Sequence[Row], tables_of_run: Mapping[str, int]) -> list[Recorded]:
    months: dict[str, Recorded] = {}
    for row in sorted(days, key=lambda row: row["day"]):
        month = month_of(row["day"])
        was = months.get(month, Recorded(month))
        months[month] = Recorded(
            month=month,
            batches=was.batches + row["batches"],
            timed=was.timed + row["timed"],
            seconds=was.seconds + row["milliseconds"] / 1000,
            runs=was.runs + sum(1 / tables_of_run[run] for run in row["runs"]),
            messages=was.messages + row["messages"],
            manifests=was.manifests + row["manifests"],
            files=was.files + row["files"],
            bytes=was.bytes + row["bytes"],
            begun=(*was.begun, *sorted(row["begun"])),
        )
    return [months[month] for month in sorted(months, reverse=True)]
