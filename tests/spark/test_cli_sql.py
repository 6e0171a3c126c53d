"""`tidegate sql` on a real lake: names, time travel, errors of one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.sql import run_sql
from tidegate.platform.testing import TestLake

SILVER = {"keys": ["id"], "order": "v", "delete_when": "gone", "every": 10}


def parquet(*rows: tuple[int, int, bool]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{"id": i, "v": v, "gone": gone} for i, v, gone in rows]), buffer)
    return buffer.getvalue()


def test_the_layers_and_their_past(
    tidegate_lake: Callable[..., TestLake],
    environment: Callable[[TestLake], None],
    console: Console,
    said: Callable[[], str],
) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "silver": SILVER}])
    environment(lake)
    lake.put("orders/a.parquet", parquet((1, 10, False), (2, 20, False)))
    lake.materialize("bronze", "orders")
    lake.materialize("silver_orders")
    then = datetime.now(UTC).isoformat()
    lake.put("orders/b.parquet", parquet((1, 11, False), (2, 21, True), (3, 30, False)))
    lake.materialize("bronze", "orders")
    lake.materialize("silver_orders")

    rows = "concat_ws(',', sort_array(collect_list(id || ':' || v)))"
    queries = {
        "SELECT count(*) FROM bronze.orders VERSION AS OF 0": "2",
        "SELECT count(*) FROM ledger.orders WHERE kind = 'row'": "2",
        # 2 was deleted: its tombstone shows in neither the present nor the past.
        f"SELECT {rows} FROM silver.orders": "1:11,3:30",
        f"SELECT {rows} FROM silver.orders VERSION AS OF 1 o": "1:10,2:20",
        f"SELECT {rows} FROM silver.orders TIMESTAMP AS OF '{then}'": "1:10,2:20",
    }
    run_sql(console, f"SELECT {', '.join(f'({query})' for query in queries)}", None, 100)
    assert said().splitlines()[-1].replace("│", " ").split() == [*queries.values()]

    before = len(said())
    run_sql(console, "SELECT id, CAST(NULL AS STRING) AS nothing FROM bronze.orders ORDER BY v", None, 2)
    printed = said()[before:]
    assert "nothing" in printed
    assert printed.count("null") == 2
    assert "3 more rows" in printed

    with pytest.raises(CommandError, match=r"ledger\.orders") as missing:
        run_sql(console, "SELECT * FROM bronze.nothing_here", None, 1)
    assert "silver.orders" in str(missing.value)
    with pytest.raises(CommandError) as broken:
        run_sql(console, "SELEC 1", None, 1)
    for error in (missing, broken):
        assert "\n" not in str(error.value)


def test_a_dead_spark_server_is_said_at_once(
    tidegate_lake: Callable[..., TestLake],
    environment: Callable[[TestLake], None],
    monkeypatch: pytest.MonkeyPatch,
    console: Console,
) -> None:
    lake = tidegate_lake([])
    environment(lake)
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    with pytest.raises(CommandError, match=r"no Spark Connect server at sc://127\.0\.0\.1:1: .*tidegate up"):
        run_sql(console, "SELECT 1", None, 1)
