"""Change feeds in silver: partial rows, truncates, and the presets for Debezium and AWS DMS."""

from __future__ import annotations

import base64
import datetime as dt
import io
import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.errors import PySparkException

from tests.support.lakes.seams import dying_in
from tests.support.tracked import ROOT
from tidegate.platform.cli.commands.sniffers import sniff_file
from tidegate.platform.core.infer.text_format import FileSample
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.value_encoding import encoding
from tidegate.platform.core.silver.presets import comparable_position
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
SAME = "__debezium_unavailable_value"


#: Each key has a history of its own, so a table has many small cases.
KEYS = range(1, 31)


def _feed(chance: random.Random) -> list[list[Row]]:
    """Return batches of rows, some of which leave values as they are, delete their key, or truncate the table.

    No row of the first batches has the column `d`, so the table gets it when it has rows.
    """

    def row() -> Row:
        op = chance.choices(["u", "d", "x"], [20, 3, 1])[0]
        return {
            "id": chance.choice(KEYS),
            "at": chance.choice([None, *range(1, 40)]),
            "op": op,
            "a": chance.choice([None, chance.randint(1, 99)]),
            "b": chance.choice([None, SAME, f"text {chance.randint(1, 99)}"]),
            "c": chance.choice([None, chance.randint(1, 99)]),
        }

    batches = [[row() for _ in range(60)] for _ in range(4)]
    for number, at in ((1, 9), (2, 14)):
        batches[number].append({"id": 1, "at": at, "op": "t", "a": 1, "b": "t", "c": None})
    for later in (each for batch in batches[2:] for each in batch):
        later["d"] = chance.choice([None, chance.randint(1, 99)])
    # No row of this batch leaves a value or deletes, so it takes the keyed merge where silver's rows allow it.
    for last in batches[3]:
        last |= {"a": last["a"] or 7, "b": "whole" if last["b"] == SAME else last["b"], "d": last["d"] or 8}
        last["op"] = "u" if last["op"] == "d" else last["op"]
    return batches


def _merged(batches: list[list[Row]]) -> list[Row]:
    """Return the expected table: all rows in their order, however they came."""
    rows = [row for batch in batches for row in batch if row["op"] != "x"]
    truncated = max((row["at"] or 0 for row in rows if row["op"] == "t"), default=-1)
    table: dict[int, Row | None] = {}
    names = sorted({name for row in rows for name in row} & set("abcd"))
    for row in sorted(rows, key=lambda row: row["at"] or 0):
        if row["op"] == "t" or (row["at"] or 0) < truncated:
            continue
        old = table.get(row["id"]) or {}
        values = {name: old.get(name) if row.get(name) in ({None} if name in "ad" else {SAME}) else row.get(name)
                  for name in names}  # fmt: skip
        table[row["id"]] = None if row["op"] == "d" else {"id": row["id"], **values}
    return [row for _, row in sorted(table.items()) if row is not None]


def _kept(lake: TestLake, kit: Any, name: str) -> list[str]:
    """Return all that silver has, with tombstones and own columns, apart from the time of the merge.

    A NULL in a column of ignored NULLs says itself that no row gave it since the last delete. Rows that were merged
    before the table had the column do not have its entry.
    """
    rows = []
    for found in kit.query(lake, "SELECT * EXCEPT (_changed_at) FROM {t}", t=lake.lake.store.uri("silver", name)):
        row = found.asDict(recursive=True)
        left = row["_left"] or {}
        for column in (text for text in "ad" if row[text] is None and text in left):
            assert left.pop(column) == left.get(""), row
        rows.append(json.dumps({**row, "_left": left}, sort_keys=True))
    return sorted(rows)


