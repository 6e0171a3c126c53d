"""Where maintenance looks for files: an inventory if lake.yaml names one and the table is large, else a listing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.config.lake import MaintainSpec
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.inventory.folder import FolderInventory
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.maintenance import file_source as module
from tidegate.platform.maintenance.file_source import MIN_FILES, FileSource, file_source

ORDERS, CREATED = "s3a://lake/root/bronze/landing.orders", 1_800_000_000


def lake_of(inventory: str | None = "objects", *, born: bool = True) -> Any:
    spec = SimpleNamespace(name="objects", table_key=TableKey("inventories", "inventory/"))
    birth = SimpleNamespace(location="s3a://lake/root/bronze/inventories") if born else None
    return SimpleNamespace(
        config=SimpleNamespace(maintenance=MaintainSpec(inventory=inventory), tables=[spec]),
        store=LakeRoot(None, "s3://lake/root"),  # type: ignore[arg-type]
        table=lambda key: SimpleNamespace(birth=birth),
        delta=SimpleNamespace(session="session", table_state=lambda _: SimpleNamespace(exists=True, version=7)),
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the folders that inventories are asked about. They list it."""
    folders: list[tuple[str, str]] = []

    def objects(session: str, location: str, version: int, bucket: str, folder: str) -> str:
        assert (location, version) == ("s3a://lake/root/bronze/inventories", 7)
        folders.append((bucket, folder))
        return "objects"

    monkeypatch.setattr(module, "folder_objects", objects)
    monkeypatch.setattr(module, "folder_inventories", lambda _: [FolderInventory("daily", CREATED, 1, 1, 1)])
    monkeypatch.setattr(module, "vacuum_inventory", lambda objects, item: (objects, item.configuration))
    return folders


def test_a_large_table_is_looked_up_in_the_newest_inventory_of_its_own_folder(asked: list[tuple[str, str]]) -> None:
    found = file_source(lake_of(), ORDERS, MIN_FILES, CREATED)
    assert (found.inventory, found.note) == (("objects", "daily"), "from the inventory of 2027-01-15 08:00 UTC")
    assert asked == [("lake", "root/bronze/landing.orders/")]


def test_a_small_table_and_a_lake_that_names_no_inventory_are_listed(asked: list[tuple[str, str]]) -> None:
    assert file_source(lake_of(), ORDERS, MIN_FILES - 1, CREATED) == FileSource()
    assert file_source(lake_of(None), ORDERS, MIN_FILES, CREATED) == FileSource()
    assert asked == []


def test_a_listing_has_its_reason_if_no_inventory_can_be_used(asked: list[tuple[str, str]]) -> None:
    assert file_source(lake_of(born=False), ORDERS, MIN_FILES, CREATED) == FileSource(
        note="from a listing, because objects has no inventories yet"
    )
    late = file_source(lake_of(), ORDERS, MIN_FILES, CREATED + 20 * 86_400)
    assert late.inventory is None
    assert late.note.startswith("from a listing, because the newest inventory of lake is of 2027-01-15 08:00 UTC, 20 d")
