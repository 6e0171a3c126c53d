"""Folders of quarantined rows that no row of the ledger names are removed, whatever becomes of their preparation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.bronze.prepare.load.load import Load
from tidegate.platform.bronze.prepare.rows_folders import keep_named_folders
from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.store import LakeStore


@pytest.fixture
def table() -> Any:
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    return SimpleNamespace(lake=SimpleNamespace(store=store), objects=store.objects)


def _folders(table: Any, *names: str) -> list[str]:
    folders = [table.lake.store.uri("quarantine", "rows", "t", name) for name in names]
    for name in names:
        for place in ("00000.json", "00000-00001.json"):
            table.objects.put("lake", f"root/quarantine/rows/t/{name}/{place}", "{}")
    return folders


def test_only_folders_that_rows_name_are_kept(table: Any) -> None:
    prepared = PreparedBatch()
    prepared.folders = _folders(table, "named", "failed", "never")
    named, *_ = prepared.folders
    rows = [LedgerRow("a", Status.QUARANTINED, bad_rows_folder=named), LedgerRow("b", Status.COMMITTED)]
    keep_named_folders(table, prepared, rows)
    assert prepared.folders == [named]
    assert {key.split("/")[4] for key in table.objects.bodies} == {"named"}


@pytest.mark.parametrize("s3_fails", [False, True])
def test_a_preparation_that_fails_leaves_no_rows_and_its_own_error(table: Any, s3_fails: bool) -> None:
    """A task completes objects before it ends, so a read that fails has complete objects, too."""

    class Failing(Load):
        def _run(self) -> PreparedBatch:
            self.prepared.folders += _folders(table, "one", "other")
            if s3_fails:
                table.lake.store.remove_folder = self._fail
            raise RuntimeError("the server is gone")

        def _fail(self, folder: str) -> None:
            raise StoreError("503")

    load = Failing.__new__(Failing)
    load.table, load.prepared = table, PreparedBatch()
    with pytest.raises(RuntimeError, match="the server is gone"):
        load.run()
    assert bool(table.objects.bodies) is s3_fails
