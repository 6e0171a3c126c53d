"""Parquet as PyArrow writes it, with options that cause trouble for other readers."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.foreign.case import COPY, EITHER, SAME, Case, File, Made, Workshop, both_modes, refused
from tests.support.lakes.corrupt_parquet import with_a_page_of_nonsense


def made(table: pa.Table, **options: Any) -> Made:
    """Return the file that PyArrow writes of a table."""
    body = io.BytesIO()
    pq.write_table(table, body, **options)
    return Made(body.getvalue(), pq.read_table(io.BytesIO(body.getvalue())).to_pylist())


def good_parquet(id: int) -> tuple[str, bytes]:
    """Return a plain file that every reader accepts."""
    return "good.parquet", bytes(made(pa.table({"id": pa.array([id], pa.int64())})).body)


def of(columns: dict[str, Any], **options: Any) -> Callable[[Workshop], Made]:
    """Return a maker of the given columns. It adds the ids."""

    def make(shop: Workshop) -> Made:
        count = len(next(iter(columns.values())))
        return made(pa.table({"id": shop.ids(count), **columns}), **options)

    return make


_MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678000)
_NUMBERS = {"number": pa.array(range(500), pa.int32()), "real": pa.array([n / 7 for n in range(500)])}
_WORDS = {"word": pa.array([f"word {n % 9}" for n in range(500)]), **_NUMBERS}


def _without_metadata(shop: Workshop) -> Made:
    table = pa.table({"id": shop.ids(2), "large": pa.array(["a", None], pa.large_string())})
    return made(table, store_schema=False)


def _many_groups(shop: Workshop) -> Made:
    table = pa.table({"id": shop.ids(100), "n": list(range(100)), "s": [f"{n:03}" for n in range(100)]})
    return made(table, row_group_size=7, data_page_size=64, write_page_index=True)


def _all_refused(column: str, values: pa.Array, **options: Any) -> Callable[[Workshop], Made]:
    def make(shop: Workshop) -> Made:
        table = pa.table({"id": shop.ids(len(values)), column: values})
        return Made(made(table, **options).body, [{"id": id} for id in shop.ids(len(values))])

    return make


def _no_columns(shop: Workshop) -> Made:
    return Made(made(pa.table({})).body, [])


def _no_rows(shop: Workshop) -> Made:
    return made(pa.table({"id": pa.array([], pa.int64()), "none": pa.array([], pa.string())}))


def _corrupt(shop: Workshop) -> Made:
    table = pa.table({"id": pa.array(range(shop.first, shop.first + 50_000), pa.int64())})
    return Made(with_a_page_of_nonsense(made(table, use_dictionary=False).body), [])


_TYPES = {
    "tiny": pa.array([-128, None], pa.int8()),
    "large": pa.array(["a", None], pa.large_string()),
    "raw": pa.array([b"\0", None], pa.large_binary()),
    "day64": pa.array([dt.date(2026, 1, 2), None], pa.date64()),
    "milli": pa.array([_MOMENT, None], pa.timestamp("ms")),
    "second": pa.array([_MOMENT.replace(microsecond=0), None], pa.timestamp("s", "UTC")),
    "small": pa.array([Decimal("1.25"), None], pa.decimal128(9, 2)),
    "wide": pa.array([Decimal("-12345678901234567890.123456789012345678"), None], pa.decimal128(38, 18)),
    "code": pa.array(["x", "y"]).dictionary_encode(),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "deep": pa.array([[{"a": [1, None]}], []], pa.list_(pa.struct([("a", pa.list_(pa.int16()))]))),
    "listed": pa.array([["x"], None], pa.large_list(pa.string())),
}

CASES = (
    *both_modes(
        Case(
            "arrow",
            (
                File("types.parquet", of(_TYPES), SAME, types={"second": "timestamp", "milli": "timestamp_ntz"}),
                File("v1.parquet", of({"old": pa.array([1, None])}, version="1.0"), SAME),
                File("v1 ns.parquet", of({"old_ns": pa.array([_MOMENT], pa.timestamp("ns"))}, version="1.0"), SAME),
                File("v2.4.parquet", of({"v24": pa.array([_MOMENT], pa.timestamp("us"))}, version="2.4"), SAME),
                File("v2.6.parquet", of({"v26": pa.array([_MOMENT], pa.timestamp("ns"))}, version="2.6"), COPY),
                File("pages2.parquet", of({"page": pa.array(["a", None])}, data_page_version="2.0"), SAME),
                File("no arrow schema.parquet", _without_metadata, SAME),
                File(
                    "int96.parquet",
                    of({"int96": pa.array([_MOMENT], pa.timestamp("us"))}, use_deprecated_int96_timestamps=True),
                    COPY,
                ),
                File("groups.parquet", _many_groups, SAME, probe="s = '000' AND n = 0"),
                File("uint.parquet", of({"u16": pa.array([65535, None], pa.uint16())}), SAME, types={"u16": "int"}),
                File("half.parquet", of({"half": pa.array([1.5, None], pa.float16())}), COPY, types={"half": "float"}),
                File("time32.parquet", of({"time32": pa.array([dt.time(1, 2, 3)], pa.time32("ms"))}), COPY),
                File("time64.parquet", of({"time64": pa.array([dt.time(1, 2, 3, 4)], pa.time64("ns"))}), COPY),
                File(
                    "uuid.parquet",
                    of({"uuid": pa.array([uuid.UUID(int=2**127 + 5).bytes, None], pa.uuid())}),
                    COPY,
                    types={"uuid": "string"},
                ),
                File("fixed.parquet", of({"fixed": pa.array([b"abc", None], pa.binary(3))}), EITHER),
                File("null.parquet", of({"never": pa.nulls(2)}), COPY),
                File("view.parquet", of({"view": pa.array(["a", None], pa.string_view())}), SAME),
                File("empty.parquet", _no_rows, SAME),
                File(
                    "delta.parquet",
                    of(
                        _WORDS,
                        use_dictionary=False,
                        column_encoding={"word": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED"},
                    ),
                    SAME,
                ),
                File(
                    "lengths.parquet",
                    of(_WORDS, use_dictionary=False, column_encoding={"word": "DELTA_LENGTH_BYTE_ARRAY"}),
                    SAME,
                ),
                File("split.parquet", of(_NUMBERS, use_dictionary=False, use_byte_stream_split=["real"]), COPY),
                File("plain.parquet", of(_WORDS, use_dictionary=False, write_statistics=False), SAME),
                File("snappy.parquet", of(_WORDS, compression="snappy"), SAME),
                File("gzip.parquet", of(_WORDS, compression="gzip"), SAME),
                File("zstd.parquet", of(_WORDS, compression="zstd"), SAME),
                File("lz4.parquet", of(_WORDS, compression="lz4"), EITHER),
                File("brotli.parquet", of(_WORDS, compression="brotli"), COPY),
            ),
            good_parquet,
            by_others=True,
        )
    ),
    Case(
        "corrupt_load", (File("corrupt.parquet", _corrupt, refused("neither Spark")),), good_parquet, {"mode": "load"}
    ),
)

REFUSED = (
    File(
        "decimal256.parquet",
        _all_refused("huge", pa.array([Decimal(10**45)], pa.decimal256(50, 2))),
        refused("huge", "decimal"),
    ),
    File(
        "arrow duration.parquet",
        _all_refused("took", pa.array([dt.timedelta(1)], pa.duration("us"))),
        refused("took", "duration"),
    ),
    File(
        "int96 nanoseconds.parquet",
        _all_refused("int96", pa.array([1], pa.timestamp("ns")), use_deprecated_int96_timestamps=True),
        refused("int96", "microseconds"),
    ),
    File("no columns.parquet", _no_columns, refused("column")),
)
