"""Overwritten, removed and restored files of a loaded table whose rows follow them, in bronze and then in silver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.maintenance import compaction
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.testing import TestLake

STOCK = {
    "name": "stock",
    "prefix": "stock/",
    "mode": "load",
    "format": "csv",
    "columns": {"id": "int", "at": "int", "v": "double"},
    "on_overwrite": "replace",
    "on_removed": "delete",
    "silver": {"keys": ["id"], "order": "at", "every": 10},
}
A, B, C = "stock/a.csv", "stock/b.csv", "stock/c.csv"


def test_rows_follow_their_files_in_bronze_and_silver(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = compaction.EVERY
    monkeypatch.setattr(compaction, "EVERY", 1)
    lake = tidegate_lake([STOCK])

    def run(*late: str, listing: bool = False) -> Any:
        for key in late:
            kit.send(lake, kit.event(lake, key))
        lake.intake()
        (done,) = kit.run(lake, "stock", listing=listing)
        assert done.landed.outcome == "committed"
        return done.batch

    def rows() -> list[tuple[Any, ...]]:
        return kit.bronze(lake, "stock", "id, at, v")

    def merge() -> list[tuple[Any, ...]]:
        kit.merge(lake, "stock")
        return kit.silver(lake, "stock", "id, at, v")

    lake.put(A, "id,at,v\n1,1,1.5\n2,3,2.5\n")
    lake.put(B, "id,at,v\n2,2,2.2\n3,1,3.5\n")
    lake.put(C, "id,at,v\n9,1,9.5\n")
    run()
    assert merge() == [(1, 1, 1.5), (2, 3, 2.5), (3, 1, 3.5), (9, 1, 9.5)]
    assert kit.state(lake, "stock").files == 1, "the rows of all files are in one data file"
    monkeypatch.setattr(compaction, "EVERY", usual)

    staged: list[str] = []
    stage = Delta.stage
    monkeypatch.setattr(Delta, "stage", lambda self, *args: staged.append(args[1]) or stage(self, *args))
    lake.put(A, "id,at,v\n1,2,1.75\n4,1,4.5\n")
    batch = run(A)
    assert len(staged) == 1, "the data file has rows of other files"
    assert [(row.status, row.rows, row.removed_rows) for row in batch.rows][-1] == ("committed", 2, 2)
    assert (len(batch.removes), rows()) == (1, [(1, 2, 1.75), (2, 2, 2.2), (3, 1, 3.5), (4, 1, 4.5), (9, 1, 9.5)])
    assert merge() == rows(), "the row that decided a key is gone, and an older row decides it"

    lake.put(B, "id,at,v\ntwo,2,2.2\n")
    batch = run()
    assert batch.removes == ()
    (row,) = batch.rows
    assert row.status == "quarantined"
    assert (row.reason or "").endswith("; its earlier rows in the table stay")
    assert len(rows()) == 5

    lake.delete(A)
    batch = run(A)
    assert (len(staged), batch.adds, len(batch.removes)) == (1, (), 1), "no row of the data file stays: it is not read"
    assert sorted((str(row.status), row.etag, row.removed_rows) for row in batch.rows) == [
        ("duplicate", None, None), ("removed", None, 2),
    ]  # fmt: skip
    assert rows() == [(2, 2, 2.2), (3, 1, 3.5), (9, 1, 9.5)] == merge()
    assert trace(lake.lake, lake.bucket, A).verdict == "it is gone, and bronze.stock knows: its rows left with it"
    assert [str(row.status) for row in run(A).rows] == ["duplicate"], "a late event brings nothing back"

    lake.put(A, "id,at,v\n1,2,1.75\n4,1,4.5\n")
    assert [row.removed_rows for row in run().rows] == [None]
    assert rows() == [(1, 2, 1.75), (2, 2, 2.2), (3, 1, 3.5), (4, 1, 4.5), (9, 1, 9.5)] == merge()

    kit.configure(lake, on_removed="keep")
    lake.delete(C)
    assert [(str(row.status), row.removed_rows) for row in run().rows] == [("removed", None)]
    kit.configure(lake, on_removed="delete")
    lake.delete(B)
    batch = run(listing=True)
    assert {(row.key, row.removed_rows) for row in batch.rows if row.status == "removed"} == {(B, 2), (C, 1)}
    assert rows() == [(1, 2, 1.75), (4, 1, 4.5)] == merge()
    assert kit.run(lake, "stock") == []
