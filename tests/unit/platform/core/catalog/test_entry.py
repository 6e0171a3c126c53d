"""Entries of the Glue Data Catalog: their form, and whether Glue's entry is as it should be."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import duckdb

from tidegate.platform.core.catalog.entry import CatalogEntry, owner_of, table_entry, view_entry
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import own_columns
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema

OWNER = ("lake-id", "landing.orders")
SCHEMA = TableSchema(
    tuple(
        Field(name, parse_sql_type(sql))
        for name, sql in (
            ("Id", "bigint"),
            ("lines", "array<struct<sku:string,n:int>>"),
            ("data", "variant"),
            ("day", "date"),
        )
    ),
    ("day",),
)


def table(schema: TableSchema = SCHEMA, owner: tuple[str, str] = OWNER) -> CatalogEntry:
    return table_entry("raw", "Orders", "s3://lake/bronze/orders", schema, owner)


def as_found(entry: CatalogEntry, **more: Any) -> dict[str, Any]:
    """Return what Glue answers of an entry."""
    return {**copy.deepcopy(dict(entry.input)), "DatabaseName": entry.database, "VersionId": "3", **more}


def test_columns_have_their_descriptions_and_what_others_wrote_of_other_columns_stays() -> None:
    texts = {"id": "number of\n the order", "day": "x" * 300, "_batch": "a column that this table does not have"}
    described = table_entry("raw", "Orders", "s3://lake/bronze/orders", SCHEMA, OWNER, texts)
    comments = {
        column["Name"]: column.get("Comment")
        for column in (*described.input["StorageDescriptor"]["Columns"], *described.input["PartitionKeys"])
    }
    assert comments == {"id": "number of the order", "lines": None, "day": "x" * 252 + "…"}
    found = as_found(table())
    assert described.different_parts(found) == ["comments of columns"]
    found["StorageDescriptor"]["Columns"][0]["Comment"] = "theirs"
    found["StorageDescriptor"]["Columns"][1]["Comment"] = "theirs"
    assert table().different_parts(found) == []
    merged = described.merge_input(found)
    assert [column.get("Comment") for column in merged["StorageDescriptor"]["Columns"]] == [
        "number of the order",
        "theirs",
    ]
    assert described.different_parts(merged) == []
    view = view_entry("clean", "orders", "orders_all", SCHEMA, own_columns(None), OWNER, texts)
    assert view.input["StorageDescriptor"]["Columns"][0]["Comment"] == "number of the order"


def test_a_table_is_as_athena_and_trino_recognize_delta() -> None:
    entry = table()
    location = "s3://lake/bronze/orders"
    assert entry.input["Name"] == "orders"
    assert entry.input["TableType"] == "EXTERNAL_TABLE"
    # Athena goes by `table_type` or the provider. Trino needs the provider, and `path` of the SerDe.
    assert entry.input["Parameters"] == {
        "EXTERNAL": "TRUE",
        "table_type": "delta",
        "classification": "delta",
        "spark.sql.sources.provider": "delta",
        "spark.sql.partitionProvider": "catalog",
        "tidegate.lake": "lake-id",
        "tidegate.table": "landing.orders",
    }
    storage = entry.input["StorageDescriptor"]
    assert (storage["Location"], storage["SerdeInfo"]["Parameters"]["path"]) == (location, location)
    assert storage["Columns"] == [
        {"Name": "id", "Type": "bigint"},
        {"Name": "lines", "Type": "array<struct<sku:string,n:int>>"},
    ]
    assert entry.input["PartitionKeys"] == [{"Name": "day", "Type": "date"}]
    assert entry.left_out == ("data",)


def test_a_column_that_glue_refuses_is_left_out_and_keeps_no_other_out() -> None:
    wide = f"struct<{','.join(f'field_with_a_long_name_{n}:struct<a:string,b:string>' for n in range(3000))}>"
    names = ["", "two\nlines", "ü" * 128, "x" * 256]
    fields = [Field(name, parse_sql_type("int")) for name in [*names, "ü" * 127, "tab\there"]]
    schema = TableSchema((*fields, Field("wide", parse_sql_type(wide))), ())
    found = table(schema)
    assert found.left_out == (*names, "wide")
    assert [column["Name"] for column in found.input["StorageDescriptor"]["Columns"]] == ["ü" * 127, "tab\there"]
    view = view_entry("clean", "orders", "orders_all", schema, (), OWNER, {"tab\there": "ü" * 200})
    assert view.left_out == found.left_out
    (comment,) = [item["Comment"] for item in view.input["StorageDescriptor"]["Columns"] if "Comment" in item]
    assert comment == "ü" * 126 + "…"
    assert len(comment.encode()) == 255


def test_a_view_whose_text_is_too_long_lacks_the_columns_of_the_longest_types() -> None:
    long = f"struct<{','.join(f'field_{n}:string' for n in range(6000))}>"
    schema = TableSchema(
        tuple(Field(name, parse_sql_type(long if name != "id" else "int")) for name in ("a", "id", "b", "c"))
    )
    view = view_entry("clean", "orders", "orders_all", schema, (), OWNER)
    assert view.left_out == ("a",)
    assert len(view.input["ViewOriginalText"]) <= 409_600
    assert [column["Name"] for column in view.input["StorageDescriptor"]["Columns"]] == ["id", "b", "c"]


def test_only_our_own_entry_is_ours() -> None:
    found = as_found(table())

    def everything(holder: str) -> bool:
        return True

    assert table().is_ours(found, everything)
    assert owner_of(found) == "lake-id"
    assert not table(owner=("other", OWNER[1])).is_ours(found, everything)
    assert not table(owner=(OWNER[0], "landing.others")).is_ours(found, everything)
    assert not table().is_ours({"Name": "orders"}, everything)
    assert owner_of({"Name": "orders"}) is None


def test_an_entry_of_our_lake_that_its_table_gave_up_is_ours() -> None:
    found = as_found(table())
    moved = table(owner=(OWNER[0], "landing.moved"))
    assert moved.is_ours(found, lambda holder: holder != OWNER[1])
    assert not moved.is_ours(found, lambda holder: holder == OWNER[1])
    assert not table(owner=("other", "landing.moved")).is_ours(found, lambda holder: False)
    merged = moved.merge_input(found)
    assert moved.different_parts(found) == ["parameters"]
    assert merged["Parameters"]["tidegate.table"] == "landing.moved"


def test_what_differs_is_named_and_what_others_added_does_not_count() -> None:
    entry, found = table(), as_found(table())
    assert entry.different_parts(found) == []
    found["Parameters"]["team"] = "sales"
    found["StorageDescriptor"]["Columns"][0]["Comment"] = "number of the order"
    found["Description"] = "Orders"
    assert entry.different_parts(found) == []
    wider = TableSchema((*SCHEMA.fields, Field("paid", parse_sql_type("boolean"))), SCHEMA.partitions)
    assert table(wider).different_parts(found) == ["columns"]
    assert table_entry("raw", "Orders", "s3://lake/elsewhere", SCHEMA, OWNER).different_parts(found) == [
        "location",
        "SerDe",
    ]
    found["Parameters"]["spark.sql.sources.provider"] = "parquet"
    found["PartitionKeys"] = []
    assert entry.different_parts(found) == ["parameters", "partition columns"]
    assert entry.different_parts({"Name": "orders"}) == [
        "parameters", "columns", "partition columns", "location", "SerDe", "kind or text of the view",
    ]  # fmt: skip


def test_an_update_keeps_what_others_added() -> None:
    found = as_found(table(), Description="Orders", CreateTime=1)
    found["Parameters"]["team"] = "sales"
    found["StorageDescriptor"]["Columns"][0]["Comment"] = "number of the order"
    wider = TableSchema((*SCHEMA.fields, Field("paid", parse_sql_type("boolean"))), SCHEMA.partitions)
    merged = table(wider).merge_input(found)
    assert merged["Parameters"]["team"] == "sales"
    assert merged["StorageDescriptor"]["Columns"][0] == {
        "Name": "id", "Type": "bigint", "Comment": "number of the order",
    }  # fmt: skip
    assert merged["StorageDescriptor"]["Columns"][-1] == {"Name": "paid", "Type": "boolean"}
    assert merged["Description"] == "Orders"
    assert "CreateTime" not in merged, "UpdateTable refuses it"
    assert table(wider).different_parts({**found, **merged}) == []


def test_silver_s_view_shows_the_rows_that_are_not_deleted_and_no_column_of_ours() -> None:
    """DuckDB runs the view's query: it is standard SQL, as Trino's."""
    own = own_columns(SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 10, "stored_as": "scd2"}))
    names = {"id": "bigint", "Group": "string", **{name: "boolean" for name in ("_deleted", "_joined")}}
    names |= {"_changed_batch": "bigint", "_changed_at": "timestamp"}
    schema = TableSchema(tuple(Field(name, parse_sql_type(sql)) for name, sql in names.items()))
    entry = view_entry("clean", "Orders", "orders_with_tombstones", schema, own, OWNER)
    text = entry.input["ViewOriginalText"]
    assert text.startswith("/* Presto View: ")
    assert text.endswith(" */")
    view = json.loads(base64.b64decode(text.removeprefix("/* Presto View: ").removesuffix(" */")))
    assert view["columns"] == [{"name": "id", "type": "bigint"}, {"name": "group", "type": "varchar"}]
    assert (view["catalog"], view["schema"], view["runAsInvoker"]) == ("awsdatacatalog", "clean", True)
    assert entry.input["TableType"] == "VIRTUAL_VIEW"
    assert entry.input["Parameters"]["presto_view"] == "true"
    assert entry.input["StorageDescriptor"]["Columns"] == [
        {"Name": "id", "Type": "bigint"},
        {"Name": "group", "Type": "string"},
    ]
    with duckdb.connect() as db:
        db.sql("CREATE SCHEMA clean")
        db.sql(
            "CREATE TABLE clean.orders_with_tombstones AS SELECT * FROM (VALUES (1, 'a', false, false, 1, now()), "
            "(2, 'b', true, false, 1, now()), (3, 'c', false, true, 1, now())) "
            'AS t(id, "group", _deleted, _joined, _changed_batch, _changed_at)'
        )
        found = db.sql(view["originalSql"])
        assert (found.columns, found.fetchall()) == (["id", "group"], [(1, "a")])
