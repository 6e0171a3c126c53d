"""Presets of silver: the options that the columns of a change feed imply, and the error where some are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from tests.support.tracked import ROOT
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.infer.feeds import propose_silver
from tidegate.platform.core.infer.text_format import sniff_csv, sniff_json
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type, quote_name
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.value_encoding import encoding
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.presets import resolve_presets, unavailable_condition
from tidegate.platform.core.silver.rules import MergeRules, merge_rules

ROW = "struct<id:bigint,name:string>"
POSTGRES = {"before": ROW, "after": ROW, "source": "struct<ts_ms:bigint,lsn:bigint>", "op": "string"}


def fields(types: dict[str, str]) -> list[Field]:
    return [Field(name, parse_sql_type(kind)) for name, kind in types.items()]


def silver(types: dict[str, str], **options: Any) -> SilverSpec:
    spec = SilverSpec.model_validate({"from": "debezium", "keys": ["id"], "every": 9, **options})
    return resolve_presets(spec, fields(types))


def test_an_envelope_of_debezium_is_opened_where_it_is() -> None:
    plain = silver(POSTGRES)
    assert (plain.row, plain.order) == ("coalesce(after, before)", ("source.lsn",))
    half = "op = 'd' OR (op = 'u' AND after IS NULL AND before IS NOT NULL)"
    assert (plain.deletes, plain.apply_as_truncates) == (half, "op = 't'")
    rescuing = silver({**POSTGRES, "_rescued_data": "string"}).deletes
    assert rescuing == half.replace("NOT NULL)", "NOT NULL AND _rescued_data IS NULL)"), "`after` may be there"
    wrapped = silver({"schema": "string", "payload": Struct(tuple(fields(POSTGRES))).sql()})
    assert (wrapped.row, wrapped.order) == ("coalesce(payload.after, payload.before)", ("payload.source.lsn",))
    assert wrapped.deletes == half.replace("op", "payload.op").replace("after", "payload.after").replace(
        "before", "payload.before"
    )
    assert silver({**POSTGRES, "before": "string"}).deletes == "op = 'd'"
    assert silver({**POSTGRES, "before": "string"}).row == "after", "no delete has come yet"
    assert silver({name: kind for name, kind in POSTGRES.items() if name != "before"}).row == "after"


def test_structs_of_before_and_after_have_the_fields_of_both() -> None:
    """JSON has no field that is null in all rows. A CAST alone takes fields by their place."""
    kinds = {"before": "struct<id:bigint,p:struct<x:int,y:int>>", "after": "struct<id:bigint,p:struct<Y:int,srid:int>>"}
    given = silver({**POSTGRES, **kinds}).row
    assert given is not None
    both = "struct<`Y`:int,`srid`:int,`x`:int>"
    assert f"struct(before.`p`.`y` AS `Y`, CAST(NULL AS int) AS `srid`, before.`p`.`x` AS `x`)) AS {both})" in given
    assert f"struct(after.`p`.`Y` AS `Y`, after.`p`.`srid` AS `srid`, CAST(NULL AS int) AS `x`)) AS {both})" in given


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("decimal(10, 2)", "bigint", "is bigint, and an encoded value is text or binary"),
        ("decimal(10, 2)", "decimal(12,4)", r"is decimal\(12,4\) already, and decimal\(10,2\) does not have all"),
        ("base64", "array<tinyint>", "is array<tinyint>, and an encoded value is text or binary"),
        ("microseconds", "double", "is double, and an encoded time is a whole number"),
        ("days", "timestamp", "is timestamp, and an encoded time is a whole number"),
    ],
)
def test_a_column_that_cannot_be_encoded_so_is_refused(name: str, given: str, problem: str) -> None:
    """Numbers of a `double` would be taken for base64, and give other numbers."""
    columns = {"id": "bigint", "at": "bigint", "price": given}
    spec = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, "decode": {"price": name}})
    with pytest.raises(
        UnsuitableColumns, match=f"has a column 'price' that `decode` of `silver` does not fit: it {problem}"
    ):
        merge_rules(spec, fields(columns), lambda sqls, _: [Simple("long")] * len(sqls))


def test_rows_before_and_after_with_other_fields_become_one_row() -> None:
    """A delete has only the key, if the database does not write more."""
    given = silver({**POSTGRES, "before": "struct<id:bigint>"}).row
    assert given is not None
    assert given.startswith("if(after IS NULL AND before IS NULL, NULL, struct(")
    assert "if(after IS NULL, CAST(before.`id` AS bigint), CAST(after.`id` AS bigint)) AS `id`" in given
    assert "if(after IS NULL, CAST(NULL AS string), CAST(after.`name` AS string)) AS `name`" in given


@pytest.mark.parametrize(
    ("source", "order"),
    [
        ("lsn:bigint,ts_ms:bigint", ("source.lsn",)),
        ("file:string,pos:bigint,row:int", ("source.file", "source.pos", "source.row")),
        ("commit_lsn:string,change_lsn:string,event_serial_no:bigint",
         ("source.commit_lsn", "source.change_lsn", "source.event_serial_no")),
        # A snapshot of SQL Server or Db2 in JSON has the first part alone, and Db2 never has the last.
        ("commit_lsn:string", ("source.commit_lsn", "source.change_lsn", "source.event_serial_no")),
        ("change_lsn:string,commit_lsn:string",
         ("source.commit_lsn", "source.change_lsn", "source.event_serial_no")),
        ("scn:string,commit_scn:string", ("CAST(source.scn AS DECIMAL(38, 0))",)),
    ],
)  # fmt: skip
def test_rows_are_ordered_by_the_position_in_the_log_of_their_database(source: str, order: tuple[str, ...]) -> None:
    assert silver({**POSTGRES, "source": f"struct<{source}>"}).order == order


def test_flattened_rows_of_debezium_are_known_by_their_metadata() -> None:
    row = {"id": "bigint", "__deleted": "string", "__op": "string", "__source_lsn": "bigint", "__table": "string"}
    flat = silver(row)
    assert (flat.row, flat.order) == (None, ("__source_lsn",))
    assert flat.deletes == "CAST(__deleted AS STRING) = 'true' OR __op = 'd'"
    assert flat.except_columns == ("__deleted", "__op", "__source_lsn", "__table")
    inside = silver({"schema": "string", "payload": Struct(tuple(fields(row))).sql()})
    assert (inside.row, inside.order, inside.skip_when) == ("payload", ("payload.__source_lsn",), "payload IS NULL")
    assert inside.deletes == "CAST(payload.__deleted AS STRING) = 'true' OR payload.__op = 'd'"
    assert inside.apply_as_truncates == "payload.__op = 't'"
    assert inside.except_columns == flat.except_columns
    mysql = {"id": "bigint", "__deleted": "string", "__file": "string", "__pos": "bigint", "__row": "int"}
    assert silver(mysql).order == ("__file", "__pos", "__row")


def test_a_snapshot_without_a_position_has_the_order_that_the_first_change_has() -> None:
    """A part that bronze does not have yet is NULL, which is older than every position."""

    def types(expressions: Sequence[str], relation: str) -> list[Type]:
        return [parse_sql_type(ROW) if "after" in sql else Simple("string") for sql in expressions]

    def rules(source: str) -> MergeRules:
        columns = {**POSTGRES, "source": f"struct<{source}>"}
        return merge_rules(silver(columns), fields(columns), types)

    snapshot, change = rules("commit_lsn:string"), rules("commit_lsn:string,change_lsn:string,event_serial_no:bigint")
    assert snapshot.recorded == change.recorded
    assert snapshot.order_values == (
        "`source`.`commit_lsn`",
        "(\nCAST(NULL AS STRING)\n)",
        "(\nCAST(NULL AS BIGINT)\n)",
    )
    assert change.order_values == ("`source`.`commit_lsn`", "`source`.`change_lsn`", "`source`.`event_serial_no`")
    assert snapshot.required_order == change.required_order == ("`source`.`commit_lsn`",), "the others count no row"
    flat = {"id": "bigint", "__op": "string", "__source_commit_lsn": "string"}
    assert merge_rules(silver(flat), fields(flat), types).order_values == (
        "`__source_commit_lsn`", "(\nCAST(NULL AS STRING)\n)", "(\nCAST(NULL AS BIGINT)\n)"
    )  # fmt: skip
    mysql = {**POSTGRES, "source": "struct<file:string,pos:bigint,row:int>"}
    file, *others = merge_rules(silver(mysql), fields(mysql), types).order_values
    assert "repeat('~', length(regexp_extract(`source`.`file`, '(?<![0-9])([0-9]++)$', 1)) - 6)" in file, (
        "the text is not an order"
    )
    assert others == ["`source`.`pos`", "`source`.`row`"]
    numbers = {**mysql, "source": "struct<file:bigint,pos:bigint,row:int>"}
    assert merge_rules(silver(numbers), fields(numbers), types).order_values == ("`source`.`file`", *others)
    only = merge_rules(silver(flat, order="__source_change_lsn"), fields(flat), types)
    assert only.required_order == only.order_values
    with pytest.raises(UnsuitableColumns, match="has no column '__source_lsn'"):
        merge_rules(silver(flat, order="__source_lsn"), fields(flat), types)


def test_what_lake_yaml_gives_comes_before_what_a_preset_gives() -> None:
    given = silver(POSTGRES, order="source.ts_ms", delete_when="after IS NULL", unavailable="none", columns=["id"])
    assert (given.order, given.deletes, given.unavailable) == (("source.ts_ms",), "after IS NULL", "none")
    assert (given.columns, given.except_columns) == (("id",), ())


def test_rows_of_dms_have_an_operation_only_where_there_are_changes() -> None:
    dms = {"from": "dms", "order": "at"}
    full_load = silver({"id": "bigint", "at": "string"}, **dms)
    assert (full_load.deletes, full_load.except_columns) == (None, ())
    changes = silver({"Op": "string", "id": "bigint", "at": "string"}, **dms, except_columns=["id"])
    assert (changes.deletes, changes.except_columns) == ("`Op` = 'D'", ("id", "Op"))


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        ({"id": "bigint"}, "has no rows of Debezium: neither `op` with `before` and `after`"),
        ({**POSTGRES, "source": "struct<ts_ms:bigint>"}, "without a position in the database's log in `source`"),
        (
            {**POSTGRES, "source": "struct<commit_lsn:string,change_lsn:string,begin_lsn:string>"},
            "without a position in the database's log in `source`",
        ),
        ({**POSTGRES, "before": "string", "after": "string"}, "without a struct `before` or `after`"),
        (
            {**POSTGRES, "before": "string", "after": "string", "updateDescription": "struct<truncatedArrays:string>"},
            "has rows of MongoDB, whose `after` is text",
        ),
        ({"id": "bigint", "__deleted": "string"}, "without a position in the database's log in `add.fields`"),
    ],
)
def test_a_preset_states_what_bronze_lacks(types: dict[str, str], problem: str) -> None:
    with pytest.raises(UnsuitableColumns, match=problem):
        silver(types)


def test_the_columns_of_a_feed_are_those_of_its_rows() -> None:
    def types(expressions: Sequence[str], relation: str) -> list[Type]:
        return [parse_sql_type(ROW) if "after" in sql else Simple("long") for sql in expressions]

    spec = silver(POSTGRES, decode={"name": "base64"}, except_columns=["id"], keys=["name"])
    rules = merge_rules(spec, fields(POSTGRES), types)
    assert [(field.name, field.type.sql()) for field in rules.columns] == [
        ("name", "binary"), ("_order", "struct<`o1`:bigint>")
    ]  # fmt: skip
    assert [part.path for part in (*rules.keys, *rules.order)] == ["`name`", "`_order`.`o1`"]
    assert rules.kept == {}, "the key does not keep its value"
    by_hand = silver(POSTGRES, decode={"nam": "days"}).model_copy(update={"preset": None})
    with pytest.raises(UnsuitableColumns, match="has no column 'nam', which `decode` of `silver` names"):
        merge_rules(by_hand, fields(POSTGRES), types)


def test_a_column_without_a_value_has_its_type_from_the_first_merge_on() -> None:
    """A snapshot in JSON in which a column is null everywhere does not have the column."""

    def rules(row: str) -> MergeRules:
        def types(expressions: Sequence[str], relation: str) -> list[Type]:
            return [parse_sql_type(row) if "after" in sql else Simple("long") for sql in expressions]

        columns = {**POSTGRES, "before": row, "after": row}
        return merge_rules(silver(columns, decode={"Born": "days", "name": "base64"}), fields(columns), types)

    snapshot, later = rules(ROW), rules("struct<id:bigint,born:bigint,name:string>")
    assert [snapshot.awaited, later.awaited] == [("Born",), ()]
    assert {field.name.lower(): field.type for field in snapshot.columns} == {
        field.name.lower(): field.type for field in later.columns
    }
    assert snapshot.values["Born"] == "CAST(CAST(NULL AS date) AS date)"
    assert later.values["born"].startswith("date_from_unix_date")
    excepted = silver(POSTGRES, decode={"born": "days"}, except_columns=["born"])
    with pytest.raises(UnsuitableColumns, match="has no column 'born', which `decode`"):
        merge_rules(excepted, fields(POSTGRES), lambda sqls, _: [parse_sql_type(ROW)] * len(sqls))


def test_an_encoding_is_a_name_or_a_decimal() -> None:
    assert encoding("Decimal(12, 2)").type.sql() == "decimal(12,2)"
    assert (
        encoding("days").sql(quote_name("d"), Simple("integer"))
        == "date_from_unix_date(CAST(CAST(`d` AS BIGINT) AS INT))"
    )
    # Avro and Parquet may have the type itself.
    assert encoding("days").sql("d", Simple("date")) == "CAST(d AS date)"
    assert encoding("decimal(12, 2)").sql("n", parse_sql_type("decimal(10,2)")) == "CAST(n AS decimal(12,2))"
    assert encoding("milliseconds").sql("t", Simple("timestamp")) == "CAST(t AS timestamp)"
    for wrong in ("decimal", "decimal(39, 2)", "day"):
        with pytest.raises(ValueError, match=r"is not an encoding: use days|decimal|precision"):
            encoding(wrong)


@pytest.mark.parametrize(
    ("columns", "keys", "line"),
    [
        (POSTGRES, [], "silver: {from: debezium, keys: [id], every: 60}"),
        ({"schema": "string", "payload": f"struct<op:string,after:{ROW}>"}, [],
         "silver: {from: debezium, keys: [id], every: 60}"),
        ({"schema": "string", "payload": "struct<id:bigint,__op:string>"}, [],
         "silver: {from: debezium, keys: [id], every: 60}"),
        ({"order_id": "bigint", "__deleted": "string"}, [], 'silver: {from: debezium, keys: ["order_id"], every: 60}'),
        ({"Op": "string", "a": "bigint", "commit_ts": "string"}, [],
         'silver: {from: dms, keys: [<primary key>], order: "commit_ts", every: 60}'),
        ({"id": "bigint"}, ["shop/orders/LOAD00000001.csv"],
         "silver: {from: dms, keys: [id], order: <TimestampColumnName>, every: 60}"),
        ({"database": "string", "table": "string", "type": "string", "ts": "bigint", "xid": "bigint",
          "data": "struct<id:bigint>"}, [],
         "silver: {keys: [id], row: data, "
         "order: [\"CAST(split_part(split_part(position, ':', 1), '.', -1) AS BIGINT)\", "
         "\"CAST(split_part(position, ':', 2) AS BIGINT)\"], apply_as_deletes: \"type = 'delete'\", "
         "skip_when: \"type NOT IN ('insert', 'update', 'delete', 'bootstrap-insert')\", every: 60}"),
        ({"id": "bigint", "op": "string"}, ["orders/1.csv"], None),
    ],
)  # fmt: skip
def test_infer_proposes_the_preset_of_a_feed(columns: dict[str, str], keys: list[str], line: str | None) -> None:
    proposed = propose_silver(columns, keys)
    assert (proposed and proposed.line) == line
    if proposed and "xid" in columns:
        assert "output_binlog_position=true" in proposed.notes[-1]
        assert "log" in propose_silver({**columns, "position": "string"}, keys).notes[-1]  # type: ignore[union-attr]
    if proposed and "<" not in proposed.line:
        SilverSpec.model_validate(yaml.safe_load(proposed.line)["silver"])


@pytest.mark.parametrize(
    ("name", "key", "order"),
    [
        ("debezium_mysql.json", "id", ("file", "pos", "row")),
        ("debezium_postgresql.json", "id", ("lsn",)),
        ("debezium_sqlserver.json", "id", ("commit_lsn", "change_lsn", "event_serial_no")),
        ("debezium_db2.json", "id", ("commit_lsn", "change_lsn", "event_serial_no")),
        ("dms.csv", "EMP_ID", ("committed_at",)),
    ],
)
def test_records_of_the_shape_that_is_documented_are_proposed_and_ordered(
    name: str, key: str, order: tuple[str, ...]
) -> None:
    """A snapshot, an insert, an update and a delete of each connector, with their schema; and changes of DMS."""
    content = (ROOT / "tests" / "unit" / "data" / "feeds" / name).read_bytes()
    sniffed = (sniff_csv if name.endswith(".csv") else sniff_json)(content, whole=True)
    assert sniffed.problems == []
    proposed = propose_silver(sniffed.columns, [name])
    assert proposed is not None
    spec = SilverSpec.model_validate(yaml.safe_load(proposed.line)["silver"])
    found = resolve_presets(spec, fields(sniffed.columns))
    start = "" if name == "dms.csv" else "payload.source."
    assert (found.keys, found.order) == ((key,), tuple(start + part for part in order))
    deletes = (found.deletes or "").split(" OR ")[0]
    assert deletes == ("`Op` = 'D'" if name == "dms.csv" else "payload.op = 'd'")


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("string", "c IN ('ab', 'YWI=')"),
        ("binary", "c = CAST('ab' AS BINARY)"),
        (
            "array<string>",
            "c IN (array('ab'), array('YWI='), array('187ef443-6122-31cc-af40-dc2b92f0eba0'))",
        ),
        ("array<binary>", "c = array(CAST('ab' AS BINARY))"),
        ("array<int>", "c = CAST(array(97, 98) AS array<int>)"),
        ("array<bigint>", "c = CAST(array(97, 98) AS array<bigint>)"),
        ("map<string,string>", "map_keys(c) = array('ab')"),
        ("int", None),
        ("array<double>", None),
        ("map<int,string>", None),
        ("struct<a:string>", None),
    ],
)
def test_each_type_has_its_placeholder(kind: str, condition: str | None) -> None:
    assert unavailable_condition("ab", parse_sql_type(kind), "c") == condition
    assert unavailable_condition(None, parse_sql_type(kind), "c") is None
