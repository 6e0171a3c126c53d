"""Parquet, ORC and Avro that other products read wrongly."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from tests.support.peers.case import Body, Ids, Peer, Row

_NEAR_1970 = [
    dt.datetime(1969, 12, 31, 21, 51, 26, 883873),
    dt.datetime(1969, 12, 31, 23, 59, 59, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1, 0, 0, 0, 500000),
]
_LONG_AGO = dt.datetime(1839, 12, 24, 3, 58, 55, 826)
_MILLIS = dt.datetime(2022, 3, 25, 14, 30, 55, 338000)


def _table(columns: dict[str, Any], ids: Ids) -> pa.Table:
    count = len(next(iter(columns.values())))
    return pa.table({"id": pa.array([ids(place) for place in range(1, count + 1)], pa.int64()), **columns})


def _parquet(columns: dict[str, Any], **options: Any) -> Body:
    def make(ids: Ids) -> bytes:
        body = io.BytesIO()
        pq.write_table(_table(columns, ids), body, **options)
        return body.getvalue()

    return make


def _orc(columns: dict[str, Any]) -> Body:
    def make(ids: Ids) -> bytes:
        body = io.BytesIO()
        orc.write_table(_table(columns, ids), body)
        return body.getvalue()

    return make


def _avro(fields: list[dict[str, Any]], *rows: Row) -> Body:
    schema = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}, *fields]}

    def make(ids: Ids) -> bytes:
        body = io.BytesIO()
        records = [{"id": ids(place), **row} for place, row in enumerate(rows, 1)]
        fastavro.writer(body, fastavro.parse_schema(schema), records)
        return body.getvalue()

    return make


def _folder(source: str, was: str, folder: str, value: str | None) -> Peer:
    rows: dict[int, Row] = {1: {"part": value, "y": 1}}
    return Peer(source, was, "parts", _parquet({"y": [1]}), rows, key=f"part={folder}/a.parquet")


def _times(unit: str, *values: dt.datetime | None, zone: str | None = None) -> pa.Array:
    return pa.array(list(values), pa.timestamp(unit, zone))


_FAR = [dt.datetime(1000, 1, 1, 12), dt.datetime(1677, 9, 1, 12), dt.datetime(3018, 3, 7), dt.datetime(9999, 12, 31)]
_UNSIGNED: dict[str, Callable[[], pa.DataType]] = {
    "u8": pa.uint8, "u16": pa.uint16, "u32": pa.uint32, "u64": pa.uint64,
}  # fmt: skip
_LARGEST = {name: 2 ** int(name[1:]) - 1 for name in _UNSIGNED}

CASES = (
    Peer(
        "aws/aws-sdk-pandas#3357",
        "times before 1677 and after 2262 came back as others",
        "parquet",
        _parquet({"far": _times("us", *_FAR, zone="UTC")}),
        {place: {"far": moment} for place, moment in enumerate(_FAR, 1)},
        types={"far": "timestamp"},
    ),
    Peer(
        "aws/aws-sdk-pandas#296",
        "a typing error of the year 3018 in a time of 96 bits kept the file out",
        "parquet",
        _parquet({"far96": _times("us", *_FAR[1:3])}, use_deprecated_int96_timestamps=True),
        {1: {"far96": _FAR[1]}, 2: {"far96": _FAR[2]}},
    ),
    Peer(
        "apache/datafusion-comet#1067",
        "unsigned numbers were read as signed ones",
        "parquet",
        _parquet({name: pa.array([_LARGEST[name], 0], kind()) for name, kind in _UNSIGNED.items()}),
        {1: {**_LARGEST, "u64": Decimal(_LARGEST["u64"])}, 2: dict.fromkeys(_UNSIGNED, 0)},
    ),
    Peer(
        "confluentinc/kafka-connect-hdfs#511",
        "a column of text without a value was written as one of numbers, and then the texts did not fit",
        "parquet",
        _parquet({"participants": pa.array(["ann"])}),
        {},
        before=_parquet({"participants": pa.array([None], pa.int32())}),
        refused=True,
        says=("participants", "int"),
    ),
    Peer(
        "apache/iceberg-python#1353",
        "a file without statistics was refused, or its rows were hidden by filters",
        "parquet",
        _parquet({"no_bounds": pa.array([1.5, float("nan"), None])}, write_statistics=False),
        {1: {"no_bounds": 1.5}, 2: {"no_bounds": float("nan")}, 3: {"no_bounds": None}},
    ),
    Peer(
        "apache/parquet-java#2640",
        "a file of several row groups, each larger than the one before, was read from wrong places",
        "parquet",
        _parquet({"grouped": pa.array(["a", "b" * 5_000, "c", "d" * 9_000])}, row_group_size=1),
        {1: {"grouped": "a"}, 2: {"grouped": "b" * 5_000}, 3: {"grouped": "c"}, 4: {"grouped": "d" * 9_000}},
    ),
    _folder("delta-io/delta-rs#433", "rows of a folder with a blank were not found", "B B", "B B"),
    _folder("delta-io/delta-rs#1299", "rows of a folder with `&` were not found", "R&D", "R&D"),
    _folder("delta-io/delta-rs#1228", "rows of a folder with a colon that is escaped were not found", "x%3Ay", "x:y"),
    _folder("delta-io/delta-rs#1228", "and of one with a colon that is not", "x:z", "x:z"),
    _folder(
        "delta-io/delta#2280",
        "rows of a folder with round brackets were left out",
        "product 1 (beta)",
        "product 1 (beta)",
    ),
    _folder("pola-rs/polars#23367", "a percent sign of a value was decoded once too often", "100%2525", "100%25"),
    _folder("roapi/roapi#58", "a table with a folder of NULL could not be opened", "__HIVE_DEFAULT_PARTITION__", None),
    _folder("trinodb/trino#17264", "rows of a folder with `+` or `=` were not found", "a+plus=equal", "a+plus=equal"),
    Peer(
        "NVIDIA/cudf#21993",
        "a time just before 1970 was one second off",
        "orc",
        _orc({"near": _times("us", *_NEAR_1970), "near_utc": _times("us", *_NEAR_1970, zone="UTC")}),
        {place: {"near": moment, "near_utc": moment} for place, moment in enumerate(_NEAR_1970, 1)},
    ),
    Peer(
        "NVIDIA/cudf#11525",
        "a time of 1839 was one second off",
        "orc",
        _orc({"ago": _times("us", _LONG_AGO, None), "ago_utc": _times("us", _LONG_AGO, None, zone="UTC")}),
        {1: {"ago": _LONG_AGO, "ago_utc": _LONG_AGO}, 2: {"ago": None, "ago_utc": None}},
    ),
    Peer(
        "confluentinc/kafka-connect-storage-cloud#716",
        "NULL became the default of its field",
        "avro",
        _avro(
            [
                {"name": "with_default", "type": ["long", "null"], "default": 7},
                {"name": "text_default", "type": ["string", "null"], "default": "x"},
            ],
            {"with_default": None, "text_default": None},
            {"with_default": 7, "text_default": ""},
        ),
        {1: {"with_default": None, "text_default": None}, 2: {"with_default": 7, "text_default": ""}},
    ),
    Peer(
        "confluentinc/kafka-connect-storage-cloud#338",
        "a union of a single type could not be written",
        "avro",
        _avro(
            [
                {"name": "alone", "type": ["long"]},
                {"name": "alone_at", "type": [{"type": "long", "logicalType": "timestamp-millis"}]},
            ],
            {"alone": 5, "alone_at": _MILLIS.replace(tzinfo=dt.UTC)},
        ),
        {1: {"alone": 5, "alone_at": _MILLIS}},
        types={"alone": "bigint", "alone_at": "timestamp"},
    ),
    Peer(
        "apache/hudi#14161",
        "milliseconds were taken for microseconds, so times were of January 1970",
        "avro",
        _avro(
            [
                {"name": name.replace("-", "_"), "type": ["null", {"type": "long", "logicalType": name}]}
                for name in ("timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros")
            ],
            {
                "timestamp_millis": _MILLIS.replace(tzinfo=dt.UTC),
                "timestamp_micros": _MILLIS.replace(tzinfo=dt.UTC),
                "local_timestamp_millis": _MILLIS,
                "local_timestamp_micros": _MILLIS,
            },
        ),
        {
            1: {
                "timestamp_millis": _MILLIS,
                "timestamp_micros": _MILLIS,
                "local_timestamp_millis": _MILLIS,
                "local_timestamp_micros": _MILLIS,
            }
        },
        types={"timestamp_millis": "timestamp", "local_timestamp_millis": "timestamp_ntz"},
    ),
    Peer(
        "apache/pinot#13224",
        "a decimal in a union of one type came as its bytes",
        "avro",
        _avro(
            [
                {
                    "name": "amount",
                    "type": [{"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 11}],
                }
            ],
            {"amount": Decimal("-123456789.00000000001")},
        ),
        {1: {"amount": Decimal("-123456789.00000000001")}},
        types={"amount": "decimal(20,11)"},
    ),
)
