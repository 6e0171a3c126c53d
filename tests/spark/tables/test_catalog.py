"""Tables in the Glue Data Catalog: entries follow the columns, and silver's entry means what silver's view means."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import duckdb
import pyarrow as pa
from rich.console import Console

from tests.support.foreign.others import by_duckdb, copied_down
from tidegate.platform.cli.commands.catalog_readers import run_readers
from tidegate.platform.core.catalog.readers import Reader
from tidegate.platform.core.config.silver_columns import SILVER_COLUMNS
from tidegate.platform.testing import TestLake


def test_entries_follow_the_columns_and_the_view_counts_no_tombstone(
    tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path
) -> None:
    name = uuid.uuid4().hex[:8]
    raw, clean = f"raw_{name}", f"clean_{name}"
    silver = {"keys": ["id"], "order": "at", "every": 10, "apply_as_deletes": "op = 'D'"}
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "format": "json", "silver": silver}],
        catalog={"bronze": raw, "silver": clean},
    )
    glue: Any = boto3.client("glue")
    calls: list[str] = []

    def entry(database: str, table: str) -> dict[str, Any]:
        return dict(glue.get_table(DatabaseName=database, Name=table)["Table"])

    def columns(database: str, table: str) -> list[str]:
        return [column["Name"] for column in entry(database, table)["StorageDescriptor"]["Columns"]]

    catalog = lake.lake.catalog
    assert catalog is not None
    catalog._client.meta.events.register("before-call.glue", lambda model, **_: calls.append(model.name))

    def land(name: str, *rows: dict[str, Any]) -> list[str]:
        calls.clear()
        lake.put(f"orders/{name}.json", kit.lines(*rows))
        kit.run(lake, "orders")
        kit.merge(lake, "orders")
        return calls

    land("a", {"id": 1, "at": 1, "op": "I"}, {"id": 2, "at": 1, "op": "I"})
    assert land("b", {"id": 2, "at": 2, "op": "D"}) == [], "no request if no column changed"
    assert "UpdateTable" in land("c", {"id": 3, "at": 3, "op": "I", "paid": True})
    assert {"id", "at", "op", "paid"} < set(columns(raw, "orders"))
    assert entry(raw, "orders")["StorageDescriptor"]["Location"] == kit.location(lake, "orders").replace("s3a:", "s3:")
    assert set(columns(clean, "orders")) == {"id", "at", "op", "paid"}
    assert set(columns(clean, "orders_with_tombstones")) == {"id", "at", "op", "paid", *SILVER_COLUMNS}

    text = entry(clean, "orders")["ViewOriginalText"]
    view = json.loads(base64.b64decode(text.removeprefix("/* Presto View: ").removesuffix(" */")))
    folder = copied_down(lake.clients, lake.lake.store.uri("silver", "orders"), tmp_path)
    files = by_duckdb(folder)
    assert len(files) == 3, "the files have the tombstone too"
    with duckdb.connect() as db:
        db.register("rows", pa.Table.from_pylist(list(files)))
        db.sql(f"CREATE SCHEMA {clean}; CREATE TABLE {clean}.orders_with_tombstones AS FROM rows")
        found = db.sql(f'SELECT id, "at", op, paid FROM ({view["originalSql"]})').fetchall()
    assert sorted(found) == kit.silver(lake, "orders", "id, at, op, paid") == [(1, 1, "I", None), (3, 3, "I", True)]

    console = Console(width=300, record=True)
    run_readers(console, lake.lake)
    (row,) = (line.split() for line in console.export_text().splitlines() if "silver." in line)
    assert row == ["silver.orders_with_tombstones", *["yes"] * len(Reader)]
