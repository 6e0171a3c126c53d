"""Parquet as Polars writes it."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl

from tests.support.foreign.by_arrow import good_parquet
from tests.support.foreign.case import COPY, EITHER, SAME, Case, File, Made, Workshop, both_modes, refused


def _made(frame: pl.DataFrame, **options: Any) -> Made:
    body = io.BytesIO()
    frame.write_parquet(body, **options)
    return Made(body.getvalue(), pl.read_parquet(io.BytesIO(body.getvalue())).to_dicts())


def _default(shop: Workshop) -> Made:
    return _made(
        pl.DataFrame(
            {
                "id": shop.ids(2),
                "text": ["ä", None],
                "real": [0.1, float("nan")],
                "day": [dt.date(2026, 1, 2), None],
                "at": [dt.datetime(2026, 1, 2, 3, 4, 5, 6), None],
                "yes": [True, None],
                "raw": [b"\x00\xff", None],
                "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
                "state": pl.Series(["on", "off"], dtype=pl.Enum(["off", "on"])),
                "small": pl.Series([-128, 127], dtype=pl.Int8),
            }
        ),
    )


def _nested(shop: Workshop) -> Made:
    return _made(
        pl.DataFrame(
            {
                "id": shop.ids(2),
                "point": [{"x": 1, "tags": ["a", None]}, {"x": None, "tags": []}],
                "deep": [[[1], [2, None]], None],
                "many": [[{"k": "a", "v": 1.5}], []],
            }
        )
    )


def _arrays(shop: Workshop) -> Made:
    return _made(pl.DataFrame({"id": shop.ids(2), "pair": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))}))


def _decimal(shop: Workshop) -> Made:
    return _made(pl.DataFrame({"id": shop.ids(2), "amount": [Decimal("-1234.56"), None]}))


def _unsigned(shop: Workshop) -> Made:
    kinds = {"u8": pl.UInt8, "u16": pl.UInt16, "u32": pl.UInt32, "u64": pl.UInt64}
    return _made(
        pl.DataFrame({"id": shop.ids(2)}).with_columns(
            pl.Series(name, [2 ** int(name[1:]) - 1, 0], dtype=kind) for name, kind in kinds.items()
        )
    )


def _unsigned_inside(shop: Workshop) -> Made:
    inner = pl.Struct({"n": pl.UInt32, "t": pl.Time})
    rows = [{"n": 2**32 - 1, "t": dt.time(1, 2)}, None]
    return _made(pl.DataFrame({"id": shop.ids(2), "inner": pl.Series(rows, dtype=inner)}))


def _times(shop: Workshop) -> Made:
    return _made(pl.DataFrame({"id": shop.ids(2), "time": [dt.time(1, 2, 3, 4), None]}))


def _nanoseconds(shop: Workshop) -> Made:
    moments = pl.Series([dt.datetime(2026, 1, 2, 3, 4, 5, 6), None], dtype=pl.Datetime("ns", "Asia/Tokyo"))
    return _made(pl.DataFrame({"id": shop.ids(2), "zoned": moments}))


def _milliseconds(shop: Workshop) -> Made:
    moments = pl.Series([dt.datetime(2026, 1, 2, 3, 4, 5, 6000), None], dtype=pl.Datetime("ms"))
    return _made(pl.DataFrame({"id": shop.ids(2), "moment": moments}))


def _nothing(shop: Workshop) -> Made:
    return _made(pl.DataFrame({"id": shop.ids(2), "never": [None, None]}))


def _half(shop: Workshop) -> Made:
    return _made(pl.DataFrame({"id": shop.ids(2), "half": pl.Series([1.5, None], dtype=pl.Float16)}))


def _duration(shop: Workshop) -> Made:
    made = _made(pl.DataFrame({"id": shop.ids(1), "elapsed": [dt.timedelta(days=1)]}))
    return Made(made.body, [{"id": shop.first}])


def _compressed(name: Any) -> Callable[[Workshop], Made]:
    def make(shop: Workshop) -> Made:
        return _made(pl.DataFrame({"id": shop.ids(200), "packed": ["same"] * 200}), compression=name)

    return make


CASES = both_modes(
    Case(
        "polars",
        (
            File("default.parquet", _default, SAME, types={"at": "timestamp_ntz", "kind": "string"}),
            File("nested.parquet", _nested, SAME),
            File("array.parquet", _arrays, EITHER, types={"pair": "array<bigint>"}),
            File("decimal.parquet", _decimal, SAME),
            File(
                "unsigned.parquet",
                _unsigned,
                COPY,
                types={"u8": "smallint", "u16": "int", "u32": "bigint", "u64": "decimal(20,0)"},
            ),
            File("unsigned inside.parquet", _unsigned_inside, COPY, types={"inner": "struct<n:bigint,t:string>"}),
            File("time.parquet", _times, COPY, types={"time": "string"}),
            File("ns.parquet", _nanoseconds, COPY, types={"zoned": "timestamp"}),
            File("ms.parquet", _milliseconds, SAME),
            File("nothing.parquet", _nothing, COPY),
            File("half.parquet", _half, COPY, types={"half": "float"}),
            File("lz4.parquet", _compressed("lz4"), EITHER),
            File("gzip.parquet", _compressed("gzip"), SAME),
            File("brotli.parquet", _compressed("brotli"), COPY),
            File("plain.parquet", _compressed("uncompressed"), SAME),
        ),
        good_parquet,
    )
)

REFUSED = (File("polars duration.parquet", _duration, refused("elapsed", "duration")),)
