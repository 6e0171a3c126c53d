"""What happens to a table when files bring new columns or odd names, are refused at first, or are copied."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from typing import Any

import pyarrow as pa
import pytest

from tests.support.lakes.seams import Standing, seams_watched
from tidegate.platform.core.errors import DataError
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def test_new_columns_of_registered_files_join_the_table_and_silver(tidegate_lake: MakeLake, kit: Any) -> None:
    silver = {"keys": ["Order ID"], "order": "at", "every": 60}
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "silver": silver}])
    lake.put("orders/a.parquet", kit.parquet([{"Order ID": 1, "at": 1, "who": {"name": "x"}}]))
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    lake.put("orders/b.parquet", kit.parquet([{"at": 2, "order id": 2, "who": {"name": "y", "a (b)": 7}, "n=1": True}]))
    (done,) = kit.run(lake, "orders")
    assert done.batch.evolve is not None
    rows = [(1, 1, "x", None, None), (2, 2, "y", 7, True)]
    columns = "`Order ID`, at, who.name, who.`a (b)`, `n=1`"
    assert kit.bronze(lake, "orders", columns) == rows
    kit.merge(lake, "orders")
    assert kit.silver(lake, "orders", columns) == rows
    # The bounds are recorded under the names in the files, so a selective query finds each row.
    assert kit.query(lake, "SELECT at FROM {t} WHERE `Order ID` = 2", t=kit.location(lake, "orders")) == [(2,)]


def test_new_columns_of_loaded_files_join_the_table_and_a_strict_one_refuses_them(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake(
        [{"name": "items", "prefix": "items/"}, {"name": "fixed", "prefix": "fixed/", "schema": "strict"}],
        discovery=False,
    )
    for table in ("items", "fixed"):
        lake.put(f"{table}/a.json", kit.lines({"id": 1, "p": {"x": 1}}))
        kit.run(lake, table)
        lake.put(f"{table}/b.json", kit.lines({"id": 2, "p": {"x": 2, "y.z": "deep"}, "new (x)": 0.5}))
        lake.put(f"{table}/c.csv", "id,day\n3,2026-01-01\n")
        lake.put(f"{table}/d.csv", "id,junk\n4\n5\n")  # none of its rows can enter
        kit.run(lake, table)
    assert kit.bronze(lake, "items", "id, p.x, p.`y.z`, `new (x)`, CAST(day AS string)") == [
        (1, 1, None, None, None),
        (2, 2, "deep", 0.5, None),
        (3, None, None, None, "2026-01-01"),
    ]
    assert "junk" not in kit.state(lake, "items").schema.spelling
    assert kit.bronze(lake, "fixed", "id, p.x") == [(1, 1)]
    fate = kit.fate(lake, "fixed")
    assert "fields that are not in the table, and its `schema` in lake.yaml is strict: " in fate["b.json"][1]
    assert fate["c.csv"][1] == "column day is not in the table, and its `schema` in lake.yaml is strict"


@pytest.mark.parametrize("table", ["registered", "loaded"])
def test_a_table_is_born_by_its_first_good_file_and_refused_ones_shape_nothing(
    tidegate_lake: MakeLake, kit: Any, table: str
) -> None:
    lake = tidegate_lake(
        [{"name": "registered", "prefix": "registered/"}, {"name": "loaded", "prefix": "loaded/", "mode": "load"}]
    )
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "A"])
    lake.put(f"{table}/1.parquet", kit.parquet(twice))
    (done,) = kit.run(lake, table)
    assert (done.landed.version, done.batch.create) == (-1, None)
    assert kit.fate(lake, table)["1.parquet"][0] == "quarantined"
    assert not kit.state(lake, table).exists
    lake.put(f"{table}/2.parquet", b"PAR1 neither")
    lake.put(f"{table}/3.parquet", kit.parquet([{"b": "x"}]))
    (done,) = kit.run(lake, table)
    assert (done.batch.n, done.landed.version) == (2, 0)
    assert kit.bronze(lake, table, "b") == [("x",)]
    lake.put(f"{table}/4.parquet", kit.parquet([{"b": "y"}]))
    kit.run(lake, table)
    assert kit.bronze(lake, table, "b") == [("x",), ("y",)]


def test_a_run_that_slept_since_before_the_birth_changes_nothing(tidegate_lake: MakeLake, kit: Any) -> None:
    """Its batch records that it has nothing to commit. The run never checks whether a table exists by now."""
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    lake.put("orders/bad.parquet", b"PAR1 neither")
    with seams_watched():
        sleeper = Standing("decide", lambda: kit.run(lake, "orders"))
        sleeper.wait_reached()
        lake.put("orders/good.parquet", kit.parquet([{"id": 1}]))
        assert [result.landed.version for _ in range(2) for result in kit.run(lake, "orders")] == [-1, 0]
        sleeper.resume()
        sleeper.finished()
    assert kit.bronze(lake, "orders") == [(1,)]
    assert len(kit.ledger(lake, "orders")) == 2
    assert kit.state(lake, "orders").version == 0
    assert kit.run(lake, "orders") == []


def test_a_copy_leaves_the_table_with_its_source(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "shifts", "prefix": "shifts/"}])
    for number in (1, 2):
        lake.put(f"shifts/{number}.parquet", kit.parquet(pa.table({"id": [number], "at": [time(9, number)]})))
    kit.run(lake, "shifts")
    assert kit.bronze(lake, "shifts") == [(1, "09:01:00"), (2, "09:02:00")]
    lake.delete("shifts/1.parquet")
    (done,) = kit.run(lake, "shifts")
    assert done.batch.counts() == {"removed": 1}
    assert kit.bronze(lake, "shifts") == [(2, "09:02:00")]
    # The folder of the copies is not a source, so the run finds no more files.
    assert kit.run(lake, "shifts") == []


#: Statements that a user runs on a table that maps no columns yet.
_MAPPED = (
    "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
    "'delta.minWriterVersion' = '5')"
)


def test_a_column_that_was_dropped_or_renamed_comes_back_as_another_one(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "loaded", "prefix": "loaded/"}, {"name": "registered", "prefix": "registered/"}])
    old = {"id": 1, "ssn": "111-SECRET", "a": "x", "p": {"q": "old", "r": 1}}
    lake.put("loaded/1.json", kit.lines(old))
    lake.put("registered/1.parquet", kit.parquet([old]))
    for table in ("loaded", "registered"):
        kit.run(lake, table)
        for statement in (_MAPPED, "ALTER TABLE {t} DROP COLUMNS (ssn, p.q)"):
            kit.query(lake, statement, t=kit.location(lake, table))
    kit.query(lake, "ALTER TABLE {t} RENAME COLUMN a TO b", t=kit.location(lake, "loaded"))

    # Loaded: each has a name in the data files that no older file has, so another type is not trouble either.
    lake.put("loaded/2.json", kit.lines({"id": 2, "ssn": 222, "a": 0.5, "b": "z", "p": {"q": True}, "c": "first"}))
    lake.put("loaded/3.json", kit.lines({"id": 3, "ssn": 333, "b": "w"}))
    kit.run(lake, "loaded")
    assert kit.bronze(lake, "loaded", "id, ssn, a, b, p.q, c") == [
        (1, None, None, "x", None, None),
        (2, 222, 0.5, "z", True, "first"),
        (3, 333, None, "w", None, None),
    ]
    ids = [field.id for field in kit.state(lake, "loaded").schema.fields]
    assert len(set(ids)) == len(ids)

    # Registered: the names in the files are the producer's, so a file with the old name is refused, and no other file.
    # A table of an earlier version did not record its names, and its log still has them.
    kit.query(lake, "ALTER TABLE {t} UNSET TBLPROPERTIES ('tidegate.columns')", t=kit.location(lake, "registered"))
    lake.put("registered/2.parquet", kit.parquet([{"id": 2, "ssn": "222"}]))
    lake.put("registered/3.parquet", kit.parquet([{"id": 3, "a": "y", "c": 1}]))
    lake.put("registered/4.parquet", kit.parquet([{"id": 4, "p": {"q": "new"}}]))
    kit.run(lake, "registered")
    assert kit.bronze(lake, "registered", "id, a, p.r, c") == [(1, "x", 1, None), (3, "y", None, 1)]
    fate = kit.fate(lake, "registered")
    for name, column in (("2.parquet", "ssn"), ("4.parquet", r"p\.q")):
        assert fate[name][0] == "quarantined"
        assert re.match(f"column {column} was dropped from the table or renamed, and its older files", fate[name][1])

    # From then on it needs no log of the past, which ends at a checkpoint here.
    checkpoints = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')"
    kit.query(lake, checkpoints, t=kit.location(lake, "registered"))
    kit.query(lake, checkpoints, t=kit.location(lake, "registered"))
    lake.delete("registered/_delta_log/00000000000000000000.json")
    lake.put("registered/2b.parquet", kit.parquet([{"id": 2, "ssn": "222"}]))
    kit.run(lake, "registered")
    assert re.match("column ssn was dropped", kit.fate(lake, "registered")["2b.parquet"][1])
    recorded = kit.state(lake, "registered").properties["tidegate.columns"]
    kit.query(lake, "ALTER TABLE {t} UNSET TBLPROPERTIES ('tidegate.columns')", t=kit.location(lake, "registered"))
    lake.put("registered/2c.parquet", kit.parquet([{"id": 2, "ssn": "222"}]))
    with pytest.raises(DataError, match=r"bronze\.registered had columns once .*, and its log no longer names them"):
        kit.run(lake, "registered")
    named = "ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.columns' = '" + recorded + "')"
    kit.query(lake, named, t=kit.location(lake, "registered"))
    kit.run(lake, "registered")
    assert re.match("column ssn was dropped", kit.fate(lake, "registered")["2c.parquet"][1])

    kit.query(lake, "ALTER TABLE {t} RENAME COLUMN a TO b", t=kit.location(lake, "registered"))
    lake.put("registered/5.parquet", kit.parquet([{"id": 5, "a": "z"}]))
    with pytest.raises(DataError, match=r"column b of bronze\.registered is a in data files, .*: rename it back"):
        kit.run(lake, "registered")
    kit.query(lake, "ALTER TABLE {t} RENAME COLUMN b TO a", t=kit.location(lake, "registered"))
    kit.run(lake, "registered")
    assert kit.bronze(lake, "registered", "id, a")[-1] == (5, "z")
