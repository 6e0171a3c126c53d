"""The systems of the demo's company: a database export, a weather service, mailed CSV files, and analysts.

They know nothing of Tidegate. From the real data of `source` they make two waves of files and operations, the same
bytes every time. `operations` describes the format of the folder.

Wave 1 is the content of the bucket on the first day:

- flights as Parquet by month and day (the columns month and day are only in the path), with the columns `updated_at`
  and `deleted` of an export, and some rows already deleted;
- weather as JSON lines by day, without nulls;
- planes, airports and airlines as CSV, with an empty field for a missing value;
- files that analysts derive from these, as pandas and R write files by default.

Wave 2 is everything that happens afterwards. The `kind` of an operation describes it.

Keys that are unique in the data: flights by year, month, day, carrier, flight and origin (24 rows collide
without origin); weather by time_hour and origin (time_hour is UTC; by local year, month, day, hour and origin
three rows collide, on the night that summer time ends); planes by tailnum, airports by faa, airlines by
carrier.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from tidegate.platform.demo.analysts import Analysts
from tidegate.platform.demo.flights_export import REMOVED_FILE, FlightsExport
from tidegate.platform.demo.operations import Operation, Operations
from tidegate.platform.demo.source import Source, read_source
from tidegate.platform.demo.weather_service import WeatherService


def produce(folder: Path, source: Source | None = None) -> list[Operation]:
    """Write all files and `operations.jsonl` into `folder`, and return the operations. Takes some seconds.

    Files of an earlier production in `folder` are replaced.

    Raises:
        SourceMissingError: the real data is not installed.
    """
    source = source or read_source()
    does = Operations(folder)
    flights, weather = FlightsExport(source.flights, does), WeatherService(source.weather, does)
    analysts = Analysts(source, does)
    flights.first_wave()
    weather.first_wave()
    _tables_first(source, does)
    analysts.first_wave()
    does.wave = 2
    analysts.second()
    flights.second()
    weather.second()
    _tables_second(source, does)
    _notifications(does)
    return does.write()


def _tables_first(source: Source, does: Operations) -> None:
    planes, airports = source.planes, source.airports
    known = len(planes.rows) - 80  # the last eighty planes are bought later
    for part in range(4):
        does.put(f"planes/planes-{part + 1}.csv", _csv(planes.header, planes.rows[part:known:4]), "export")
    half = len(airports.rows) // 2
    does.put("airports/airports-1.csv", _csv(airports.header, airports.rows[:half]), "export")
    packed = gzip.compress(_csv(airports.header, airports.rows[half:]), mtime=0)
    does.put("airports/airports-2.csv.gz", packed, "export")
    does.put("airlines/airlines.csv", _csv(source.airlines.header, source.airlines.rows), "export")


def _tables_second(source: Source, does: Operations) -> None:
    planes, airlines = source.planes, source.airlines
    seats = planes.header.index("seats")
    known = len(planes.rows) - 80
    more = [(*row[:seats], str(int(row[seats]) + 2), *row[seats + 1 :]) for row in planes.rows[1:known:4]]
    does.put("planes/planes-2.csv", _csv(planes.header, more), "overwritten")
    new = planes.rows[known:]
    turned = [tuple(reversed(row)) for row in new[:60]]
    does.put("planes/planes-5.csv", _csv(tuple(reversed(planes.header)), turned), "columns in another order")
    ragged = [*new[60:70], (*new[70], "surplus"), *new[71:75], new[75][:-2], *new[76:]]
    does.put("planes/planes-6.csv", _csv(planes.header, ragged), "bad: two ragged rows of twenty")
    renamed = [(code, f"{name}, formerly") if code in ("FL", "US") else (code, name) for code, name in airlines.rows]
    does.put("airlines/airlines.csv", _csv(airlines.header, renamed), "overwritten")
    does.put("exports/README.txt", b"Ask the data team before you delete anything here.\n", "of no table")


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().encode()


def _notifications(does: Operations) -> None:
    created, removed = "ObjectCreated:Put", "ObjectRemoved:Delete"
    twice = "flights/month=9/day=1/part-0001.parquet"
    unchanged = ("weather/2013-09-01.json", "weather/2013-09-02.json", "airports/airports-2.csv.gz")
    for key in (*unchanged, "weather/late report 50%+é.json", "weather/b[1].json", twice, twice):
        does.redeliver(key, created, "redelivered")
    for key in ("planes/planes-2.csv", "weather/2013-03-02.json"):
        does.redeliver(key, created, "out of order: reports a content that was overwritten since")
    does.redeliver(REMOVED_FILE, created, "out of order: created, after the delete")
    for key in ("flights/month=8/day=8/part-0001.parquet", "weather/2013-03-01.json"):
        does.redeliver(key, removed, "out of order: removed, but the object exists")
    does.redeliver("weather/never-was.json", created, "bad: an object that is gone")
    does.redeliver("weather/2013-01-01.json", created, "bad: a bucket of another owner", bucket="somebody-elses")
    does.message('{"Records": [{"eventSource": "aws:s3", "eventName": "Obj', "bad: broken message body")
    does.message('{"hello": "world"}', "bad: unknown envelope")
