"""Bounds and null counts of one Parquet column, as Delta's statistics hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.core.schema.column_types import Simple, Type

#: Delta keeps at most 32 characters of a string bound; longer ones are omitted, for a writer may have cut them.
_STRING_BOUND_BYTES = 32
#: First year that is the same in the calendars of all writers: Spark's readers may shift the days before.
_GREGORIAN = 1583


@dataclass(frozen=True)
class Bounds:
    """What is known of one column's values in a file; None for what is not proven.

    Attributes:
        minimum: lower bound, as Delta writes it.
        maximum: upper bound.
        nulls: number of null values.
    """

    name: str
    minimum: Any
    maximum: Any
    nulls: int | None


def column_bounds(name: str, kind: Type, groups: Sequence[pq.RowGroupMetaData], leaf: int, *, bounded: bool) -> Bounds:
    """The bounds of a file's column; a bound of the file needs a bound of every row group that has values.

    Args:
        name: the column.
        kind: its type in the table.
        groups: the file's row groups.
        leaf: the column's position in them.
        bounded: whether the file's bounds are in the order that Spark compares in.
    """
    low: list[Any] = []
    high: list[Any] = []
    nulls: list[int | None] = []
    for group in groups:
        stats: Any = group.column(leaf).statistics  # the stubs misspell has_null_count
        nulls.append(stats.null_count if stats and stats.has_null_count else None)
        if nulls[-1] == group.num_rows:
            continue
        there = bounded and stats is not None and stats.has_min_max
        low.append(_bound(kind, _read(stats, "min"), upper=False) if there else None)
        high.append(_bound(kind, _read(stats, "max"), upper=True) if there else None)
    return Bounds(
        name,
        min(low) if low and None not in low else None,
        max(high) if high and None not in high else None,
        sum(count for count in nulls if count is not None) if None not in nulls and nulls else None,
    )


def _read(stats: Any, which: str) -> Any:
    """A bound as a Python value; None where Python has none for it (the year 10000, a string that was cut)."""
    try:
        return getattr(stats, which)
    except (ValueError, OverflowError, pa.ArrowException):
        return None


def _bound(column: Type, value: Any, *, upper: bool) -> Any:
    """A bound as Delta's statistics hold it, or None unless the type is on the proven list.

    A wrong bound makes rows vanish from selective queries, so every doubt ends in None. Floating point has no upper
    bound: Parquet's statistics leave out NaN, which Spark sorts above every number.
    """
    kind = column.name if isinstance(column, Simple) else ""
    if kind in ("byte", "short", "integer", "long") and isinstance(value, int):
        return value
    if kind == "date" and isinstance(value, date):
        return value.isoformat() if value.year >= _GREGORIAN else None
    if kind in ("float", "double") and isinstance(value, float):
        return None if upper or not math.isfinite(value) else value
    if kind in ("timestamp", "timestamp_ntz") and isinstance(value, datetime):
        return _millis(value, upper=upper, zoned=kind == "timestamp")
    if kind == "string" and isinstance(value, str) and len(value.encode()) <= _STRING_BOUND_BYTES:
        return value
    return None


def _millis(value: datetime, *, upper: bool, zoned: bool) -> str | None:
    """Milliseconds are all that Delta keeps: an upper bound is rounded up to the next one."""
    if value.year < 1900 or value.year > 9990:
        return None
    if zoned:
        value = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if upper and value.microsecond % 1000:
        value += timedelta(milliseconds=1)
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}" + ("Z" if zoned else "")
