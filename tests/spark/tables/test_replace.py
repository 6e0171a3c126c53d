"""A redriven file with quarantined rows replaces its rows in one commit, in bronze and then in silver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.spark.conftest import Shell
from tidegate.platform.cli.commands.redrive import Kind, build_choice, run_redrive
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.maintenance import compaction
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
SALES = {
    "name": "sales",
    "prefix": "sales/",
    "format": "csv",
    "columns": {"id": "int", "at": "int", "v": "double"},
    "silver": {"keys": ["id"], "order": "at", "every": 10},
}


def _redrive(lake: TestLake, key: str = "*") -> int:
    table_key, choice = lake.key("sales"), Choice(key=f"sales/{key}")
    found = quarantined_objects(lake.lake, table_key, choice)
    redrive_objects(lake.lake, table_key, found, RedriveRequest("somebody", choice))
    return len(found)


def test_a_redriven_file_replaces_its_rows_in_one_commit(
    tidegate_lake: MakeLake,
    kit: Any,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = compaction.EVERY
    monkeypatch.setattr(compaction, "EVERY", 1)
    lake = tidegate_lake([SALES])
    lake.put("sales/good.csv", "id,at,v\n1,1,1.5\n2,1,2.5\n")
    # With a decimal comma, the second row of this file fits and the first row does not.
    lake.put("sales/odd.csv", 'id,at,v\n2,2,1.234\n3,2,"3,5"\n')
    lake.put("sales/worse.csv", "id,at,v\n5,1,5.5\n6,1,six\n")
    kit.run(lake, "sales")
    kit.merge(lake, "sales")
    columns = "id, at, v, regexp_extract(_source_path, '[^/]+$', 0), _batch, _ingested_at"
    before = kit.bronze(lake, "sales", columns)
    assert [row[:3] for row in before] == [(1, 1, 1.5), (2, 1, 2.5), (2, 2, 1.234), (5, 1, 5.5)]
    assert kit.run(lake, "sales") == [], "a listing has nothing new"
    assert kit.state(lake, "sales").files == 1, "the run compacted the table: the rows of all files lie side by side"
    monkeypatch.setattr(compaction, "EVERY", usual)
    kit.configure(lake, csv={"decimal": ","})
    shell.use(lake)
    run_redrive(shell, Kind.OBJECTS, "sales", build_choice("", "*/odd.csv", "", ""), None, None, rate=9, yes=False)
    assert "1 partly in quarantine: they are read again" in shell.said()
    assert "sales/odd.csv  1 of its 2 rows do not fit the table" in shell.said()
    run_redrive(shell, Kind.OBJECTS, "sales", build_choice("", "*/odd.csv", "", ""), None, None, rate=9, yes=True)
    (done,) = kit.run(lake, "sales", listing=False)

    assert (done.landed.outcome, done.batch.n, len(done.batch.removes)) == ("committed", 2, 1)
    assert done.batch.counts() == {"committed": 1}
    assert (done.batch.rows[0].rows, done.batch.rows[0].bad_rows) == (1, 1)
    now = kit.bronze(lake, "sales", columns)
    others = [row for row in before if row[3] != "odd.csv"]
    assert [row for row in now if row[3] != "odd.csv"] == others, "rows of other files are as they were"
    assert [row[:3] + row[4:5] for row in now if row[3] == "odd.csv"] == [(3, 2, 3.5, 2)]
    SqlNames(lake.lake).name_tables()

    def quarantined_rows() -> set[tuple[str, str]]:
        query = "SELECT key, raw FROM lake.quarantine WHERE kind = 'row' AND table_name = 'sales'"
        found = [(row["key"].removeprefix("sales/"), row["raw"]) for row in kit.query(lake, query)]
        assert len(found) == len(set(found)), "a row is shown twice"
        return set(found)

    assert quarantined_rows() == {("odd.csv", "2,2,1.234"), ("worse.csv", "6,1,six")}
    merged = kit.merge(lake, "sales")
    assert merged.why_full == "rows of files were replaced in bronze, or left it"
    # The older row of a key is visible again, because the newer row was wrong.
    assert kit.silver(lake, "sales", "id, at, v, _changed_batch") == [
        (1, 1, 1.5, 1), (2, 1, 2.5, 1), (3, 2, 3.5, 2), (5, 1, 5.5, 1)
    ]  # fmt: skip
    assert kit.merge(lake, "sales") is None

    # A file that is now refused as a whole keeps its rows, and can be redriven again.
    kit.configure(lake, csv={}, format="json")
    assert _redrive(lake, "worse.csv") == 1
    (done,) = kit.run(lake, "sales", listing=False)
    assert (done.batch.adds, done.batch.removes) == ((), ())
    status, reason = kit.fate(lake, "sales")["worse.csv"]
    assert (status, reason[:25]) == ("quarantined", "read again, and refused: ")
    assert reason.endswith("its rows in the table stay")
    assert kit.bronze(lake, "sales", columns) == now
    assert quarantined_rows() == {("odd.csv", "2,2,1.234"), ("worse.csv", "6,1,six")}

    # Both files are redriven with the first settings, one of them twice. An event of that file reports nothing new.
    kit.configure(lake, format="csv")
    assert _redrive(lake) == 2
    assert _redrive(lake, "odd.csv") == 1
    kit.send(lake, kit.event(lake, "sales/odd.csv"))
    lake.intake()
    (done,) = kit.run(lake, "sales", listing=False)
    assert done.batch.counts()["committed"] == 2
    assert [row[:4] for row in kit.bronze(lake, "sales", columns)] == [row[:4] for row in before]
    assert quarantined_rows() == {("odd.csv", '3,2,"3,5"'), ("worse.csv", "6,1,six")}
    kit.merge(lake, "sales")
    assert kit.silver(lake, "sales", "id, at, v") == [(1, 1, 1.5), (2, 2, 1.234), (5, 1, 5.5)]
