"""`mode: convert`: rows of files become Parquet files with the columns of a loaded table, each row once."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

from tests.support.lakes.outputs import configure, objects, staged
from tests.support.lakes.seams import dying_at, seams_watched
from tidegate.platform.bronze import publish
from tidegate.platform.bronze.listener import LogListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.errors import ConfigurationError, DataError
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def _table(name: str = "orders", format: str = "csv", **more: Any) -> dict[str, Any]:
    output = {"folder": f"{name}/"}
    return {"name": name, "prefix": f"{name}/", "format": format, "mode": "convert", "output": output, **more}


def _rows(lake: TestLake, prefix: str = "") -> list[dict[str, Any]]:
    """Return the rows of the output's files, with the values of their folders and without the columns of ours."""
    rows = []
    for key, body in objects(lake, prefix).items():
        folders = dict(unquote(part).split("=", 1) for part in key.split("/") if "=" in part)
        for row in pq.ParquetFile(io.BytesIO(body)).read().to_pylist():
            rows.append({**folders, **{name: value for name, value in row.items() if not name.startswith("_")}})
    return sorted(rows, key=lambda row: json.dumps(row, default=str))


def test_rows_become_parquet_with_the_columns_of_a_table(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_table(columns={"amount": "decimal(10,2)"})])
    folder = "orders/shop=a%3Ab/"
    lake.put(f"{folder}1.csv", "Order Id,zip,amount\n1,01234,1.50\n2,99999,x\n3,00001,2\n")
    lake.put("orders/shop=c/2.csv", "Order Id,zip,amount\n4,7,3.25\n")
    lake.put("orders/shop=c/torn.csv", b"\x00\x01\xff")
    (first,) = kit.run(lake, "orders")
    born = [
        {"shop": "a:b", "Order Id": 1, "zip": "01234", "amount": "1.50"},
        {"shop": "a:b", "Order Id": 3, "zip": "00001", "amount": "2.00"},
        {"shop": "c", "Order Id": 4, "zip": "7", "amount": "3.25"},
    ]
    assert [{**row, "amount": str(row["amount"])} for row in _rows(lake)] == born
    names = [key.rpartition("/") for key in objects(lake)]
    assert {folder for folder, _, _ in names} == {"orders/shop=a%3Ab", "orders/shop=c"}
    assert all(name.startswith("orders-0000000001-0000") and name.endswith(".parquet") for _, _, name in names)
    assert staged(lake) == []
    assert not first.batch.commits
    ledger = {row["key"].rpartition("/")[2]: row for row in kit.ledger(lake, "orders")}
    assert {name: (row["status"], row["rows"], row["bad_rows"]) for name, row in ledger.items()} == {
        "1.csv": ("committed", 2, 1),
        "2.csv": ("committed", 1, None),
        "torn.csv": ("quarantined", None, None),
    }
    assert kit.run(lake, "orders") == [], "a listing has nothing new"

    # A later batch has the columns of the first: `7` is a text, and a new column is null in older files.
    lake.put("orders/shop=c/3.csv", "Order Id,zip,amount,note\n5,8,1,n\n")
    kit.run(lake, "orders")
    assert [(row["Order Id"], row["zip"], row["note"]) for row in _rows(lake) if "note" in row] == [(5, "8", "n")]
    read = lake.lake.delta.session.read.option("mergeSchema", "true").parquet(f"s3a://{lake.output_bucket}/orders/")
    assert sorted((row["Order Id"], row["zip"], row["note"], row["shop"]) for row in read.collect()) == [
        (1, "01234", None, "a:b"), (3, "00001", None, "a:b"), (4, "7", None, "c"), (5, "8", "n", "c"),
    ]  # fmt: skip
    assert {row["_source_path"].rpartition("/")[2] for row in read.collect()} == {"1.csv", "2.csv", "3.csv"}

    # An input that was overwritten or removed: what was written of it stays, and the run says so.
    logged: list[str] = []
    lake.put("orders/shop=c/2.csv", "Order Id,zip,amount\n6,7,3.25\n")
    lake.delete("orders/shop=c/3.csv")
    run_table(lake.lake.table(lake.key("orders")), RunOptions("test", listing=True), LogListener(logged.append))
    assert sorted(row["Order Id"] for row in _rows(lake)) == [1, 3, 4, 5, 6]
    warnings = [line for line in logged if line.startswith("WARNING")]
    assert [("shop=c/2.csv, were overwritten" in line, "shop=c/3.csv, were removed" in line) for line in warnings] == [
        (True, False), (False, True),
    ]  # fmt: skip
    assert "are in the output of orders since batch 3" in trace(lake.lake, lake.bucket, "orders/shop=c/2.csv").verdict
    with pytest.raises(DataError, match="would write each row a second time"):
        rebuild_table(lake.lake, lake.key("orders"), by="somebody")

    lake.put("orders/shop=c/4.csv", "Order Id,zip,amount\n7,9,1\n")
    metadata = kit.metadata(lake.materialize("bronze", "orders"))
    assert (metadata["files"], metadata["rows"], metadata["objects"]) == (1, 1, 1)
    assert [column.name for column in metadata["dagster/column_schema"].columns][-5:] == [
        "amount", "Order Id", "zip", "note", "shop",
    ]  # fmt: skip


