"""JSON as libraries, databases and Firehose write it."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl

from tests.support.foreign.by_duckdb import copied
from tests.support.foreign.case import Case, File, Made, Row, Workshop, refused, without
from tests.support.foreign.csv_files import _frame
from tests.support.foreign.odd_names import ODD_NAMES
from tests.support.foreign.same import Json
from tidegate.platform.core.schema.column_types import MAX_LEVELS


def good_json(id: int) -> tuple[str, bytes]:
    """Return a plain file that every reader accepts."""
    return "good.json", f'{{"id": {id}}}\n'.encode()


def _read(text: str) -> list[Row]:
    """Return every value of a text, one after the other, with the items of arrays."""
    decoder, rows, at = json.JSONDecoder(parse_float=Decimal), [], 0
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        rows += value if isinstance(value, list) else [value]
        while at < len(text) and text[at].isspace():
            at += 1
    return rows


def _made(body: str | bytes) -> Made:
    raw = body.encode() if isinstance(body, str) else body
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return Made(raw, _read(text.decode("utf-8-sig")))


def _objects(shop: Workshop, count: int = 3) -> list[Row]:
    return [{"id": id, "text": "a}{" + '"' * place, "inner": {"n": place}} for place, id in enumerate(shop.ids(count))]


def text(write: Callable[[list[Row]], str | bytes], count: int = 3) -> Callable[[Workshop], Made]:
    """Return a maker of the text of a few objects."""
    return lambda shop: _made(write(_objects(shop, count)))


def lines(*objects: Row) -> Callable[[Workshop], Made]:
    """Return a maker of JSON lines. It adds the ids."""

    def make(shop: Workshop) -> Made:
        rows = [{"id": id, **entry} for id, entry in zip(shop.ids(len(objects)), objects, strict=True)]
        return _made("".join(f"{json.dumps(row)}\n" for row in rows))

    return make


def _firehose(rows: list[Row]) -> str:
    return "".join(json.dumps(row) for row in rows)


def _pandas_lines(shop: Workshop) -> Made:
    return _made(_frame(shop).to_json(orient="records", lines=True))


def _pandas_records(shop: Workshop) -> Made:
    return _made(_frame(shop).to_json(orient="records"))


def _polars(shop: Workshop) -> Made:
    body = io.BytesIO()
    frame = pl.DataFrame(
        {
            "id": shop.ids(2),
            "pl_at": [dt.datetime(2026, 1, 2, 3, 4, 5, 6), None],
            "pl_time": [dt.time(1, 2, 3, 4), None],
            "pl_inner": [{"a": 1, "b": [1.5]}, None],
            "pl_exact": [Decimal("1.20"), None],
        }
    )
    frame.write_ndjson(body)
    return _made(body.getvalue())


def _spark(shop: Workshop) -> Made:
    folder = shop.folder / "spark"
    query = (
        f"SELECT {shop.first} AS id, timestamp '2026-01-02 03:04:05' AS sp_at, map('k.x', 1) AS sp_map, null AS sp_null"
    )
    shop.spark.sql(query).coalesce(1).write.json(folder.as_uri())
    (part,) = folder.glob("*.json")
    return _made(part.read_bytes())


_DUCKDB = """SELECT {id} AS id, '6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid AS uuid, time '01:02:03' AS time,
    170141183460469231731687303715884105727 AS huge, interval 1 month AS span, {{'a.b': [1]}} AS inner_names"""


def _senators(shop: Workshop) -> Made:
    inner = {"end-type": "x", "@id": 1, "a b": {"c.d": [{"e f": True}]}, "back`tick": None}
    return _made(json.dumps({"id": shop.first, "extra": inner, "device.os": "ios", **dict.fromkeys(ODD_NAMES, 1)}))


def _mixed(shop: Workshop) -> Made:
    values = [1, "x", {"a": 1}, [1, "y"], True]
    made = lines(*({"mixed": value} for value in values))(shop)
    return Made(made.body, [{"id": id, "mixed": Json(value)} for id, value in zip(shop.ids(5), values, strict=True)])


def _pandas_columns(shop: Workshop) -> Made:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    body = frame.to_json()
    return Made(body.encode(), [json.loads(body)])


def _and(more: str, **columns: Any) -> Callable[[Workshop], Made]:
    """Return one good row, and bad ones."""

    def make(shop: Workshop) -> Made:
        made = _made(json.dumps({"id": shop.first, **columns}) + "\n")
        return Made(made.body + more.encode(), made.rows)

    return make


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"x": value}
    return value


def _deep(levels: int) -> Callable[[Workshop], Made]:
    """Return nested objects, too deep for Python's own writer."""
    value = '{"x":' * levels + "1" + "}" * levels
    return lambda shop: Made(f'{{"id":{shop.first},"a":{value}}}\n'.encode(), [])


