"""Bytes and durations as people read them."""

from __future__ import annotations

#: A no-break space: the UI gives a page a narrow column.
NARROW = "\u202f"


def size_text(size: int) -> str:
    """Returns a number of bytes in short form, such as `1.2 MB`."""
    value, units = float(size), iter(("B", "kB", "MB", "GB", "TB", "PB"))
    unit = next(units)
    while value >= 1000 and unit != "PB":
        value, unit = value / 1000, next(units)
    return f"{value:.3g}{NARROW}{unit}" if value < 1000 else f"{value:,.0f}{NARROW}{unit}"


def span(seconds: float) -> str:
    """Returns a duration in short form: `2d 3h`, `2h 5m`, `4m`, `5s`."""
    left = max(0, int(seconds))
    if left < 3600:
        return f"{left // 60}m" if left >= 60 else f"{left}s"
    (unit, length), (lesser, part) = (("d", 86400), ("h", 3600)) if left >= 86400 else (("h", 3600), ("m", 60))
    rest = left % length // part
    return f"{left // length}{unit}" + (f"{NARROW}{rest}{lesser}" if rest else "")
