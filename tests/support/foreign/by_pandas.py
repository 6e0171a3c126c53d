"""Parquet as pandas writes it."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow

from tests.support.foreign.by_arrow import good_parquet
from tests.support.foreign.case import COPY, SAME, Case, File, Made, Workshop, both_modes, refused

#: Files that old versions of pandas wrote, from pyarrow's own package.
_OLD = Path(pyarrow.__file__).parent / "tests" / "data" / "parquet"


def _made(frame: pd.DataFrame, **options: Any) -> Made:
    body = io.BytesIO()
    frame.to_parquet(body, **options)
    return Made(body.getvalue(), rows_of(pd.read_parquet(io.BytesIO(body.getvalue()))))


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, with the columns that its index has in a file."""
    if not isinstance(frame.index, pd.RangeIndex):
        named = [name or f"__index_level_{level}__" for level, name in enumerate(frame.index.names)]
        index = pd.DataFrame({name: frame.index.get_level_values(level) for level, name in enumerate(named)})
        frame = pd.concat([frame.reset_index(drop=True), index], axis=1)
    columns = {name: _missing_as_none(frame[name]) for name in frame.columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _missing_as_none(column: Any) -> list[Any]:
    return [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in column]


def _default(shop: Workshop) -> Made:
    moments = ["2026-01-02 03:04:05.000006", "1969-12-31 23:59:59.999999", None]
    frame = pd.DataFrame(
        {
            "id": shop.ids(3),
            "price": [1.5, float("nan"), float("-inf")],
            "bought": pd.to_datetime(moments, format="ISO8601"),
            "seen": pd.to_datetime(moments, format="ISO8601", utc=True),
            "local": pd.to_datetime(moments, format="ISO8601").tz_localize("Europe/Berlin"),
            "kind": pd.Categorical(["a", "b", "a"]),
            "size": pd.Categorical([30, 10, 30]),
            "count": pd.array([1, None, -(2**63)], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "text": pd.array(["x", None, ""], dtype="string"),
            "day": [dt.date(2026, 1, 2), None, dt.date(1500, 3, 1)],
            "listed": [[1, 2], [], None],
        }
    )
    return _made(frame)


def _simple(shop: Workshop) -> Made:
    return _made(pd.DataFrame({"id": shop.ids(2), "word": ["x", None], "real": [1.25, None], "yes": [True, False]}))


def _index(shop: Workshop) -> Made:
    frame = pd.DataFrame({"id": shop.ids(3), "v": [1.0, 2.0, 3.0]}, index=["a", "b", "c"])
    return _made(frame[frame.v > 1])


def _multi_index(shop: Workshop) -> Made:
    frame = pd.DataFrame({"id": shop.ids(2), "shop": ["n", "s"], "level": [1, 2]}).set_index(["shop", "level"])
    return _made(frame)


def _microseconds(shop: Workshop) -> Made:
    moments = pd.to_datetime(["2026-01-02 03:04:05.000006", None])
    frame = pd.DataFrame({"id": shop.ids(2), "micro": moments})
    return _made(frame, coerce_timestamps="us")


def _truncated(shop: Workshop) -> Made:
    moments = pd.to_datetime(["2026-01-02 03:04:05.678", "2026-01-02"], format="ISO8601")
    return _made(pd.DataFrame({"id": shop.ids(2), "milli": moments}), coerce_timestamps="ms", compression="gzip")


def _unsigned(shop: Workshop) -> Made:
    frame = pd.DataFrame({"id": shop.ids(2)})
    for bits in (8, 16, 32, 64):
        frame[f"u{bits}"] = pd.array([2**bits - 1, 0], dtype=f"uint{bits}")
    frame["maybe"] = pd.array([None, 7], dtype="UInt16")
    return _made(frame)


def _times(shop: Workshop) -> Made:
    return _made(pd.DataFrame({"id": shop.ids(2), "at": [dt.time(1, 2, 3, 45), dt.time(23, 59, 59)]}))


def _nothing(shop: Workshop) -> Made:
    return _made(pd.DataFrame({"id": shop.ids(2), "never": [None, None]}))


def _nanoseconds(shop: Workshop) -> Made:
    frame = pd.DataFrame({"id": shop.ids(2), "precise": pd.to_datetime(["2026-01-02 03:04:05.000006007"] * 2)})
    return Made(_made(frame).body, [{"id": id} for id in shop.ids(2)])


def _duration(shop: Workshop) -> Made:
    return _made(pd.DataFrame({"id": shop.ids(2), "took": pd.to_timedelta([1, None], unit="s")}))


def _old(name: str) -> Callable[[Workshop], Made]:
    def make(_: Workshop) -> Made:
        body = (_OLD / name).read_bytes()
        return Made(body, rows_of(pd.read_parquet(io.BytesIO(body))))

    return make


CASES = (
    *both_modes(
        Case(
            "pandas",
            (
                File(
                    "default.parquet",
                    _default,
                    COPY,
                    types={"seen": "timestamp", "local": "timestamp", "count": "bigint", "size": "bigint"},
                    probe="bought = '2026-01-02 03:04:05.000006'",
                ),
                File("simple.parquet", _simple, SAME),
                File("index.parquet", _index, SAME),
                File("multi index.parquet", _multi_index, SAME),
                File("micro.parquet", _microseconds, SAME),
                File("milli.parquet", _truncated, SAME),
                File(
                    "unsigned.parquet",
                    _unsigned,
                    COPY,
                    types={"u8": "smallint", "u16": "int", "u32": "bigint", "u64": "decimal(20,0)", "maybe": "int"},
                    probe="u64 = 18446744073709551615",
                ),
                File("times.parquet", _times, COPY, types={"at": "string"}),
                File("nothing.parquet", _nothing, COPY),
            ),
            good_parquet,
        )
    ),
    Case("pandas_old", (File("v0.7.1.parquet", _old("v0.7.1.parquet"), SAME),), good_parquet),
)

REFUSED = (
    File("nano.parquet", _nanoseconds, refused("precise", "nanosecond")),
    File("pandas duration.parquet", _duration, refused("took", "duration")),
)
