"""Columns that join, files that only one reader can read, rows that break a rule. None of them stops a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.corrupt_parquet import by_a_library_that_miscounts, that_only_arrow_reads
from tidegate.platform.core.errors import DataError
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
NOON = datetime(2026, 1, 2, 12, 0, 0, 7)


def test_times_without_a_zone_join_bronze_and_silver_and_open_a_table_that_started_over(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    silver = {"keys": ["id"], "order": "id", "every": 60}
    declared = {"id": "bigint", "at": "timestamp_ntz"}
    lake = tidegate_lake(
        [
            {"name": "reg", "prefix": "reg/", "silver": silver},
            {"name": "load", "prefix": "load/", "mode": "load", "silver": silver},
            {"name": "said", "prefix": "said/", "format": "json", "columns": declared},
        ]
    )
    for table in ("reg", "load"):
        lake.put(f"{table}/a.parquet", kit.parquet([{"id": 1, "in": {"x": 1}}]))
        kit.run(lake, table)
        kit.merge(lake, table)
        lake.put(f"{table}/b.parquet", kit.parquet([{"id": 2, "at": NOON, "in": {"x": 2, "at": NOON}, "all": [NOON]}]))
        kit.run(lake, table)
        kit.merge(lake, table)
        rows = [(1, None, None, None), (2, NOON, NOON, [NOON])]
        assert kit.bronze(lake, table, "id, at, in.at, all") == rows
        assert kit.silver(lake, table, "id, at, in.at, all") == rows
        SqlNames(lake.lake).name_table(lake.key(table))
        assert [tuple(row) for row in lake.sql(f"SELECT id, at FROM silver.{table} WHERE id = 2")] == [(2, NOON)]
    lake.put("said/a.json", kit.lines({"id": 1, "at": "2026-01-02T12:00:00.000007"}))
    kit.run(lake, "said")
    reset_table(lake.lake, lake.key("said"), by="somebody")
    kit.run(lake, "said")
    assert kit.bronze(lake, "said", "id, at") == [(1, NOON)]


@pytest.mark.parametrize("kind", ["register", "load", "json", "csv"])
def test_columns_that_delta_refuses_keep_only_their_own_file_out(kind: str, tidegate_lake: MakeLake, kit: Any) -> None:
    mode = {"mode": kind} if kind in ("register", "load") else {"format": kind}
    lake = tidegate_lake([{"name": "t", "prefix": "t/", **mode}])

    def put(name: str, row: dict[str, Any]) -> None:
        text = {
            "json": lambda: kit.lines(row),
            "csv": lambda: "\n".join(",".join(map(str, line)) for line in (row.keys(), row.values())) + "\n",
        }
        lake.put(f"t/{name}", text.get(kind, lambda: kit.parquet([row]))())

    ending = kind if kind in ("json", "csv") else "parquet"
    put(f"a.{ending}", {"id": 1})
    kit.run(lake, "t")
    kit.query(
        lake, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", t=kit.location(lake, "t")
    )
    put(f"b.{ending}", {"id": 2, "_change_type": "insert"})
    put(f"c.{ending}", {"id": 3, "note": "new"})
    put(f"d.{ending}", {"id": 4})
    kit.run(lake, "t")
    assert kit.bronze(lake, "t", "id, note") == [(1, None), (3, "new"), (4, None)]
    status, reason = kit.fate(lake, "t")[f"b.{ending}"]
    assert status == "quarantined"
    assert "Delta does not take the columns: " in reason
    assert "write them under other names" in reason


def test_a_row_that_breaks_a_rule_of_the_table_keeps_only_its_own_file_out(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "t", "prefix": "t/", "format": "json", "columns": {"id": "int", "v": "string"}}])
    lake.put("t/a.json", kit.lines({"id": 1, "v": "a"}))
    kit.run(lake, "t")
    kit.query(lake, "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)", t=kit.location(lake, "t"))
    for id, v in ((2, "b"), (0, "c"), (4, "d")):
        lake.put(f"t/{id}.json", kit.lines({"id": id, "v": v}))
    kit.run(lake, "t")
    assert kit.bronze(lake, "t", "id") == [(1,), (2,), (4,)]
    status, reason = kit.fate(lake, "t")["0.json"]
    assert status == "quarantined"
    assert reason.startswith(
        "a row of it breaks a rule of the table: CHECK constraint positive (id > 0) violated by row"
    )


def test_a_file_that_one_reader_alone_can_read_enters_as_that_reader_s_copy(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "reg", "prefix": "reg/"}, {"name": "load", "prefix": "load/", "mode": "load"}])
    values = pa.table({"id": list(range(10)) * 10, "name": ["a", "b"] * 50})
    odd = {"load/odd.parquet": that_only_arrow_reads(kit.parquet([{"id": 7, "name": "odd"}], compression="none"))}
    for table in ("reg", "load"):
        lake.put(f"{table}/good.parquet", kit.parquet([{"id": 1, "name": "good"}]))
        lake.put(f"{table}/short.parquet", by_a_library_that_miscounts(values))
        for key, body in odd.items():
            if key.startswith(table):
                lake.put(key, body)
        lake.put(f"{table}/good too.parquet", kit.parquet([{"id": 2, "name": "good"}]))
        kit.run(lake, table)
        assert {status for status, _ in kit.fate(lake, table).values()} == {"committed"}
        counted = kit.bronze(lake, table, "count(*), count_if(name = 'good'), count_if(name IN ('a', 'b'))")
        assert counted == [(102 + (table == "load"), 2, 100)]


def test_batches_of_a_table_of_many_columns_have_bounds(tidegate_lake: MakeLake, kit: Any) -> None:
    columns = {f"c{n}": "int" for n in range(40)}
    lake = tidegate_lake([{"name": "wide", "prefix": "wide/", "format": "json", "columns": columns}])
    lake.put("wide/a.json", kit.lines({"c0": 1, "c39": 2}))
    (done,) = kit.run(lake, "wide")
    (add,) = done.batch.adds
    stats = json.loads(add.stats or "{}")
    assert (stats["minValues"]["_batch"], stats["maxValues"]["_batch"]) == (1, 1)
    assert kit.bronze(lake, "wide", "c0, c39, _batch") == [(1, 2, 1)]


def test_a_table_that_is_append_only_says_so_before_a_removal_is_decided(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "t", "prefix": "t/"}])
    lake.put("t/a.parquet", kit.parquet([{"id": 1, "at": datetime(2026, 1, 2, tzinfo=UTC)}]))
    kit.run(lake, "t")
    table = kit.location(lake, "t")
    kit.query(lake, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'true')", t=table)
    lake.delete("t/a.parquet")
    with pytest.raises(PySparkException, match=r"TIDEGATE_SETTING.*UNSET TBLPROPERTIES"):
        kit.run(lake, "t")
    assert lake.lake.table(lake.key("t")).batches.read(2) is None
    kit.query(lake, "ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.appendOnly')", t=table)
    (done,) = kit.run(lake, "t")
    assert done.batch.counts() == {"removed": 1}


def test_a_feature_whose_rules_no_commit_serves_stops_the_table_by_name(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "t", "prefix": "t/"}])
    lake.put("t/a.parquet", kit.parquet([{"id": 1}]))
    kit.run(lake, "t")
    table = kit.location(lake, "t")
    feature = "materializePartitionColumns"
    kit.query(lake, f"ALTER TABLE {{t}} SET TBLPROPERTIES ('delta.feature.{feature}' = 'supported')", t=table)
    lake.put("t/b.parquet", kit.parquet([{"id": 2}]))
    with pytest.raises(DataError, match=r"^bronze\.t has the table feature materializePartitionColumns.*DROP FEATURE"):
        kit.run(lake, "t")
    assert lake.lake.table(lake.key("t")).batches.read(2) is None
    kit.query(lake, f"ALTER TABLE {{t}} DROP FEATURE {feature}", t=table)
    kit.run(lake, "t")
    assert kit.bronze(lake, "t", "count(*)") == [(2,)]