# Whether the value of a late row fills a newer one, and whether a delete or a truncate takes it, decides about rows of
# the first feed.
@pytest.mark.seeds(1, 20, first=3503)
def test_partial_rows_and_truncates_give_the_expected_rows_whenever_merges_run(
    tidegate_lake: MakeLake, kit: Any, seed: int
) -> None:
    columns = {"id": "int", "at": "int", "op": "string", "a": "int", "b": "string", "c": "int"}
    silver = {
        "keys": ["id"],
        "order": "at",
        "apply_as_deletes": "op = 'd'",
        "apply_as_truncates": "op = 't'",
        "skip_when": "op = 'x'",
        "except_columns": ["op", "at"],
        "unavailable": SAME,
        "every": 10,
    }
    steps = {**silver, "ignore_null_updates_except_columns": ["b", "c"]}
    lake = tidegate_lake([{"name": "steps", "prefix": "steps/", "format": "json", "columns": columns, "silver": steps}])
    batches = _feed(random.Random(seed))
    for number, batch in enumerate(batches):
        lake.put(f"steps/{number}.json", kit.lines(*batch))
        kit.run(lake, "steps")
        if number == 1:
            with dying_in(silver_merge, "silver-truncate"):
                kit.merge(lake, "steps")
            assert _table(lake, "steps") == _merged(batches[:1]), "no reader sees a truncate without its merge"
        merged = kit.merge(lake, "steps")
        assert merged.skipped == sum(row["op"] == "x" for row in batch)
        assert merged.unordered == sum(row["at"] is None and row["op"] in "ud" for row in batch)
        assert _table(lake, "steps") == _merged(batches[: number + 1]), (seed, number)
    # The same columns, by their names, so one table of the oracle has the rows of both.
    others = {**silver, "ignore_null_updates_columns": ["a", "d"]}
    silver_merge.merge_table(lake.lake, kit.second(lake, "steps", "once", others))
    expected = sorted((tuple(row.values()) for row in _merged(batches)), key=repr)
    assert kit.silver(lake, "once", "id, a, b, c, d") == expected, seed
    merged = _kept(lake, kit, "steps")
    assert merged == _kept(lake, kit, "once"), "in whatever batches rows come, silver records one thing"
    compared = compare(lake.lake, lake.spec("steps"))
    assert compared is not None
    assert (compared.keys > 20, compared.wrong) == (True, ()), seed
    # As a merge of an older version left it: a value that only an older row has is missing.
    table = lake.lake.store.uri("silver", "steps")
    kit.query(lake, "UPDATE {t} SET b = NULL WHERE map_contains_key(_left, 'b') AND b IS NOT NULL", t=table)
    lost = compare(lake.lake, lake.spec("steps"))
    assert lost is not None
    assert len(lost.wrong) > 0
    why = key_history(lake.lake, lake.spec("steps"), lost.wrong[0])
    assert not why.is_right
    assert any(f"b is NULL and not {text}" in why.verdict for text in ("text", "whole"))
    silver_merge.rebuild_table(lake.lake, lake.spec("steps"), since=1)
    assert _kept(lake, kit, "steps") == merged, "a rebuild gives what merges gave"


def _table(lake: TestLake, name: str) -> list[Row]:
    return [row.asDict(recursive=True) for row in lake.sql(f"SELECT * FROM silver.{name} ORDER BY id")]


def _unscaled(number: int) -> str:
    length = (number.bit_length() + 8) // 8
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


def _customer(id: int, **values: Any) -> Row:
    return {"id": id, "name": None, "credit": None, "born": None, "seen": None, "notes": None, **values}


