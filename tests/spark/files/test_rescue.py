"""`schema: rescue`: what no column takes is in `_rescued_data`, and no row is bad because of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from tests.spark.conftest import Shell
from tests.support.foreign.others import by_delta_rs, by_duckdb, copied_down
from tidegate.platform.cli.commands.rebuild import run_rebuild
from tidegate.platform.core.schema.column_types import Simple
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def _columns(lake: TestLake, kit: Any, table: str) -> list[str]:
    return [field.name for field in kit.state(lake, table).schema.fields if not field.name.startswith("_source")]


def test_a_policy_can_change_at_any_time_and_each_row_is_read_once(
    tidegate_lake: MakeLake,
    kit: Any,
    tmp_path: Path,
    shell: Shell,
) -> None:
    silver = {"keys": ["id"], "order": "at", "every": 60}
    lake = tidegate_lake([{"name": "events", "prefix": "events/", "format": "json", "silver": silver}])
    source = f"s3://{lake.bucket}/events"
    lake.put("events/1.json", '{"id": 1, "at": 1, "v": {"a": 1}}\n{"id": 2, "at": 1, "v": {"a": 2}}\n')
    kit.run(lake, "events")

    # From evolve to rescue: the column joins with the next batch, and nothing else does.
    kit.configure(lake, schema="rescue")
    assert kit.run(lake, "events") == [], "no file is read again"
    broken = '{"id": 4, "at": \n'
    lines = [
        '{"id": 2, "at": 2, "v": {"a": 2.50, "b": [1]}, "new": 1.10}',
        '{"id": 3, "at": "soon", "v": {"a": 3}}',
        '{"id": 5, "at": 1, "ID": 12345678901234567890}',
    ]
    lake.put("events/2.json", "\n".join(lines) + "\n" + broken)
    (second,) = kit.run(lake, "events")
    assert second.batch.evolve is not None
    assert _columns(lake, kit, "events")[-1] == "_rescued_data"
    path = f',"_file_path":"{source}/2.json"}}'
    expected = [
        (1, 1, 1, None),
        (2, 1, 2, None),
        (2, 2, None, '{"v":{"a":2.50,"b":[1]},"new":1.10' + path),
        (3, None, 3, '{"at":"soon"' + path),
        (5, 1, None, '{"ID":12345678901234567890' + path),
    ]
    assert kit.bronze(lake, "events", "id, at, v.a, _rescued_data") == expected
    assert [row["bad_rows"] for row in kit.ledger(lake, "events")] == [None, 1]
    kit.merge(lake, "events")
    merged = kit.silver(lake, "events", "id, get_json_object(_rescued_data, '$.v.b[0]')")
    assert merged == [(1, None), (2, "1"), (3, None), (5, None)]

    # A column that lake.yaml gets joins with the next batch, and a redrive replaces the rows of its file.
    kit.configure(lake, columns={"new": "decimal(9,2)"})
    choice = Choice(key="events/2.json")
    found = quarantined_objects(lake.lake, lake.key("events"), choice)
    redrive_objects(lake.lake, lake.key("events"), found, RedriveRequest("somebody", choice))
    (again,) = kit.run(lake, "events")
    assert (again.batch.evolve is not None, again.batch.rows[0].bad_rows) == (True, 1)
    rows = kit.bronze(lake, "events", "id, CAST(new AS STRING), _rescued_data LIKE '%new%'")
    assert set(rows) == {(1, None, None), (2, None, None), (2, "1.10", False), (3, None, False), (5, None, False)}

    # From rescue to evolve: the column stays, and a new field is a column again.
    kit.configure(lake, schema="evolve")
    assert kit.run(lake, "events") == [], "no file is read again"
    lake.put("events/3.json", '{"id": 6, "at": 1, "more": true}\n{"id": 7, "at": "soon"}\n')
    (third,) = kit.run(lake, "events")
    assert (third.batch.evolve is not None, third.batch.rows[0].bad_rows) == (True, 1)
    assert _columns(lake, kit, "events")[-2:] == ["new", "more"]
    assert kit.bronze(lake, "events", "count(*), count(_rescued_data), count(more)") == [(6, 3, 1)]

    # A rebuild reads every file as lake.yaml says today.
    shell.use(lake)
    kit.configure(lake, schema="rescue")
    run_rebuild(shell, "events", None, None, yes=True)
    kit.run(lake, "events", listing=False)
    assert kit.bronze(lake, "events", "id, at, get_json_object(_rescued_data, '$.at')")[-1] == (7, None, "soon")
    kit.merge(lake, "events")
    assert [row[0] for row in kit.silver(lake, "events", "id")] == [1, 2, 3, 5, 6, 7]

    # For other readers it is text.
    copy = copied_down(lake.clients, kit.location(lake, "events"), tmp_path)
    texts = {text for *_, text in kit.bronze(lake, "events", "id, _rescued_data") if text}
    assert {row["_rescued_data"] for row in by_delta_rs(copy) if row["_rescued_data"]} == texts
    assert {row["t"] for row in by_duckdb(copy, "_rescued_data AS t") if row["t"]} == texts
    assert set(pl.scan_delta(str(copy)).collect()["_rescued_data"].drop_nulls()) == texts
    assert all(json.loads(text)["_file_path"].startswith(source) for text in texts)


def test_a_table_is_born_with_the_columns_of_its_first_files(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake(
        [
            {"name": "a", "prefix": "a/", "format": "json", "schema": "rescue", "columns": {"id": "int"}},
            {"name": "b", "prefix": "b/", "format": "csv", "schema": "rescue", "columns": {"id": "int"}},
        ]
    )
    # The first object names the columns of lake.yaml only.
    lake.put("a/1.json", '{"id": 1}\n{"id": "x", "new": 1, "_rescued_data": 1}\n')
    lake.put("b/p=1/1.csv", "id,t\n1,a\nx,\n")
    kit.run(lake, "a")
    kit.run(lake, "b")
    assert _columns(lake, kit, "a")[2:] == ["id", "_rescued_data", "new"]
    assert _columns(lake, kit, "b")[2:] == ["id", "t", "_rescued_data", "p"]
    assert kit.state(lake, "a").schema.find_column("_rescued_data").type == Simple("string")
    rescued = kit.bronze(lake, "a", "id, new, _rescued_data")
    path = f'"_file_path":"s3://{lake.bucket}/a/1.json"}}'
    assert rescued == [(1, None, None), (None, 1, '{"id":"x","_rescued_data":1,' + path)]

    # Another header, a cell in several lines, and a row that has more cells than the header.
    lake.put("b/p=1/2.csv", 'extra,ID,t\n"1\n2",2,b\n,3,c\n7,4\n')
    (second,) = kit.run(lake, "b")
    assert (second.batch.evolve, second.batch.rows[0].bad_rows) == (None, 1)
    path = f'"_file_path":"s3://{lake.bucket}/b/p=1/2.csv"}}'
    found = kit.bronze(lake, "b", "t, id, _rescued_data")
    assert {("b", 2, '{"extra":"1\\n2",' + path), ("c", 3, None)} < set(found)
    # The text of a value, with all its digits.
    ids = kit.bronze(lake, "b", "from_json(_rescued_data, 'map<string,string>')['id'], p")
    assert sorted(ids, key=repr) == [("x", "1"), *[(None, "1")] * 3]
