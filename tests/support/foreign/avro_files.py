"""Avro as fastavro writes it."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa

from tests.support.foreign.case import Case, File, Made, Row, Workshop, refused

#: Avro's types of PyArrow's, as far as tests write such tables.
_TYPES = {pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean"}


def _record(fields: dict[str, Any], name: str = "row") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def written(rows: Sequence[Row], fields: dict[str, Any], codec: str = "null") -> bytes:
    """Return the file that fastavro makes of rows."""
    body = io.BytesIO()
    fastavro.writer(body, fastavro.parse_schema(_record(fields)), rows, codec=codec)
    return body.getvalue()


def of_table(table: pa.Table) -> bytes:
    """Return the file of a plain table, packed."""

    def kind(type: pa.DataType, name: str) -> Any:
        if pa.types.is_struct(type):
            return _record({field.name: kind(field.type, field.name) for field in type}, f"r_{name}")
        return _TYPES[type]

    fields = {field.name: kind(field.type, field.name) for field in table.schema}
    return written(table.to_pylist(), fields, codec="deflate")


def good_avro(id: int) -> tuple[str, bytes]:
    """Return a file that nobody could object to."""
    return "good.avro", written([{"id": id}], {"id": "long"})


def of(fields: dict[str, Any], *rows: Row, codec: str = "null") -> Callable[[Workshop], Made]:
    """Return a maker of rows; ids come by themselves."""

    def make(shop: Workshop) -> Made:
        all_rows = [{"id": id, **row} for id, row in zip(shop.ids(len(rows)), rows, strict=True)]
        body = written(all_rows, {"id": "long", **fields}, codec)
        return Made(body, [dict(row) for row in fastavro.reader(io.BytesIO(body)) if isinstance(row, dict)])

    return make


def members(shop: Workshop) -> Made:
    """Return a union of several types, whose values are in the field of their type."""
    rows = [{"id": id, "x": value} for id, value in zip(shop.ids(3), (7, "seven", None), strict=True)]
    body = written(rows, {"id": "long", "x": ["null", "int", "string"]})
    found = [{"member_int": 7}, {"member_string": "seven"}, None]
    return Made(body, [{"id": row["id"], "x": value} for row, value in zip(rows, found, strict=True)])


def text_ids(_: Workshop) -> Made:
    """Return a file whose ids are of another type than the table's."""
    return Made(written([{"id": "x"}], {"id": "string"}), [])


def cut(share: float) -> Callable[[Workshop], Made]:
    """Return a maker of a file that ends early."""

    def make(shop: Workshop) -> Made:
        body = written([{"id": id} for id in shop.ids(500)], {"id": "long"})
        return Made(body[: int(len(body) * share)], [])

    return make


def _logical(type: str, meaning: str, **more: Any) -> Any:
    return ["null", {"type": type, "logicalType": meaning, **more}]


_UTC = dt.UTC
_LOGICAL = {
    "day": _logical("int", "date"),
    "price": _logical("bytes", "decimal", precision=10, scale=2),
    "fixed": [
        "null",
        {"type": "fixed", "name": "d", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 0},
    ],
    "millis": _logical("long", "timestamp-millis"),
    "micros": _logical("long", "timestamp-micros"),
    "clock": _logical("long", "local-timestamp-micros"),
    "time": _logical("long", "time-micros"),
    "uuid": _logical("string", "uuid"),
}
_VALUES: Row = {
    "day": dt.date(1500, 1, 1),
    "price": Decimal("-99999999.99"),
    "fixed": Decimal(10**37),
    "millis": dt.datetime(2026, 1, 2, 3, 4, 5, 678000, _UTC),
    "micros": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, _UTC),
    "clock": dt.datetime(2026, 7, 2, 3, 4, 5, 678901),
    "time": dt.time(23, 59, 59, 999999),
    "uuid": uuid.UUID(int=7),
}
_PLAIN = {
    "flag": "boolean",
    "whole": "int",
    "real": "float",
    "double": "double",
    "text": "string",
    "raw": "bytes",
    "three": {"type": "fixed", "name": "three", "size": 3},
    "kind": {"type": "enum", "name": "kind", "symbols": ["A", "B"]},
}
_LEAF = _record({"x": "string"}, "leaf")
_NESTED = {
    "list": {"type": "array", "items": ["null", "int"]},
    "map": {"type": "map", "values": ["null", "long"]},
    "inner": [
        "null",
        _record({"A": "int", "deep": {"type": "array", "items": _record({"x": "string"}, "leaf")}}, "node"),
    ],
}
_WORDS = [{"word": f"word {n % 9}"} for n in range(500)]

CASES: tuple[Case, ...] = (
    Case(
        "avro_types",
        (
            File(
                "plain.avro",
                of(
                    _PLAIN,
                    {
                        "flag": True, "whole": -(2**31), "real": 0.5, "double": 1e300, "text": "é", "raw": b"\x00\xff",
                        "three": b"abc", "kind": "B",
                    },
                ),
            ),
            File(
                "logical.avro",
                of(_LOGICAL, _VALUES, dict.fromkeys(_VALUES)),
                types={
                    "price": "decimal(10,2)", "millis": "timestamp", "clock": "timestamp_ntz", "time": "string",
                    "uuid": "string",
                },
            ),
            File(
                "nested.avro",
                of(
                    _NESTED,
                    {"list": [1, None], "map": {"a": 1, "b": None}, "inner": {"A": 1, "deep": [{"x": "y"}]}},
                    {"list": [], "map": {}, "inner": None},
                ),
            ),
            File("members.avro", members, types={"x": "struct<member_int:int,member_string:string>"}),
            *(
                File(f"{codec}.avro", of({"word": "string"}, *_WORDS, codec=codec))
                for codec in ("null", "deflate", "bzip2", "xz")
            ),
            File("empty.avro", of({"word": "string"})),
            File("spelled.avro", of({"WORD": "string"}, {"WORD": "a"}), respelled=True),
        ),
        good_avro,
        {"format": "avro"},
        by_others=True,
    ),
    Case(
        "avro_refused",
        (
            File("half.avro", cut(0.5), refused("cannot be read")),
            File("header.avro", cut(0.05), refused("cannot be read")),
            File("text.avro", lambda _: Made(b"id,a\n1,2\n" * 50, []), refused("cannot be read")),
            File(
                "duration.avro",
                of({"d": {"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}}, {"d": bytes(12)}),
                refused("column d is a duration"),
            ),
            File("twins.avro", of({"a": "int", "A": "int"}, {"a": 1, "A": 2}), refused("differs from a by case only")),
            File("type.avro", text_ids, refused("column id is string")),
        ),
        good_avro,
        {"format": "avro", "columns": {"id": "bigint"}},
    ),
)  # fmt: skip