ANN = _customer(1, name="Ann", credit=_unscaled(12345), born=-1, seen=1_700_000_000_123_456, notes="long text")
BOB = _customer(2, name="Bob", credit=_unscaled(-5), born=0, notes="other")
CAT = _customer(3, name="Cat", credit=_unscaled(-(10**17) - 1), notes="third")
#: Changes as a connector writes them: operation, row before, row after, position in the log.
CHANGES: list[list[tuple[str, Row | None, Row | None, int]]] = [
    [("r", None, ANN, 100), ("r", None, BOB, 100), ("c", None, CAT, 101)],
    [
        ("u", None, {**ANN, "credit": _unscaled(0), "notes": SAME}, 210),
        ("u", None, {**BOB, "name": "Bo"}, 230),
        ("u", None, {**BOB, "name": "too late"}, 220),
        ("d", _customer(3), None, 240),
        ("m", None, None, 250),
    ],
]
EXPECTED = [
    {"id": 1, "name": "Ann", "credit": Decimal("0.00"), "born": dt.date(1969, 12, 31),
     "seen": dt.datetime(2023, 11, 14, 22, 13, 20, 123456), "notes": "long text"},
    {"id": 2, "name": "Bo", "credit": Decimal("-0.05"), "born": dt.date(1970, 1, 1), "seen": None, "notes": "other"},
]  # fmt: skip
DEBEZIUM = {
    "from": "debezium",
    "keys": ["id"],
    "decode": {"credit": "decimal(20, 2)", "born": "days", "seen": "microseconds"},
    "every": 10,
}


def _envelope(op: str, before: Row | None, after: Row | None, lsn: int) -> Row:
    source = {
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": 1,
        "snapshot": "false",
        "table": "customers",
        "lsn": lsn,
    }
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1, "transaction": None}


def _with_schema(row: Row) -> Row:
    return {"schema": {"type": "struct", "name": "shop.Envelope"}, "payload": row}


def _flattened(op: str, before: Row | None, after: Row | None, lsn: int) -> Row:
    return {**(after or before or {}), "__deleted": str(op == "d").lower(), "__op": op, "__source_lsn": lsn}


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TEXT, _LONG = ["null", "string"], ["null", "long"]
_CREDIT = ["null", {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}]
_SEEN = ["null", {"type": "long", "logicalType": "timestamp-micros"}]
_CUSTOMER = [("id", "int"), ("name", _TEXT), ("credit", _CREDIT), ("born", ["null", "int"]), ("seen", _SEEN),
             ("notes", _TEXT)]  # fmt: skip


def _typed(customer: Row | None) -> Row | None:
    """Return the row with a decimal and a time, as a connector writes them with a registry of schemas."""
    if customer is None:
        return None
    credit, seen = customer["credit"], customer["seen"]
    number = credit and Decimal(int.from_bytes(base64.b64decode(credit), "big", signed=True)).scaleb(-2)
    return {**customer, "credit": number, "seen": seen and _EPOCH + dt.timedelta(microseconds=seen)}


def _avro(rows: list[Row]) -> bytes:
    value = {"type": "record", "name": "Value", "fields": [{"name": name, "type": type} for name, type in _CUSTOMER]}
    source = {"type": "record", "name": "Source", "fields": [{"name": "lsn", "type": _LONG}]}
    fields = [("before", ["null", value]), ("after", ["null", "Value"]), ("source", source), ("op", "string")]
    schema = {"type": "record", "name": "Envelope", "fields": [{"name": name, "type": type} for name, type in fields]}
    buffer = io.BytesIO()
    typed = ({**row, "before": _typed(row["before"]), "after": _typed(row["after"])} for row in rows)
    fastavro.writer(buffer, fastavro.parse_schema(schema), typed)
    return buffer.getvalue()


