"""The values that a merge gives to silver's columns: fields by name at every depth, and only what bronze has."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct, Type
from tidegate.platform.core.schema.exact_json import exact_json, from_exact_json
from tidegate.platform.core.schema.field_alignment import align_value, is_same
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.value_encoding import encoding
from tidegate.platform.core.silver.presets import resolve_presets
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
TEXT = Simple("string")


def test_fields_are_matched_by_name_at_every_depth_and_those_that_bronze_lacks_are_kept(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    """A new generation has fewer fields, in another order. A user has added a field to silver."""
    silver = {"keys": ["id"], "order": "at", "every": 10}
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json", "silver": silver}])

    def land(name: str, id: int, at: int, inner: dict[str, str], **info: str) -> None:
        lake.put(f"items/{name}.json", kit.lines({"id": id, "at": at, "grid": [[inner]], "info": {**inner, **info}}))
        kit.run(lake, "items")

    land("1", 1, 1, {"b": "B1"})
    kit.merge(lake, "items")
    land("2", 2, 1, {"a": "A2", "b": "B2"}, only="x2")
    kit.merge(lake, "items")
    table = f"delta.`{lake.lake.store.uri('silver', 'items')}`"
    session = lake.lake.delta.session
    session.sql(f"ALTER TABLE {table} ADD COLUMN info.note string")
    session.sql(f"UPDATE {table} SET info.note = 'mine'")
    lake.clients.s3.delete_object(Bucket=lake.bucket, Key="items/2.json")
    reset_table(lake.lake, lake.key("items"), by="somebody", accept_loss=True)
    land("3", 1, 2, {"a": "A1", "b": "B1'"})
    kit.merge(lake, "items")
    land("4", 3, 1, {"a": "A3", "b": "B3"})
    kit.merge(lake, "items")
    kept = {"b": "B1'", "a": "A1", "only": None, "note": "mine"}
    assert [json.loads(row[0]) for row in kit.silver(lake, "items", WHOLE)] == [
        {"id": 1, "grid": [[{"b": "B1'", "a": "A1"}]], "info": kept},
        {"id": 2, "grid": [[{"b": "B2", "a": "A2"}]], "info": {"b": "B2", "a": "A2", "only": "x2", "note": "mine"}},
        {"id": 3, "grid": [[{"b": "B3", "a": "A3"}]], "info": {"b": "B3", "a": "A3", "only": None, "note": None}},
    ]


WHOLE = "to_json(struct(id, grid, info), map('ignoreNullFields', 'false')) AS row"


def test_values_of_types_at_random_keep_their_fields_by_name(tidegate_lake: MakeLake) -> None:
    spark = tidegate_lake([]).lake.delta.session
    chance = random.Random(26)
    cases, values, changes = [], [], []
    for place in range(30):
        given = _type(chance, 0)
        wanted = _otherwise(given, chance)
        value = _value(given, chance)
        changed = align_value(given, wanted, f"v{place}")
        cases.append((given, wanted, value))
        values.append(f"from_json('{json.dumps({'v': value})}', 'v {given.sql()}').v AS v{place}")
        changes.append(f"to_json(struct({changed} AS v), map('ignoreNullFields', 'false')), typeof({changed})")
    # One query for all cases: Spark would take longer over each of many.
    (row,) = spark.sql(f"SELECT {', '.join(changes)} FROM (SELECT {', '.join(values)})").collect()
    for place, (given, wanted, value) in enumerate(cases):
        case = f"{value} of {given.sql()} as {wanted.sql()}"
        assert json.loads(row[2 * place])["v"] == _as(wanted, value), case
        assert row[2 * place + 1] == wanted.sql().replace("`", "").replace("integer", "int"), case
        assert is_same(given, wanted) == (given == wanted), case
        assert [*TableSchema((Field("v", wanted),)).missing_fields([Field("v", given)])] == [], case


def _type(chance: random.Random, depth: int) -> Type:
    if depth == 3:
        return TEXT
    fields = [Field(name, _type(chance, depth + 1)) for name in "xyz"[: chance.randint(1, 3)]]
    kinds: list[Type] = [Struct(tuple(fields)), Array(_type(chance, depth + 1)), Map(TEXT, _type(chance, depth + 1))]
    return chance.choice(kinds)


def _otherwise(kind: Type, chance: random.Random) -> Type:
    """Return a type with the same fields in another order, and with more fields."""
    match kind:
        case Struct(fields):
            found = [Field(field.name, _otherwise(field.type, chance)) for field in fields]
            found += [Field("more", Array(TEXT))] * chance.randint(0, 1)
            chance.shuffle(found)
            return Struct(tuple(found))
        case Array(element):
            return Array(_otherwise(element, chance))
        case Map(key, value):
            return Map(key, _otherwise(value, chance))
    return kind


def _value(kind: Type, chance: random.Random) -> Any:
    if chance.random() < 0.1:
        return None
    match kind:
        case Struct(fields):
            return {field.name: _value(field.type, chance) for field in fields}
        case Array(element):
            return [_value(element, chance) for _ in range(chance.randint(0, 3))]
        case Map(_, value):
            return {f"k{n}": _value(value, chance) for n in range(chance.randint(0, 3))}
    return f"text {chance.randint(0, 99)}"


def _as(wanted: Type, value: Any) -> Any:
    match wanted, value:
        case Struct(fields), dict():
            return {field.name: _as(field.type, value.get(field.name)) for field in fields}
        case Array(element), list():
            return [_as(element, item) for item in value]
        case Map(_, inner), dict():
            return {key: _as(inner, item) for key, item in value.items()}
    return value


def test_values_are_decoded_at_their_limits(tidegate_lake: MakeLake) -> None:
    """Numbers of Debezium's `infinity`, both alphabets of base64, structs with other fields before and after."""
    spark = tidegate_lake([]).lake.delta.session

    def decoded(name: str, kind: str, *values: str) -> list[str | None]:
        given = ", ".join(f"({value})" for value in values)
        sql = encoding(name).sql("v", parse_sql_type(kind))
        return [row[0] for row in spark.sql(f"SELECT CAST({sql} AS STRING) FROM VALUES {given} AS t(v)").collect()]

    ends = ["9999-12-31 23:59:59.999999", "0001-01-01 00:00:00"]
    for name, thousand in (("milliseconds", 1000), ("microseconds", 1), ("nanoseconds", 1)):
        infinite = (str(9223372036825200000 // thousand), str(-9223372036832400000 // thousand))
        assert decoded(name, "bigint", *infinite, "NULL") == [*ends, None], name
    assert decoded("milliseconds", "bigint", "9223372036825200000L", "-1L") == [ends[0], "1969-12-31 23:59:59.999"]
    assert decoded("nanoseconds", "string", "'-1'", "'1001'") == [
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00.000001",
    ]
    numbers = [0, -1, 127, 128, -128, -129, 255, 256, -256, 10**38 - 1, 1 - 10**38]
    texts = [
        encode(number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)).decode()
        for number in numbers
        for encode in (base64.b64encode, base64.urlsafe_b64encode)
    ]
    assert decoded("decimal(38, 0)", "string", *(f"'{text}'" for text in texts)) == [
        str(number) for number in numbers for _ in "12"
    ]
    with pytest.raises(
        PySparkException, match="a value of the column is not base64: if the connector writes numbers as text"
    ):
        decoded("decimal(10, 2)", "string", "'12.50'")
    point = "named_struct('x', 1, 'srid', CAST(NULL AS INT))"
    columns = [
        Field("before", parse_sql_type("struct<id:int,p:struct<y:int,x:int>>")),
        Field("after", parse_sql_type("struct<id:int,p:struct<x:int,srid:int>>")),
        Field("source", parse_sql_type("struct<lsn:bigint>")),
        Field("op", parse_sql_type("string")),
    ]
    row = resolve_presets(SilverSpec.model_validate({"from": "debezium", "keys": ["id"], "every": 9}), columns).row
    was = "named_struct('id', 1, 'p', named_struct('y', 2, 'x', 1))"
    (found,) = spark.sql(
        f"SELECT {row}.p AS updated, (SELECT {row}.p FROM (SELECT {was} AS before, "
        f"CAST(NULL AS {columns[1].type.sql()}) AS after)) AS deleted "
        f"FROM (SELECT {was} AS before, named_struct('id', 1, 'p', {point}) AS after)"
    ).collect()
    assert [each.asDict() for each in found] == [{"x": 1, "srid": None, "y": None}, {"x": 1, "srid": None, "y": 2}]


def test_json_keeps_every_digit_of_a_time_and_reads_what_older_versions_wrote(tidegate_lake: MakeLake) -> None:
    spark = tidegate_lake([]).lake.delta.session
    values = (
        "struct(TIMESTAMP '2026-01-01 00:00:00.000001Z' AS o1, TIMESTAMP_NTZ '1969-12-31 23:59:59.999999' AS o2, "
        "map('k', TIMESTAMP_NTZ '2026-01-01 00:00:00.100002') AS o3, CAST(NULL AS TIMESTAMP_NTZ) AS o4)"
    )
    kind = "struct<o1: timestamp, o2: timestamp_ntz, o3: map<string, timestamp_ntz>, o4: timestamp_ntz>"
    (row,) = spark.sql(f"SELECT {exact_json(values)}").collect()
    again = exact_json(from_exact_json(row[0], kind))
    old = from_exact_json('{"o1":"2026-01-01T00:00:00.000001Z","o2":"2026-01-01T00:00:00.123"}', kind)
    older = from_exact_json('{"o2":"2026-01-01T00:00:00"}', kind)
    (read,) = spark.sql(
        f"SELECT {again}, {old}.o1 = TIMESTAMP '2026-01-01 00:00:00.000001Z', "
        f"{old}.o2 = TIMESTAMP_NTZ '2026-01-01 00:00:00.123', {older}.o2 = TIMESTAMP_NTZ '2026-01-01 00:00:00'"
    ).collect()
    assert tuple(read) == (row[0], True, True, True)
    for digits in ("000001", "999999", "100002"):
        assert digits in row[0]


def test_silver_has_renamed_derived_and_cast_columns(tidegate_lake: MakeLake, kit: Any) -> None:
    silver = {
        "keys": ["customer"],
        "order": "at",
        "delete_when": "gone",
        "rename": {"cust_no": "customer", "at": "changed"},
        "derive": {"total": "price * quantity", "email": "lower(email)"},
        "cast": {"total": "decimal(12, 2)", "customer": "int"},
        "except_columns": ["price", "quantity", "gone"],
        "every": 10,
    }
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json", "silver": silver}])
    row = {"cust_no": "1", "at": 2, "price": 1.25, "quantity": 3, "email": "A@b.c", "gone": False}

    def land(name: str, *rows: dict[str, Any]) -> Any:
        lake.put(f"items/{name}.json", kit.lines(*rows))
        kit.run(lake, "items")
        return kit.merge(lake, "items")

    land("1", row, {**row, "cust_no": "2"})
    land("2", {**row, "at": 1, "price": 0.0}, {**row, "cust_no": " 2", "at": 3, "gone": True})
    (found,) = lake.sql("SELECT * FROM silver.items")
    assert found.asDict() == {"customer": 1, "changed": 2, "email": "a@b.c", "total": Decimal("3.75")}
    with pytest.raises(PySparkException, match=r"CAST_INVALID_INPUT.*'x'"):
        land("3", {**row, "cust_no": "x"})
    assert kit.silver(lake, "items", "customer") == [(1,)]
