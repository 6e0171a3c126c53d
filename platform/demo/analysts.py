"""The demo's analysts: one keeps the worst delays in a notebook with pandas, one writes CSV files from R.

Neither says anything to a writer but where the file goes: what comes of it is what pandas and R do by default.
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
"""Has no row without an `NA` in a column of numbers, so nothing of it goes in until somebody says what `NA` means."""
WORST = 200

#: Columns of `planes` that R reads as numbers, and so writes without quotes.
_NUMBERS = ("year", "engines", "seats", "speed")
_MISSING = "NA"


class Analysts:
    """Two people with the company's data: they read it once, and write what they make of it."""

    def __init__(self, source: Source, does: Operations) -> None:
        self.source, self.does = source, does

    def first(self) -> None:
        """Wave 1: the worst delays of each half-year, and the planes by whether all is known of them."""
        flights = _notebook(self.source.flights)
        for half in (1, 2):
            worst = flights[(flights["month"] > 6) == (half == 2)].nlargest(WORST, "Delay (min)").drop(columns="month")
            self.does.put(f"delays/2013-h{half}.parquet", _to_parquet(worst), "as pandas writes it")
        planes = self.source.planes
        rows = list(enumerate(planes.rows, 1))
        complete = _write_csv(planes, ((n, row) for n, row in rows if all(row)))
        self.does.put("fleet/complete.csv", complete, "as R writes na.omit(planes)")
        rest = _write_csv(planes, ((n, row) for n, row in rows if not all(row)))
        self.does.put(INCOMPLETE, rest, "as R writes the other planes: no row fits yet")

    def second(self) -> None:
        """Wave 2: somebody asks R's analyst what `NA` is."""
        self.does.mend(INCOMPLETE, [_MISSING], "what NA means is said, and the file is looked at again")


def _notebook(flights: pa.Table) -> pd.DataFrame:
    """The flights as a notebook has them: names for people, times in nanoseconds, each row's number as its index."""
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


def _to_parquet(frame: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.to_parquet(sink)
    return sink.getvalue()


def _write_csv(sheet: Sheet, rows: Iterable[tuple[int, tuple[str, ...]]]) -> bytes:
    """What R's `write.csv` makes of the rows with these numbers: a column of row names, quoted text, `NA`."""

    def cell(name: str, text: str) -> str:
        return (text if name in _NUMBERS else _quoted(text)) if text else _MISSING

    lines = [[_quoted(name) for name in ("", *sheet.header)]]
    for number, row in rows:
        lines.append([_quoted(str(number)), *(cell(name, text) for name, text in zip(sheet.header, row, strict=True))])
    return "".join(",".join(line) + "\n" for line in lines).encode()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