def test_rows_of_debezium_become_the_table_of_the_database(tidegate_lake: MakeLake, kit: Any) -> None:
    """Envelopes as they are and with their schema, in JSON, and with types in Avro; flat rows in Parquet.

    Rows of plain envelopes meet those of an earlier merge. Of the other formats, one merge has the rows of both files.
    """
    names = ("plain", "payload", "avro", "registered")
    lake = tidegate_lake([{"name": name, "prefix": f"{name}/", "silver": DEBEZIUM} for name in names])
    for number, changes in enumerate(CHANGES):
        rows = [_envelope(*change) for change in changes]
        flat = [_flattened(*change) for change in changes if change[0] != "m"]
        # Some sinks write the tombstone of a deleted key as `null`.
        lake.put(f"plain/{number}.json", kit.lines(*rows) + "null\n")
        tombstone = {"schema": None, "payload": None}
        lake.put(f"payload/{number}.json", kit.lines(*(_with_schema(row) for row in rows), tombstone))
        lake.put(f"avro/{number}.avro", _avro(rows))
        lake.put(f"registered/{number}.parquet", kit.parquet(flat))
        (run,) = kit.run(lake, "plain")
        assert not any(row.bad_rows for row in run.batch.rows)
        assert kit.merge(lake, "plain").skipped == number
    for name, skipped in (("payload", 3), ("avro", 1), ("registered", 0)):
        (run,) = kit.run(lake, name)
        assert not any(row.bad_rows for row in run.batch.rows), name
        assert kit.merge(lake, name).skipped == skipped, name
    for name in names:
        assert _table(lake, name) == EXPECTED, name
    # A text that a row left as it was is not compared, and every other text is.
    found = compare(lake.lake, lake.spec("plain"))
    assert found is not None
    assert (found.suspects, found.wrong) == (0, ())
    kit.query(lake, "UPDATE {t} SET name = 'changed' WHERE id = 2", t=lake.lake.store.uri("silver", "plain"))
    found = compare(lake.lake, lake.spec("plain"))
    assert found is not None
    assert found.wrong == (("id=2",),)
    # The database's table is truncated: a row that is older does not come back, and a newer one does.
    lake.put("plain/3.json", kit.lines(_envelope("t", None, None, 300)))
    kit.run(lake, "plain")
    assert kit.merge(lake, "plain").deleted >= 2
    lake.put(
        "plain/4.json",
        kit.lines(_envelope("c", None, {**CAT, "id": 8}, 299), _envelope("c", None, {**CAT, "id": 9}, 301)),
    )
    kit.run(lake, "plain")
    kit.merge(lake, "plain")
    assert [(row["id"], row["credit"]) for row in _table(lake, "plain")] == [(9, Decimal("-1000000000000000.01"))]


_WOKEN = dt.time(6, 30, 0, 1)
_TIMES: Row = {"born": {"type": "int", "logicalType": "date"}, "woken": {"type": "long", "logicalType": "time-micros"}}
_ARROW = pa.struct(
    [("id", pa.int32()), ("name", pa.string()), ("credit", pa.decimal128(20, 2)), ("born", pa.date32()),
     ("seen", pa.timestamp("us", "UTC")), ("woken", pa.time64("us")), ("notes", pa.string())]
)  # fmt: skip


def _with_times(customer: Row | None) -> Row | None:
    """Return the row as a connector writes it with a registry of schemas, and all times as such."""
    typed = _typed(customer)
    if typed is None or customer is None:
        return None
    born = None if customer["born"] is None else _EPOCH.date() + dt.timedelta(days=customer["born"])
    return {**typed, "born": born, "woken": customer["name"] and _WOKEN}


def _flat_avro(rows: list[Row]) -> bytes:
    columns = [*_CUSTOMER[:3], ("born", ["null", _TIMES["born"]]), *_CUSTOMER[4:], ("woken", ["null", _TIMES["woken"]])]
    marks = [("__deleted", _TEXT), ("__op", _TEXT), ("__source_lsn", _LONG)]
    fields = [{"name": name, "type": type} for name, type in (*columns, *marks)]
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema({"type": "record", "name": "Value", "fields": fields}), rows)
    return buffer.getvalue()


def _parquet(rows: list[Row]) -> bytes:
    source, text = pa.struct([("lsn", pa.int64())]), pa.string()
    schema = pa.schema([("before", _ARROW), ("after", _ARROW), ("source", source), ("op", text)])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), buffer)
    return buffer.getvalue()


