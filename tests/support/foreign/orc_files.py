"""ORC as PyArrow and Spark write it."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import orc

from tests.support.foreign.case import Case, File, Made, Workshop, refused


def written(table: pa.Table, **options: Any) -> bytes:
    """Return the file that PyArrow makes of a table."""
    body = io.BytesIO()
    orc.write_table(table, body, **options)
    return body.getvalue()


def good_orc(id: int) -> tuple[str, bytes]:
    """Return a file that nobody could object to."""
    return "good.orc", written(pa.table({"id": pa.array([id], pa.int64())}))


def of(columns: dict[str, Any], **options: Any) -> Callable[[Workshop], Made]:
    """Return a maker of the given columns; ids come by themselves."""

    def make(shop: Workshop) -> Made:
        count = len(next(iter(columns.values())))
        table = pa.table({"id": shop.ids(count), **columns})
        return Made(written(table, **options), table.to_pylist())

    return make


def cut(share: float) -> Callable[[Workshop], Made]:
    """Return a maker of a file that ends early."""

    def make(shop: Workshop) -> Made:
        body = written(pa.table({"id": shop.ids(500)}))
        return Made(body[: int(len(body) * share)], [])

    return make


def broken_value(shop: Workshop) -> Made:
    """Return a file whose footer is whole, and whose first stripe is not."""
    body = bytearray(written(pa.table({"id": shop.ids(500), "word": [f"word {n * n}" for n in range(500)]})))
    body[3:400] = bytes(255 - byte for byte in body[3:400])
    return Made(bytes(body), [])


def narrow(shop: Workshop) -> Made:
    """Return a file whose ids are of a narrower type than the table's."""
    table = pa.table({"id": pa.array(shop.ids(1), pa.int32())})
    return Made(written(table), table.to_pylist())


def by_spark(query: str) -> Callable[[Workshop], Made]:
    """Return a maker of what Spark writes of a query; `{id}` is the first id."""

    def make(shop: Workshop) -> Made:
        frame = shop.spark.sql(query.format(id=shop.first))
        frame.coalesce(1).write.mode("overwrite").orc(str(shop.folder / "spark"))
        (path,) = (shop.folder / "spark").glob("*.orc")
        return Made(path.read_bytes(), frame.toArrow().to_pylist())

    return make


_MOMENT = dt.datetime(2026, 7, 2, 3, 4, 5, 678901)
_TYPES = {
    "small": pa.array([1, None, -128], pa.int8()),
    "short": pa.array([1, None, -32768], pa.int16()),
    "whole": pa.array([1, None, -(2**31)], pa.int32()),
    "real": pa.array([0.1, None, float("nan")], pa.float32()),
    "double": pa.array([0.1, None, -1e300], pa.float64()),
    "flag": pa.array([True, None, False]),
    "text": pa.array(["é", None, ""]),
    "raw": pa.array([b"\x00\xff", None, b""]),
    "day": pa.array([dt.date(1500, 1, 1), None, dt.date(9999, 12, 31)]),
    "price": pa.array([Decimal("1.50"), None, Decimal("-99999999.99")], pa.decimal128(10, 2)),
    "large": pa.array([Decimal(10**37), None, Decimal(-(10**37))], pa.decimal128(38, 0)),
    "clock": pa.array([_MOMENT, None, dt.datetime(1900, 1, 1)], pa.timestamp("us")),
    "instant": pa.array([_MOMENT, None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us", "UTC")),
}
_LISTS = pa.map_(pa.string(), pa.list_(pa.float64()))
_NESTED = {
    "list": pa.array([[1, None], [], None], pa.list_(pa.int32())),
    "map": pa.array([[("a", 1)], [("b", None)], None], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"A": 1, "b": {"c": "x"}}, {"A": None, "b": None}, None]),
    "deep": pa.array([[{"m": [("k", [1.5])]}], [], None], pa.list_(pa.struct([("m", _LISTS)]))),
}

CASES: tuple[Case, ...] = (
    Case(
        "orc_types",
        (
            File(
                "types.orc",
                of(_TYPES),
                types={"clock": "timestamp_ntz", "instant": "timestamp", "price": "decimal(10,2)", "small": "tinyint"},
            ),
            File("nested.orc", of(_NESTED)),
            *(
                File(f"{codec}.orc", of({"word": [f"word {n % 9}" for n in range(500)]}, compression=codec))
                for codec in ("uncompressed", "zlib", "snappy", "lz4", "zstd")
            ),
            File("empty.orc", lambda _: Made(written(pa.table({"id": pa.array([], pa.int64())})), [])),
            File("spelled.orc", of({"WORD": ["a"]}), respelled=True),
            File("narrow.orc", narrow),
        ),
        good_orc,
        {"format": "orc"},
        by_others=True,
    ),
    Case(
        "orc_spark",
        (
            File(
                "spark.orc",
                by_spark(
                    "SELECT {id}L AS id, timestamp'2026-07-01 12:00:00Z' AS instant, "
                    "timestamp_ntz'2026-07-01 12:00:00' AS clock, date'1500-01-01' AS day, "
                    "named_struct('n', 1, 'more', array(named_struct('x', 'y'))) AS inner"
                ),
                types={"instant": "timestamp", "clock": "timestamp_ntz"},
            ),
        ),
        good_orc,
        {"format": "orc"},
    ),
    Case(
        "orc_refused",
        (
            File("half.orc", cut(0.5), refused("cannot be read")),
            File("end.orc", cut(0.99), refused("cannot be read")),
            File("text.orc", lambda _: Made(b"id,a\n1,2\n" * 50, []), refused("cannot be read")),
            File("value.orc", broken_value, refused("cannot be read")),
            File("nano.orc", of({"t": pa.array([1], pa.timestamp("ns"))}), refused("nanoseconds")),
            File("twins.orc", of({"a": [1], "A": [2]}), refused("differs from a by case only")),
            File("type.orc", lambda _: Made(written(pa.table({"id": ["x"]})), []), refused("column id is string")),
        ),
        good_orc,
        {"format": "orc", "columns": {"id": "bigint"}},
    ),
)
