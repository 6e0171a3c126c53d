"""The demo's weather service: JSON lines by day."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from tidegate.platform.demo.operations import Operations
from tidegate.platform.demo.source import Sheet

HOUR = 3_600_000_000
DAY = 24 * HOUR

_WHOLE = ("year", "month", "day", "hour", "wind_dir")
_TEXT = ("origin", "time_hour")

Row = dict[str, Any]


class WeatherService:
    """The service: one line per hour and airport, one object per day, which a correction overwrites."""

    def __init__(self, weather: Sheet, does: Operations) -> None:
        self.does = does
        self.days: dict[str, list[Row]] = {}
        for number, cells in enumerate(weather.rows):
            row: Row = {}
            for name, cell in zip(weather.header, cells, strict=True):
                if cell and name in _TEXT:
                    row[name] = cell
                elif cell:
                    row[name] = int(cell) if name in _WHOLE else float(cell)
            row["updated_at"] = _move_time(row["time_hour"], HOUR + number * 7_919 % 60_000_000)
            row["deleted"] = False
            self.days.setdefault(f"{row['year']}-{row['month']:02d}-{row['day']:02d}", []).append(row)

    def first_wave(self) -> None:
        """Do wave 1: everything, as first known."""
        for day, rows in sorted(self.days.items()):
            self.does.put(f"weather/{day}.json", _json(rows), "export")

    def second(self) -> None:
        """Do wave 2: what changed, came late, came twice, or is bad."""
        days, put = self.days, self.does.put
        for day in range(1, 6):
            rows = days[f"2013-03-{day:02d}"]
            changed = [_correct_row(row, DAY, 0.5) if n % 3 == 0 else row for n, row in enumerate(rows)]
            put(f"weather/2013-03-{day:02d}.json", _json(changed[: 40 if day == 5 else None]), "overwritten")
        april, may, june = days["2013-04-01"], days["2013-05-01"], days["2013-06-01"]
        put("weather/corrections-1.json", _json(_correct_row(row, DAY, 1.0) for row in april), "updated rows")
        put(
            "weather/corrections-2.json",
            _json(row | {"deleted": True} for row in _delay_rows(may, 2 * DAY)),
            "deleted rows",
        )
        late = [_correct_row(row, DAY, 9.0) for row in may[:30]] + [
            _correct_row(row, 3 * DAY, 0.25) for row in may[30:36]
        ]
        put("weather/corrections-3.json", _json(late), "late rows, and some that return")
        put("weather/corrections-4.json", _json([*june, *june[:7]]), "exact duplicates")
        put("weather/corrections-5.json", _json(_correct_row(row, -HOUR, 9.0) for row in june), "late rows")

        for number, key in enumerate(("b1.json", "b[1].json", "late report 50%+é.json", "/late.json")):
            rows = days[f"2013-01-{10 + number}"][number : number + 20 + number]
            put(f"weather/{key}", _json(_correct_row(row, DAY, 2.0) for row in rows), "awkward name")
        put("weather/_tmp.json", _json(_correct_row(row, DAY, 9.0) for row in april), "hidden name")

        good = _json(_correct_row(row, DAY, 3.0) for row in days["2013-08-01"][:10]).decode().splitlines()
        broken, mistyped = json.dumps(june[0])[:70], json.dumps(june[1] | {"temp": "warm"})
        lines = [*good[:4], broken, *good[4:8], mistyped, *good[8:]]
        put("weather/broken-rows.json", ("\n".join(lines) + "\n").encode(), "bad: two rows of twelve")
        put("weather/empty.json", b"", "bad: empty object", bad=True)
        self.does.put_again("weather/2013-07-04.json", "same bytes again")
        self.does.delete("weather/2013-11-11.json", "removed file of a loaded table")


def _move_time(stamp: str, microseconds: int) -> str:
    moved = datetime.fromisoformat(stamp.replace("Z", "+00:00")) + timedelta(microseconds=microseconds)
    return moved.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _delay_rows(rows: Iterable[Row], microseconds: int) -> list[Row]:
    return [row | {"updated_at": _move_time(row["updated_at"], microseconds)} for row in rows]


def _correct_row(row: Row, later: int, warmer: float) -> Row:
    return _delay_rows([row], later)[0] | {"temp": round(row.get("temp", 50.0) + warmer, 2)}


def _json(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