def _csv(rows: list[Row]) -> str:
    """Return rows with decimals as text, and with days and microseconds, as `from: debezium` decodes them."""
    lines = [",".join(rows[0])]
    for row in rows:
        days, seen = row["born"], row["seen"]
        own = {
            "born": None if days is None else (days - _EPOCH.date()).days,
            "seen": seen and (seen - _EPOCH) // dt.timedelta(microseconds=1),
        }
        lines.append(",".join("" if value is None else str(value) for value in {**row, **own}.values()))
    return "\n".join([*lines, ""])


def test_rows_of_every_format_become_the_table_of_the_database(tidegate_lake: MakeLake, kit: Any) -> None:
    """Envelopes in Parquet, flat rows in Avro and CSV, a snapshot of SQL Server before its first change, Maxwell."""
    typed = {name: value for name, value in DEBEZIUM.items() if name != "decode"}
    tables = {
        "parquet": {"silver": typed},
        "avro": {"silver": typed},
        "csv": {"columns": {"credit": "decimal(20, 2)", "woken": "string"},
                "silver": {**DEBEZIUM, "decode": {"born": "days", "seen": "microseconds"}}},
        # Nobody has left in the snapshot, so bronze has no such column yet.
        "sqlserver": {"silver": {**DEBEZIUM, "decode": {**DEBEZIUM["decode"], "left": "days"}}},
        "maxwell": yaml.safe_load(_documented("Maxwell")),
        "canal": yaml.safe_load(_documented("Canal")),
    }  # fmt: skip
    lake = tidegate_lake([{"name": name, "prefix": f"{name}/", **spec} for name, spec in tables.items()])
    for number, changes in enumerate(CHANGES):
        known = [(op, _with_times(before), _with_times(after), lsn) for op, before, after, lsn in changes]
        envelopes = [_envelope(*change) for change in known]
        flat = [_flattened(*change) for change in known if change[0] != "m"]
        lake.put(f"parquet/{number}.parquet", _parquet(envelopes))
        lake.put(f"avro/{number}.avro", _flat_avro(flat))
        lake.put(f"csv/{number}.csv", _csv(flat))
        positions = [(*change, number == 0) for change in changes]
        lake.put(f"sqlserver/{number}.json", kit.lines(*(_of_sql_server(*position) for position in positions)))
        kit.run(lake, "sqlserver")
        merged = kit.merge(lake, "sqlserver")
        assert (merged.unordered, merged.skipped) == (0, number), "a snapshot has no position of a change"
    assert _table(lake, "sqlserver") == [{**row, "left": dt.date(2024, 10, 4)} for row in EXPECTED]
    times = [{**EXPECTED[0], "woken": "06:30:00.000001"}, {**EXPECTED[1], "woken": "06:30:00.000001"}]
    for name in ("parquet", "avro", "csv"):
        kit.run(lake, name)
        kit.merge(lake, name)
        assert _table(lake, name) == times, name
    lake.put("maxwell/1.json", kit.lines(*MAXWELL))
    kit.run(lake, "maxwell")
    merged = kit.merge(lake, "maxwell")
    assert (merged.skipped, merged.unordered) == (1, 2)
    assert _table(lake, "maxwell") == [{"id": 1, "name": "Anna"}, {"id": 3, "name": "Cat"}]
    # Each element of Canal's array is a row: for merges, for `why`, and for the comparison with bronze.
    for number, (messages, skipped, shown) in enumerate(CANAL):
        lake.put(f"canal/{number}.json", kit.lines(*messages))
        kit.run(lake, "canal")
        assert kit.merge(lake, "canal").skipped == skipped
        assert [(row["id"], row["credit"]) for row in _table(lake, "canal")] == [(id, Decimal(c)) for id, c in shown]
    fates = [str(event.fate) for event in key_history(lake.lake, lake.spec("canal"), ["id=1"]).events]
    assert fates == ["won", "tie", *["truncated"] * 5]
    compared = compare(lake.lake, lake.spec("canal"))
    assert compared is not None
    assert (compared.keys > 0, compared.suspects, compared.wrong) == (True, 0, ())
    # What `tidegate infer` reports of an Avro file is what bronze has of it.
    body = _flat_avro(flat)
    sniffed = sniff_file("avro", FileSample(len(body), lambda _: body, lambda _: body)).columns
    fields = {field.name: field.type.sql() for field in kit.state(lake, "avro").schema.fields}
    assert sniffed == {name: kind for name, kind in fields.items() if name not in SOURCE_COLUMNS}


