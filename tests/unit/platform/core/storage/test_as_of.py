"""Which versions of a table of inventories have the inventories of a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.as_of import InventoriesRead, inventories_as_of
from tidegate.platform.core.storage.history import EnteredInventory, KeptPast

FIRST, LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)
NEVER = KeptPast(LONG_AGO, LONG_AGO)


def entered(bucket: str, day: int, n: int, rows: int = 1) -> EnteredInventory:
    began, recorded = date(2026, 1, 1) + timedelta(days=day), FIRST + timedelta(days=n)
    return EnteredInventory(Subject(bucket, "all"), began, n, 2 * n, recorded, rows)


def test_a_late_inventory_belongs_to_the_day_on_which_it_was_begun() -> None:
    some = [entered("a", 0, 1), entered("a", 1, 2), entered("b", 0, 3), entered("c", 2, 4)]
    assert inventories_as_of(some, date(2026, 1, 1), NEVER, 20) == [
        InventoriesRead(3, [some[0]]),
        InventoriesRead(20, [some[2]]),
    ]
    assert inventories_as_of(some, date(2026, 1, 2), NEVER, 20) == [InventoriesRead(20, [some[1], some[2]])]


def test_an_empty_inventory_replaces_the_one_before_and_needs_no_version() -> None:
    some = [entered("a", 0, 1), entered("a", 1, 2, rows=0)]
    assert inventories_as_of(some, date(2026, 1, 2), NEVER, 4) == []
    gone = [*some, entered("a", 2, 3)]
    assert inventories_as_of(gone, date(2026, 1, 2), KeptPast(FIRST + timedelta(days=9), LONG_AGO), 6) == []


def test_a_day_that_the_table_cannot_show_is_refused_with_the_first_that_it_can() -> None:
    some = [entered("a", 0, 1), entered("b", 0, 1), entered("a", 5, 2), entered("b", 6, 3), entered("a", 7, 4)]
    with pytest.raises(InventoryError, match="no inventory of 2025-12-31 or before is known: ask for 2026-01-01 or"):
        inventories_as_of(some, date(2025, 12, 31), NEVER, 8)
    with pytest.raises(InventoryError, match="is known yet"):
        inventories_as_of([], date(2025, 12, 31), NEVER, 8)
    kept = KeptPast(FIRST + timedelta(days=2, hours=1), LONG_AGO)
    with pytest.raises(InventoryError, match=r"of a by configuration all of 2026-01-01 .* ask for 2026-01-06 or later"):
        inventories_as_of(some, date(2026, 1, 5), kept, 8)
    assert [read.version for read in inventories_as_of(some, date(2026, 1, 6), kept, 8)] == [5]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 2)), min_size=1), st.integers(0, 40))
def test_each_inventory_of_a_day_is_read_once_at_a_version_that_has_it(
    deliveries: list[tuple[int, int, int]], asked: int
) -> None:
    """Days of a bucket only grow. Those of another bucket may come before or after."""
    days: dict[int, int] = {}
    some = []
    for n, (bucket, gap, rows) in enumerate(deliveries, 1):
        days[bucket] = days.get(bucket, -1) + 1 + gap
        some.append(entered(f"b{bucket}", days[bucket], n, rows))
    day = date(2026, 1, 1) + timedelta(days=asked)
    expected = {}
    for one in some:
        if one.day <= day:
            expected[one.subject] = one
    if not expected:
        return
    present = 2 * len(some) + 3
    reads = inventories_as_of(some, day, NEVER, present)
    found = [one for read in reads for one in read.inventories]
    assert sorted(found, key=lambda one: one.n) == sorted(
        (one for one in expected.values() if one.rows), key=lambda one: one.n
    )
    for read in reads:
        for one in read.inventories:
            later = [other.version for other in some if other.subject == one.subject and other.n > one.n]
            assert one.version <= read.version < min(later, default=present + 1)