_JSON = {"format": "json"}

CASES = (
    Case(
        "json_lines",
        (
            File("pandas.json", _pandas_lines),
            File("polars.ndjson", _polars),
            File("duckdb.json", copied(_DUCKDB, "json")),
            File("spark.json", _spark),
            File("names.jsonl", _senators),
            File("crlf.json", text(lambda rows: "\r\n".join(map(json.dumps, rows)))),
            File("bom.json", text(lambda rows: b"\xef\xbb\xbf" + "\n".join(map(json.dumps, rows)).encode())),
            File("packed.json.gz", text(lambda rows: gzip.compress("\n".join(map(json.dumps, rows)).encode()))),
            File("ascii.json", lines({"esc": "\u00e4\U0001f600\u2028"}, {"esc": "tab\tline\n"})),
            File("sparse.json", lines({"only_here": 1}, {"only_there": [1]}, {})),
            File("mixed.json", _mixed),
            File("numbers.json", lines({"int": 2**53 + 1, "big": 2**64, "real": 0.1, "exp": 1e300, "zero": -0.0})),
            File("deepest that goes.json", lines({"nested": _nested(MAX_LEVELS)})),
            File("nothing.json", lines({"never": None}, {"never": None})),
            File("empty inside.json", lines({"no_fields": {}, "no_items": []})),
        ),
        good_json,
        _JSON,
        by_others=True,
    ),
    Case(
        "json_shapes",
        (
            File("firehose", text(_firehose)),
            File("firehose.gz", text(lambda rows: gzip.compress(_firehose(rows).encode()))),
            File("array.json", text(json.dumps)),
            File("pretty array.json", text(lambda rows: json.dumps(rows, indent=2))),
            File("one a line.json", text(lambda rows: "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")),
            File("single.json", text(lambda rows: json.dumps(rows[0]), 1)),
            File("pretty single.json", text(lambda rows: json.dumps(rows[0], indent=4), 1)),
            File("pretty many.json", text(lambda rows: "\n".join(json.dumps(row, indent=1) for row in rows))),
            File("pandas records.json", _pandas_records),
            File("duckdb array.json", copied("SELECT {id} AS id, 'x' AS text", "json", "(ARRAY true)")),
            File("packed array.json.gz", text(lambda rows: gzip.compress(json.dumps(rows).encode()))),
            File("spaces.json", text(lambda rows: "\n\n  " + json.dumps(rows) + "\n\n")),
        ),
        good_json,
        _JSON,
    ),
    Case("json_columns", (File("pandas.json", _pandas_columns),), good_json, _JSON),
    Case(
        "json_refused",
        (
            File("ours.json", lines({"_source_path": "x"}), refused("_source_path")),
            File("case.json", lines({"name": 1, "Name": 2}), refused("name", "case")),
            File("twice.json", lambda shop: Made(f'{{"id":{shop.first},"a":1,"a":2}}'.encode(), []), refused("a")),
            File("not.json", lambda _: Made(b"id,name\n1,x\n", []), refused("JSON")),
            File("cut array.json", lambda shop: Made(f'[{{"id":{shop.first}'.encode(), []), refused("cut off")),
            File("numbers.json", lambda _: Made(b"1\n2\n", []), refused("object")),
            File("deep.json", _deep(60), refused("levels")),
            File("deeper.json", _deep(900), refused("levels")),
            File("deepest.json", _deep(1200), refused("levels")),
        ),
        good_json,
        _JSON,
    ),
    Case(
        "json_rows",
        (
            File("epoch.json", _and('{"id": 7, "at": 1767323045000}\n', at="2026-01-02T03:04:05Z"), without(1)),
            File("inexact.json", _and('{"id": 7, "exact": 1.239}\n', exact=1.23), without(1)),
            File("broken.json", _and('{"id": 7\nnot json\n', exact=2.5), without(2)),
            File("whole.json", _and('{"id": 7.5}\n{"id": "8"}\n{"id": 99999999999999999999}\n', exact=3.5), without(3)),
        ),
        good_json,
        {**_JSON, "columns": {"id": "bigint", "at": "timestamp", "exact": "decimal(10,2)"}},
    ),
)