_SCALED = "struct<scale: bigint, value: string>"


def _scaled(number: int, scale: int) -> str:
    return f"named_struct('scale', {scale}L, 'value', '{_unscaled(number)}')"


#: Encoding, type and SQL of a value, and the value of the database.
ENCODED: list[tuple[str, str, str, Any]] = [
    ("time_milliseconds", "int", "86399999", "23:59:59.999"),
    ("time_milliseconds", "bigint", "CAST(NULL AS BIGINT)", None),
    ("time_microseconds", "bigint", "23400000001L", "06:30:00.000001"),
    ("time_microseconds", "bigint", "86400000000L", "24:00:00.000000"),
    ("time_microseconds", "bigint", "-3020399000000L", "-838:59:59.000000"),
    ("time_microseconds", "string", "'06:30:00.5'", "06:30:00.5"),
    ("time_nanoseconds", "bigint", "1L", "00:00:00.000000001"),
    ("decimal(10, 2)", _SCALED, _scaled(12345, 2), Decimal("123.45")),
    ("decimal(10, 2)", _SCALED, _scaled(-7, 0), Decimal("-7.00")),
    ("decimal(10, 2)", _SCALED, _scaled(123400, 4), Decimal("12.34")),
    ("decimal(10, 2)", _SCALED, _scaled(5, -2), Decimal("500.00")),
    ("decimal(10, 2)", _SCALED, _scaled(0, 9), Decimal("0.00")),
    ("decimal(10, 2)", _SCALED, f"CAST(NULL AS {_SCALED})", None),
    ("decimal(38, 18)", _SCALED, _scaled(-(10**37), 18), Decimal(f"-1{'0' * 19}.{'0' * 18}")),
]


def test_each_encoding_gives_the_value_of_the_database(tidegate_lake: MakeLake) -> None:
    session = tidegate_lake([]).lake.delta.session
    values = ", ".join(f"{sql} AS v{place}" for place, (_, _, sql, _) in enumerate(ENCODED))
    decoded = [
        encoding(name).sql(f"v{place}", parse_sql_type(kind)) for place, (name, kind, _, _) in enumerate(ENCODED)
    ]
    (row,) = session.sql(f"SELECT {', '.join(decoded)} FROM (SELECT {values})").collect()
    assert list(row) == [expected for _, _, _, expected in ENCODED]
    # Names of binlog files in their order. Silver has those of six digits as they are.
    files = ("a.000009", "mysql-bin.000010", "mysql-bin.999999", "mysql-bin.1000000", "mysql-bin.1000001",
             "mysql-bin.9999999", "mysql-bin.10000000")  # fmt: skip
    position = comparable_position("source.file", [Field("source", parse_sql_type("struct<file:string>"))])
    sources = ", ".join(f"named_struct('file', '{name}')" for name in files)
    sql = f"SELECT {position} FROM (SELECT explode(array({sources})) AS source)"
    positions = [row[0] for row in session.sql(sql).collect()]
    assert positions == sorted(positions)
    assert positions[:4] == [*files[:3], "mysql-bin.~1000000"]
    rounded = encoding("decimal(10, 2)").sql("v", parse_sql_type(_SCALED))
    for number, scale in ((12345, 3), (1, 20)):
        with pytest.raises(PySparkException, match=f"a number has {scale} digits after its point, and `decode` of"):
            session.sql(f"SELECT {rounded} FROM (SELECT {_scaled(number, scale)} AS v)").collect()


