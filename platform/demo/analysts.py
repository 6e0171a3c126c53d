"""The demo's analysts: one writes the worst delays from a pandas notebook, one writes CSV files from R.

Both give the writer only the path, so the files are what pandas and R write by default.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from tidegate.platform.demo.operations import Operations
from tidegate.platform.demo.source import Sheet, Source

if TYPE_CHECKING:
    import pyarrow as pa

INCOMPLETE = "fleet/incomplete.csv"
"""Each row has an `NA` in a column of numbers, so no row can be loaded until somebody configures what `NA` means."""
WORST = 200

#: Columns of `planes` that R reads as numbers, and therefore writes without quotes.
_NUMBERS = ("year", "engines", "seats", "speed")
_MISSING = "NA"


class Analysts:
    """Two people who read the company's data once, and write files derived from it."""

    def __init__(self, source: Source, does: Operations) -> None:
        self.source, self.does = source, does

    def first_wave(self) -> None:
        """Do wave 1: the worst delays of each half-year, and the planes with and without missing values."""
        flights = _notebook(self.source.flights)
        for half in (1, 2):
            worst = flights[(flights["month"] > 6) == (half == 2)].nlargest(WORST, "Delay (min)").drop(columns="month")
            self.does.put(f"delays/2013-h{half}.parquet", _write_parquet(worst), "as pandas writes it")
        planes = self.source.planes
        rows = list(enumerate(planes.rows, 1))
        complete = _write_csv(planes, ((n, row) for n, row in rows if all(row)))
        self.does.put("fleet/complete.csv", complete, "as R writes na.omit(planes)")
        rest = _write_csv(planes, ((n, row) for n, row in rows if not all(row)))
        self.does.put(INCOMPLETE, rest, "as R writes the other planes: no row can be loaded yet")

    def second(self) -> None:
        """Do wave 2: somebody asks the analyst what `NA` means."""
        self.does.fix(INCOMPLETE, [_MISSING], "the meaning of NA is configured, and the file is read again")


def _notebook(flights: pa.Table) -> pd.DataFrame:
    """Return the flights as in a notebook: readable names, times in nanoseconds, and row numbers as the index."""
    frame: pd.DataFrame = flights.to_pandas(coerce_temporal_nanoseconds=True)
    late = pd.to_timedelta(frame["minute"] + frame["dep_delay"], unit="min")
    return pd.DataFrame(
        {
            "Carrier": frame["carrier"],
            "Flight No": frame["flight"],
            "Tail Number": frame["tailnum"],
            "From": frame["origin"],
            "To": frame["dest"],
            "Left At": frame["time_hour"] + late,
            "Delay (min)": frame["dep_delay"],
            "Delay on Arrival (min)": frame["arr_delay"],
            "month": frame["month"],
        }
    )


def _write_parquet(frame: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.to_parquet(sink)
    return sink.getvalue()


def _write_csv(sheet: Sheet, rows: Iterable[tuple[int, tuple[str, ...]]]) -> bytes:
    """Return what R's `write.csv` writes for the rows: a column of row names, quoted text, `NA`."""

    def cell(name: str, text: str) -> str:
        return (text if name in _NUMBERS else _quote_text(text)) if text else _MISSING

    lines = [[_quote_text(name) for name in ("", *sheet.header)]]
    for number, row in rows:
        lines.append(
            [_quote_text(str(number)), *(cell(name, text) for name, text in zip(sheet.header, row, strict=True))]
        )
    return "".join(",".join(line) + "\n" for line in lines).encode()


def _quote_text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