#: Up to the ledger's row. From there on, the steps know nothing of the mode; `test_repartition.py` dies at all of them.
_SEAMS = ["prepare", "decide", *publish.SEAMS, "commit", "record-ledger"]


@pytest.fixture(scope="module")
def one_each(module_lake: Callable[..., TestLake]) -> TestLake:
    return module_lake([_table(f"t{i}", "json") for i in range(len(_SEAMS))])


@pytest.mark.parametrize("seam", _SEAMS)
def test_a_run_that_dies_at_a_seam_leaves_no_row_twice_and_loses_none(seam: str, one_each: TestLake, kit: Any) -> None:
    lake, name = one_each, f"t{_SEAMS.index(seam)}"
    expected: list[dict[str, Any]] = []
    for wave in range(2):
        rows = [{"id": 10 * wave + i, "v": f"{i}"} for i in range(4)]
        for day in (1, 2):
            expected += [{"day": f"{day}", **row} for row in rows]
            lake.put(f"{name}/day={day}/{wave}.json", "\n".join(map(json.dumps, rows)))
        lake.put(f"{name}/day=1/bad{wave}.json", "no JSON\n")
        with seams_watched(), dying_at(seam):
            kit.run(lake, name)
        kit.run(lake, name)
        assert _rows(lake, f"{name}/") == sorted(expected, key=json.dumps)
    assert Counter(row["status"] for row in kit.ledger(lake, name)) == {"committed": 4, "quarantined": 2}
    assert kit.run(lake, name) == []


def test_an_output_has_times_that_every_reader_reads_and_keeps_its_kind_until_a_reset(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([_table("orders", "json", columns={"at": "timestamp", "local": "timestamp_ntz"})])
    lake.put("orders/1.json", '{"id": 1, "at": "9999-12-31T23:59:59.999999Z", "local": "0001-01-01T00:00:00"}')
    kit.run(lake, "orders")
    (body,) = objects(lake).values()
    rows = pq.ParquetFile(io.BytesIO(body)).read(["at", "local"])
    assert [str(field.type) for field in rows.schema] == ["timestamp[us, tz=UTC]", "timestamp[us]"]
    assert rows.to_pylist() == [{"at": datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), "local": datetime(1, 1, 1)}]
    configure(lake, mode="repartition", columns=None, output={"folder": f"s3://{lake.output_bucket}/lines/"})
    lake.put("orders/2.json", '{"id": "a"}')
    with pytest.raises(
        ConfigurationError, match=r"was born with mode convert.*objects of two kinds.*tidegate reset orders"
    ):
        kit.run(lake, "orders")
    configure(lake, mode="convert", output={"folder": f"s3://{lake.output_bucket}/again/"})
    reset_table(lake.lake, lake.key("orders"), by="somebody")
    kit.run(lake, "orders")
    assert [row["id"] for row in _rows(lake, "again/")] == ["1", "a"], "the columns come from the first files again"
