"""The demo's database export: flights as Parquet by month and day."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.platform.demo.operations import Operations

HOUR = 3_600_000_000
DAY = 24 * HOUR
REMOVED_FILE = "flights/month=12/day=24/part-0001.parquet"
"""Deleted in wave 2. No other file has rows with its keys, so only its own rows depend on it."""
FLAGGED_DAY = 15
"""The day of each month whose rows 3, 4 and 5 are already deleted when wave 1 exports them."""


class FlightsExport:
    """The export of the database: one folder per day, a new file for every change. No key is written twice."""

    def __init__(self, flights: pa.Table, does: Operations) -> None:
        # With microseconds, so that a reader that rounds is found.
        seconds = pa.array(np.arange(len(flights), dtype=np.int64) * 104_729 % 60_000_000)
        updated = pc.add(pc.add(pc.cast(flights["time_hour"], pa.int64()), DAY), seconds)
        flights = flights.append_column("updated_at", pc.cast(updated, pa.timestamp("us", tz="UTC")))
        flights = flights.append_column("deleted", pa.array(np.zeros(len(flights), dtype=bool)))
        self.does = does
        self.days: dict[tuple[int, int], pa.Table] = {}
        of_day = flights["month"].to_numpy() * 100 + flights["day"].to_numpy()
        for day in np.unique(of_day):
            self.days[divmod(int(day), 100)] = flights.take(np.flatnonzero(of_day == day))

    def first_wave(self) -> None:
        """Do wave 1: everything, as first known."""
        for (month, day), rows in self.days.items():
            if day == FLAGGED_DAY:
                gone = _revise_rows(rows.slice(3, 3), DAY, deleted=True)
                rows = pa.concat_tables([rows.slice(0, 3), gone, rows.slice(6)])
            elif (month, day) == (12, 31):
                rows = rows.slice(0, len(rows) - 100)
            self._put(month, day, rows, "export")

    def second(self) -> None:
        """Do wave 2: what changed, came late, came twice, or is bad."""
        days, put = self.days, self._put
        for day in range(1, 21):
            later = DAY if day > 1 else 1  # one microsecond suffices
            put(1, day, _revise_rows(days[1, day].slice(20, 15), later, delay=1), "updated rows", 2)
        for day in range(1, 11):
            put(2, day, _revise_rows(days[2, day].slice(5, 10), 3 * DAY, deleted=True), "deleted rows", 2)
        for day in range(1, 6):
            put(
                2,
                day,
                _revise_rows(days[2, day].slice(5, 10), DAY, delay=60),
                "late rows, older than the delete",
                3,
            )
        for month in range(1, 13):
            rows = days[month, FLAGGED_DAY]
            late = _revise_rows(rows.slice(3, 2), HOUR, delay=60)
            back = _revise_rows(rows.slice(5, 1), 2 * DAY, delay=5)
            part = 3 if month == 1 else 2  # the updates of January are part 2
            put(month, FLAGGED_DAY, pa.concat_tables([late, back]), "late rows, and one that returns", part)
        for day in range(1, 6):
            rows = days[3, day]
            put(3, day, pa.concat_tables([rows.slice(0, 50), rows.slice(0, 5)]), "exact duplicates", 2)
        put(
            4,
            1,
            _revise_rows(days[4, 1].slice(0, 20), -HOUR, delay=999),
            "late rows, older than those in the table",
            2,
        )
        put(12, 31, days[12, 31].slice(len(days[12, 31]) - 100), "new rows", 2)
        awkward = "flights/month=5/day=5/late 50%+é.parquet"
        self.does.put(awkward, _parquet(_revise_rows(days[5, 5].slice(0, 10), DAY, delay=1)), "awkward name")
        whole = _parquet(_revise_rows(days[6, 6].slice(0, 200), DAY, delay=1))
        bad = "flights/month=6/day={}/part-0002.parquet"
        self.does.put(bad.format(6), whole[: len(whole) * 6 // 10], "bad: truncated Parquet", bad=True)
        self.does.put(bad.format(7), b"<html>502 Bad Gateway</html>\n", "bad: not Parquet", bad=True)
        self.does.put_again("flights/month=7/day=4/part-0001.parquet", "same bytes again")
        self.does.delete(REMOVED_FILE, "removed file")

    def _put(self, month: int, day: int, rows: pa.Table, kind: str, part: int = 1) -> None:
        self.does.put(f"flights/month={month}/day={day}/part-{part:04d}.parquet", _parquet(rows), kind)


def _revise_rows(rows: pa.Table, later: int, *, delay: float = 0, deleted: bool = False) -> pa.Table:
    """Return the rows as updated `later` (microseconds), with the arrival `delay` minutes later than before."""
    stamp = pc.cast(pc.add(pc.cast(rows["updated_at"], pa.int64()), later), pa.timestamp("us", tz="UTC"))
    rows = rows.set_column(rows.schema.get_field_index("updated_at"), "updated_at", stamp)
    if delay:
        arrival = pa.array([(minutes or 0.0) + delay for minutes in rows["arr_delay"].to_pylist()], pa.float64())
        rows = rows.set_column(rows.schema.get_field_index("arr_delay"), "arr_delay", arrival)
    flags = pa.array([deleted] * len(rows), pa.bool_())
    return rows.set_column(rows.schema.get_field_index("deleted"), "deleted", flags)


def _parquet(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows.drop_columns(["month", "day"]), sink, compression="snappy", store_schema=False)
    return sink.getvalue()