#: Rows of three transactions and of a bootstrap. The statement that Maxwell writes last began first.
MAXWELL = [
    {"database": "shop", "table": "customers", "ts": 1764062400 + at, "xid": 7 + at, "type": kind, "data": data, **more}
    for at, kind, data, more in (
        (9, "bootstrap-start", {}, {}),
        (9, "bootstrap-insert", {"id": 3, "name": "Cat"}, {}),
        (9, "bootstrap-insert", {"id": 1, "name": "older"}, {}),
        (0, "insert", {"id": 1, "name": "Ann"}, {"xoffset": 0, "position": "master.000006:800"}),
        (0, "insert", {"id": 2, "name": "Bob"}, {"commit": True, "position": "master.000006:900"}),
        (3, "update", {"id": 1, "name": "An"}, {"xoffset": 0, "position": "master.000006:1100"}),
        (3, "delete", {"id": 2, "name": "Bob"}, {"commit": True, "position": "master.000006:1200"}),
        (2, "update", {"id": 1, "name": "Anna"}, {"commit": True, "position": "master.000007:4"}),
    )
]


def _canal(at: int, kind: str, *data: tuple[str, str]) -> Row:
    """Return a message of Canal. One without rows is of the schema, or a truncate."""
    rows = [{"id": id, "credit": credit} for id, credit in data] or None
    times = {"es": 1764062400000, "ts": 1764062400007 + at}
    more = {"id": at, "isDdl": rows is None, "old": None, "pkNames": ["id"], "sql": ""}
    return {"data": rows, "database": "shop", "table": "customers", "type": kind, **times, **more}


#: Messages of each file, how many rows of them are not a change, and the table after them. Arrays have a key twice.
CANAL = [
    (
        [
            _canal(0, "INSERT", ("1", "1.00"), ("2", "2.00")),
            _canal(1, "UPDATE", ("1", "3.00"), ("1", "4.00")),
            _canal(2, "ALTER"),
            _canal(3, "DELETE", ("2", "2.00")),
            _canal(4, "UPDATE", ("1", "6.00"), ("1", "5.00")),
        ],
        1,
        [(1, "5.00")],
    ),
    (
        [_canal(5, "INSERT", ("3", "3.00")), _canal(6, "TRUNCATE"), _canal(7, "INSERT", ("1", "9.00"), ("1", "8.00"))],
        0,
        [(1, "8.00")],
    ),
]


def _documented(title: str) -> str:
    """Return the first block of YAML of a section of the guide."""
    section = (ROOT / "docs" / "guides" / "change-feeds.md").read_text().split(f"## {title}\n", 1)[1]
    return section.split("```yaml\n", 1)[1].split("```", 1)[0]


def _of_sql_server(op: str, before: Row | None, after: Row | None, lsn: int, is_snapshot: bool) -> Row:
    """Return the envelope of a change of SQL Server, or of a row of a snapshot."""
    change = None if is_snapshot else f"{lsn:08x}:00000758:0003"
    position = {
        "commit_lsn": f"{lsn:08x}:00000758:0005",
        "change_lsn": change,
        "event_serial_no": None if is_snapshot else 1,
    }
    source = {"connector": "sqlserver", "name": "shop", "ts_ms": 1, "table": "customers", **position}
    after = after and {**after, "left": None if is_snapshot else 20_000}
    return {**_envelope(op, before, after, lsn), "source": source}


