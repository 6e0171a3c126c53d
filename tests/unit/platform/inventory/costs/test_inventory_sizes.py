"""Which inventories give the bytes of a table's folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tidegate.platform.inventory.costs.inventory_sizes import ListedFolder, usable_sizes
from tidegate.platform.lake.inventory.folder import FolderInventory

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def listed(days: float, log_files: int, files: int, described: int, size: int, name: str = "all") -> ListedFolder:
    created = int((NOW - timedelta(days=days)).timestamp())
    return ListedFolder("s3a://lake/bronze/a", FolderInventory(name, created, log_files, files, described), size)


@pytest.mark.parametrize(
    ("folder", "size"),
    [
        (listed(9, 2, 3, 3, 70), 70),
        (listed(9.1, 2, 3, 3, 70), None),  # an inventory of last month is not "now"
        (listed(1, 2, 3, 0, 0), None),  # without the field Size
        (listed(1, 0, 3, 3, 70), None),  # of a prefix below the folder, which has no log
        (listed(1, 2, 0, 0, 70), None),  # of the log only
    ],
)
def test_only_a_new_inventory_of_the_whole_folder_with_sizes_counts(folder: ListedFolder, size: int | None) -> None:
    assert usable_sizes([folder], NOW).get("s3a://lake/bronze/a") == size


def test_the_newest_inventory_counts_even_if_an_older_one_has_more_bytes() -> None:
    some = [listed(2, 2, 3, 3, 90), listed(1, 2, 3, 3, 70, "other"), listed(0.5, 0, 3, 3, 5, "part")]
    assert usable_sizes(some, NOW) == {"s3a://lake/bronze/a": 70}
    assert usable_sizes(reversed(some), NOW) == {"s3a://lake/bronze/a": 70}
    assert usable_sizes([], NOW) == {}
