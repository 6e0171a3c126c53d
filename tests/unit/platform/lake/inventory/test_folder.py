"""Which inventory replaces a listing of a table's folder: the newest that has all of it and is young enough."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.lake.inventory.folder import FolderInventory, newest_usable_inventory

DAY = 86_400
NOW = 1_800_000_000
DAILY = FolderInventory("daily", NOW - DAY, log_files=2, files=5, described=5)
WEEKLY = replace(DAILY, configuration="weekly", created=NOW - 6 * DAY)


def test_the_newest_inventory_of_the_whole_folder_is_used() -> None:
    assert newest_usable_inventory([WEEKLY, DAILY], "lake", NOW) == DAILY
    # By a configuration with the prefix of a part of the folder, or of another table.
    for part in (replace(DAILY, log_files=0), replace(DAILY, files=0, described=0)):
        assert newest_usable_inventory([part, WEEKLY], "lake", NOW) == WEEKLY
        with pytest.raises(InventoryError, match="no inventory of lake lists the table"):
            newest_usable_inventory([part], "lake", NOW)


def test_an_old_inventory_and_one_without_times_or_sizes_are_refused_with_the_reason() -> None:
    old = replace(DAILY, created=NOW - 9 * DAY)
    assert newest_usable_inventory([old], "lake", NOW) == old
    with pytest.raises(InventoryError, match=re.escape("lake is of 2027-01-06 08:00 UTC, 9 days old")):
        newest_usable_inventory([old], "lake", NOW + 1)
    with pytest.raises(InventoryError, match="by configuration daily has no Size or LastModifiedDate"):
        newest_usable_inventory([replace(DAILY, described=4), WEEKLY], "lake", NOW)
