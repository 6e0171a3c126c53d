"""`tidegate sql` on a real lake: names, time travel, and errors of one line."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row

from tests.spark.conftest import Shell
from tidegate.assets.presentation.example_queries import bronze_queries, silver_queries
from tidegate.platform.cli.check.lake import check_foreign
from tidegate.platform.cli.commands.sql import SqlAnswer, SqlColumn, run_sql
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.lake.settings import Settings
from tidegate.platform.local.names import name_tables
from tidegate.platform.local.stack_file import StackInfo, StackLock, write_stack
from tidegate.platform.testing import TestLake

SILVER = {"keys": ["id"], "order": "v", "delete_when": "gone", "every": 10}


def parquet(*rows: tuple[int, int, bool]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{"id": i, "v": v, "gone": gone} for i, v, gone in rows]), buffer)
    return buffer.getvalue()


def test_the_layers_and_their_past(
    tidegate_lake: Callable[..., TestLake],
    kit: Any,
    shell: Shell,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The server also has tables of other tests. An error lists tables with similar names, and no other test has these.
    lake = tidegate_lake(
        [{"name": "layered", "prefix": "orders/", "silver": SILVER}, {"name": "layered_torn", "prefix": "a/"}]
    )
    shell.use(lake)
    run_sql(shell, "SELECT (SELECT count(*) FROM lake.intake), (SELECT count(*) FROM lake.quarantine)", None, 1)
    assert shell.said().splitlines()[-1].replace("│", " ").split() == ["0", "0"], "a lake that nothing has come to"
    lake.put("orders/a.parquet", parquet((1, 10, False), (2, 20, False)))
    kit.run(lake, "layered")
    kit.merge(lake, "layered")
    then = datetime.now(UTC).isoformat()
    lake.put("orders/b.parquet", parquet((1, 11, False), (2, 21, True), (3, 30, False)))
    kit.run(lake, "layered")
    kit.merge(lake, "layered")

    rows = "concat_ws(',', sort_array(collect_list(id || ':' || v)))"
    queries = {
        "SELECT count(*) FROM bronze.layered VERSION AS OF 0": "2",
        "SELECT count(*) FROM ledger.layered WHERE kind = 'row'": "2",
        # The row with id 2 was deleted. Its tombstone is visible in neither the present nor the past.
        f"SELECT {rows} FROM silver.layered": "1:11,3:30",
        f"SELECT {rows} FROM silver.layered VERSION AS OF 1 o": "1:10,2:20",
        f"SELECT {rows} FROM silver.layered TIMESTAMP AS OF '{then}'": "1:10,2:20",
    }
    run_sql(shell, f"SELECT {', '.join(f'({query})' for query in queries)}", None, 100)
    assert shell.said().splitlines()[-1].replace("│", " ").split() == [*queries.values()]

    before = len(shell.said())
    run_sql(shell, "SELECT id, CAST(NULL AS STRING) AS nothing FROM bronze.layered ORDER BY v", None, 2)
    printed = shell.said()[before:]
    assert "nothing" in printed
    assert printed.count("null") == 2
    assert "3 more rows" in printed

    # Programs get what PySpark returns for every type, as JSON.
    values = {
        "CAST(1.50 AS DECIMAL(9, 2))": "1.50",
        "TIMESTAMP '2026-01-31T12:00:00.000001Z'": "2026-01-31T12:00:00.000001Z",
        "named_struct('v', parse_json('[1.5, null]'), 'm', map(DATE '2026-01-31', X'00FF'))": {
            "v": [1.5, None],
            "m": {"2026-01-31": "AP8="},
        },
        "parse_json('{\"a\": 0.1}')": {"a": 0.1},
        "INTERVAL '1' DAY": "1 day, 0:00:00",
        "double('NaN')": "NaN",
    }
    before = len(shell.said())
    selected = ", ".join(f"{value} AS c{index}" for index, value in enumerate(values))
    run_sql(shell, f"SELECT {selected} FROM bronze.layered", None, 1, as_json=True)
    answer = SqlAnswer.model_validate_json(shell.said()[before:], strict=True)
    assert answer.rows == ({f"c{index}": value for index, value in enumerate(values.values())},)
    assert (answer.columns[0], answer.more) == (SqlColumn(name="c0", type="decimal(9,2)"), 4)

    # Spark has times that Python does not have.
    ages = {
        "TIMESTAMP '+12026-01-31T12:00:00.5Z'": "+12026-01-31T12:00:00.5Z",
        "TIMESTAMP '2026-01-31T12:00:00Z'": "2026-01-31T12:00:00Z",
        "named_struct('d', array(DATE '-0044-03-15'), 'm', map(TIMESTAMP_NTZ '0000-01-01', 1))": {
            "d": ["-0044-03-15"],
            "m": {"0000-01-01T00:00:00": 1},
        },
    }
    before, query = len(shell.said()), f"SELECT {', '.join(ages)}, 1 AS same"
    run_sql(shell, query, None, 1, as_json=True)
    assert [*SqlAnswer.model_validate_json(shell.said()[before:]).rows[0].values()] == [*ages.values(), 1]
    run_sql(shell, f"{query}, 2 AS same", None, 1)
    assert "+12026-01-31 12:00:00.5" in shell.said()
    assert lake.sql("SELECT DATE '+12026-01-31' AS far, 1 AS near") == [Row(far="+12026-01-31", near=1)]

    # The queries on the pages of Dagster run as they are.
    for copied in (*bronze_queries("layered"), *silver_queries("layered")):
        run_sql(shell, copied, None, 10)

    capfd.readouterr()
    with pytest.raises(ConfigurationError, match=r"bronze\.layered\b") as missing:
        run_sql(shell, "SELECT * FROM bronze.layerd", None, 1)
    assert "silver.layered" in str(missing.value)
    with pytest.raises(ConfigurationError) as unclear:
        run_sql(shell, "SELEC 1", None, 1)
    for error in (missing, unclear):
        assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", ""), "PySpark prints what it raises"

    # A table with an unreadable log does not affect other tables, although it is the first of them.
    lake.lake.store.births.ensure_birth(lake.key("layered_torn"), "layered_torn", registered=True)
    lake.put(f"a/_delta_log/{0:020d}.json", "no JSON")
    name_tables(Settings.from_environment())
    trouble = f"table {lake.key('layered_torn')} has no SQL names: "
    assert [record.getMessage().startswith(trouble) for record in caplog.records] == [True]
    with pytest.raises(ConfigurationError, match=r"Tables there are: .*bronze\.layered, ") as torn:
        run_sql(shell, "SELECT * FROM bronze.layered_torn", None, 1)
    assert f"; {trouble}" in str(torn.value)
    assert "\n" not in str(torn.value)
    folders = {folder: check_foreign(lake.lake.store, lake.bucket, [folder]).ok for folder in ("orders/", "a/")}
    assert folders == {"orders/": True, "a/": False}


def test_a_dead_spark_server_is_reported_at_once(
    tidegate_lake: Callable[..., TestLake],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shell: Shell,
) -> None:
    lake = tidegate_lake([])
    shell.use(lake)
    # The server was killed under a running platform, which restarts it.
    environ = {**lake.stack.environ, "TIDEGATE_LAKE": str(lake.path), "SPARK_REMOTE": "sc://localhost:1"}
    lock = StackLock(tmp_path)
    lock.acquire()
    write_stack(tmp_path, StackInfo(os.getpid(), {}, {}, {}, environ))
    with pytest.raises(ConfigurationError, match=rf"on {tmp_path} does not answer: the platform is restarting it"):
        run_sql(shell, "SELECT 1", tmp_path, 1)
    lock.release()
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    with pytest.raises(ConfigurationError, match=r"no Spark Connect server at sc://127\.0\.0\.1:1: .*tidegate up"):
        run_sql(shell, "SELECT 1", None, 1)