def test_rows_of_dms_become_the_table_of_the_database(tidegate_lake: MakeLake, kit: Any) -> None:
    """A full load without the column `Op`, then changes: as Parquet files, and as CSV files with a header.

    Rows 5 and 6 changed while the load ran. 5 has the time of its transfer, so its change is late; 6 that of the task.
    The events of two files of changes come in the other order. Those of CSV files come at once.
    """
    second = yaml.safe_load(_documented("AWS DMS"))["tables"][0]["silver"]["order"][1]
    silver = {"from": "dms", "keys": ["id"], "order": ["committed", second], "every": 10}
    csv = {"name": "csv", "prefix": "csv/", "csv": {"nulls": ["NULL"]}, "silver": silver}
    lake = tidegate_lake([{"name": "parquet", "prefix": "parquet/", "mode": "load", "silver": silver}, csv])
    loaded = [{"id": 1, "name": "Ann", "committed": _at(0)}, {"id": 2, "name": "Bob", "committed": _at(0)},
              {"id": 3, "name": None, "committed": _at(0)}, {"id": 5, "name": "Eve", "committed": _at(10)},
              {"id": 6, "name": "Flo", "committed": _at(0)}]  # fmt: skip
    changes = [
        ("U", {"id": 1, "name": "Anna", "committed": _at(5)}),
        ("U", {"id": 1, "name": "Annabel", "committed": _at(5)}),  # of the same transaction
        ("U", {"id": 5, "name": "Eva", "committed": _at(5)}),
        ("U", {"id": 6, "name": "Flora", "committed": _at(5)}),
        ("D", {"id": 2, "name": None, "committed": _at(6)}),
        ("I", {"id": 4, "name": "Dan", "committed": _at(7)}),
        ("U", {"id": 3, "name": "Cat", "committed": _at(8)}),
    ]
    before = [("U", {"id": 1, "name": "An", "committed": _at(5)}), ("D", {"id": 4, "name": None, "committed": _at(7)})]
    files = {"LOAD00000001": loaded}
    for file, some in (("20261125-093000123", changes), ("20261125-093000122", before)):
        files[file] = [{"Op": op, **row} for op, row in some]
    for file, rows in files.items():
        lake.put(f"parquet/{file}.parquet", kit.parquet(rows))
        cells = [",".join("NULL" if value is None else str(value) for value in row.values()) for row in rows]  # type: ignore[attr-defined]
        lake.put(f"csv/{file}.csv", "\n".join([",".join(rows[0]), *cells, ""]))
        kit.run(lake, "parquet")
        kit.merge(lake, "parquet")
    kit.run(lake, "csv")
    kit.merge(lake, "csv")
    for name in ("parquet", "csv"):
        rows = [(row["id"], row["name"]) for row in _table(lake, name)]
        assert rows == [(1, "Annabel"), (3, "Cat"), (4, "Dan"), (5, "Eve"), (6, "Flora")], name
        assert set(_table(lake, name)[0]) == {"id", "name", "committed"}


def _at(second: int) -> str:
    return f"2026-11-25 09:30:{second:02}.000001"


def test_the_guide_s_tables_are_merged_as_it_says(tidegate_lake: MakeLake, kit: Any) -> None:
    text = (ROOT / "docs" / "guides" / "silver.md").read_text()
    (configured,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    tables = yaml.safe_load(configured)["tables"]
    lake = tidegate_lake([{**table, "prefix": f"{table['name']}/"} for table in tables])
    files = dict(re.findall(r"`([\w.]+)`:\n\n```(?:csv|json)\n(.*?)```", text, re.DOTALL))
    for folder, names in re.findall(r"^ +python put\.py (\w+) (.*)$", text, re.MULTILINE):
        for name in names.split():
            lake.put(f"{folder}/{name}", files.pop(name))
        kit.run(lake, folder)
        kit.merge(lake, folder)
    assert not files
    shown = re.findall(r'tidegate sql "(.*)"\n\n\|.*\n\|[-|]+\n((?:\|.*\n)+)', text)
    assert len(shown) == len(tables)
    for query, rows in shown:
        found = ["| " + " | ".join(map(str, row)) + " |" for row in lake.sql(query)]
        assert found == rows.splitlines(), query
