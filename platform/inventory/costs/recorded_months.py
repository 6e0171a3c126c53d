"""What the ledgers of tables have of each month: batches, seconds, events, files, and when they came.

A run that records batches of several tables is paid for by all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.hint import RowsSent
from tidegate.platform.core.costs.table_cost import Recorded
from tidegate.platform.inventory.costs.recorded_tables import RecordedLedger, query_in_parts, read_condition

_DAY = 86_400

#: Hashes of IDs of runs. A number of an array takes eight bytes: a lake has millions of runs in a month.
Runs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Rows:
    """Which rows of ledgers are read.

    Attributes:
        since: beginning of the first month.
        tick: seconds of a slot.
    """

    since: datetime
    tick: float

    def slots(self, ledger: RecordedLedger) -> DataFrame:
        """Return the numbers of recorded batches and of events of S3 in each slot, by the day of their record."""
        is_batch = F.col("kind") == "header"
        time = F.when(is_batch, F.col("recorded_at")).otherwise(F.col("event_time"))
        slot = F.floor(F.unix_micros(time) / F.lit(self.tick * 1e6))
        rows = ledger.rows(self.since).where(is_batch | ((F.col("kind") == "row") & F.col("event_time").isNotNull()))
        return rows.groupBy(_day().alias("day"), is_batch.alias("is_batch"), slot.alias("slot")).agg(
            F.count(F.lit(1)).alias("count")
        )


def month_of(day: int) -> str:
    """Return the month (UTC) of a day since 1970, such as `2026-11`."""
    return datetime.fromtimestamp(day * _DAY, UTC).strftime("%Y-%m")


def recorded_months(
    ledgers: Mapping[str, RecordedLedger],
    since: datetime,
    tick: float,
    failed: dict[str, PySparkException],
    asked: Collection[str] | None = None,
) -> Iterator[tuple[str, list[Recorded]]]:
    """Yield what the ledger of each table has of each month since a time, the last month first.

    The arrivals are those of the last month that has any batch. A busy table has a hundred thousand slots in a month,
    so those of few tables are in memory at once.

    Args:
        ledgers: by the key of their table. A run counts in parts if it recorded batches of several.
        since: beginning of the first month.
        tick: seconds of a slot.
        failed: gets the errors of ledgers that cannot be read. They are not yielded.
        asked: keys of the tables that are yielded. None: all.
    """
    rows, shared = _Rows(since, tick), SharedRuns()
    days: dict[str, list[dict[str, Any]]] = {}
    for part in query_in_parts(ledgers, lambda key: _days(rows, ledgers[key])):
        failed |= part.failed
        found = {key: _group_by_day(part.rows.filter(pc.field("table_key") == key)) for key in part.keys}
        shared.add([row["runs"] for row in own] for own in found.values())
        days |= {key: own for key, own in found.items() if asked is None or key in asked}
    for part in query_in_parts(days, lambda key: rows.slots(ledgers[key])):
        failed |= part.failed
        for key in part.keys:
            slots = part.rows.filter(pc.field("table_key") == key).sort_by("slot")
            yield key, _with_slots(_months(days[key], shared), slots)


def _with_slots(months: Sequence[Recorded], slots: pa.Table) -> list[Recorded]:
    """Return months with the slots of their batches, and the last month with its arrivals."""
    # A batch may be recorded after the months were read.
    begun: defaultdict[str, list[int]] = defaultdict(list)
    last = months[0].month if months else ""
    arrivals: Counter[int] = Counter()
    columns = (slots[name].to_pylist() for name in ("day", "is_batch", "slot", "count"))
    for day, is_batch, slot, count in zip(*columns, strict=True):
        if is_batch:
            begun[month_of(day)] += [slot] * count
        elif month_of(day) == last:
            arrivals[slot] += count
    found = [replace(month, begun=begun[month.month]) for month in months]
    return [replace(found[0], arrivals=list(arrivals.items())), *found[1:]] if found else []


def _group_by_day(days: pa.Table) -> list[dict[str, Any]]:
    """Return the days of one table. `runs` are arrays: as Python's numbers they would take several times the memory."""
    runs = [row.values.to_numpy() for row in days["runs"]]
    return [{**day, "runs": own} for day, own in zip(days.drop_columns("runs").to_pylist(), runs, strict=True)]


def _days(asked: _Rows, ledger: RecordedLedger) -> DataFrame:
    header, decided = F.col("kind") == "header", F.col("kind") == "row"
    read = read_condition()
    rows_of_queue = F.coalesce("rows", F.lit(0)) + F.coalesce("bad_rows", F.lit(0))
    events = F.col("event_id").isNotNull().cast("int")
    messages = F.when(F.col("event_name") == RowsSent.name, rows_of_queue).otherwise(events)
    return (
        ledger.rows(asked.since)
        .groupBy(_day().alias("day"))
        .agg(
            F.count_if(header).alias("batches"),
            F.count_if(header & F.col("milliseconds").isNotNull()).alias("timed"),
            F.coalesce(F.sum(F.when(header, F.col("milliseconds"))), F.lit(0)).alias("milliseconds"),
            # A number takes less memory than its text.
            F.collect_set(F.when(header, F.xxhash64("run_id"))).alias("runs"),
            F.coalesce(F.sum(F.when(decided, messages)), F.lit(0)).alias("messages"),
            F.count_distinct(F.when(decided, F.col("manifest"))).alias("manifests"),
            F.count_if(read).alias("files"),
            F.coalesce(F.sum(F.when(read, F.col("size"))), F.lit(0)).alias("bytes"),
        )
    )


def _day() -> Column:
    return F.floor(F.unix_seconds("recorded_at") / F.lit(_DAY))


def _months(days: Sequence[Mapping[str, Any]], shared: SharedRuns) -> list[Recorded]:
    months: dict[str, Recorded] = {}
    runs: defaultdict[str, list[Runs]] = defaultdict(list)
    for row in sorted(days, key=lambda row: row["day"]):
        month = month_of(row["day"])
        was = months.get(month, Recorded(month))
        runs[month].append(row["runs"])
        months[month] = Recorded(
            month=month,
            batches=was.batches + row["batches"],
            timed=was.timed + row["timed"],
            seconds=was.seconds + row["milliseconds"] / 1000,
            messages=was.messages + row["messages"],
            manifests=was.manifests + row["manifests"],
            files=was.files + row["files"],
            bytes=was.bytes + row["bytes"],
        )
    return [replace(months[month], runs=shared.part(runs[month])) for month in sorted(months, reverse=True)]


class SharedRuns:
    """The number of tables of each run."""

    def __init__(self) -> None:
        self._runs: Runs = np.empty(0, np.int64)  # in order
        self._tables: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, tables: Iterable[Iterable[Runs]]) -> None:
        """Count further tables.

        Args:
            tables: the runs of each table, in any number of arrays. A run may be in several of them.
        """
        added = [np.unique(np.concatenate(arrays)) for runs in tables if (arrays := list(runs))]
        before = self._runs.size
        self._runs, place = np.unique(np.concatenate([self._runs, *added]), return_inverse=True)
        found = np.bincount(place[before:], minlength=self._runs.size)
        found[place[:before]] += self._tables
        self._tables = found

    def part(self, runs: Iterable[Runs]) -> float:
        """Return the number of runs of a table that was counted. A run of several tables counts in parts."""
        arrays = list(runs)
        if not arrays:
            return 0.0
        own = np.unique(np.concatenate(arrays))
        return float((1.0 / self._tables[np.searchsorted(self._runs, own)]).sum())
