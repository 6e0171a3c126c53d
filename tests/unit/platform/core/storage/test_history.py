"""Which versions of a table of inventories are read for its history, and what is kept of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.growth import StoredDay
from tidegate.platform.core.storage.history import (
    MAX_READS,
    EnteredInventory,
    HistoryPart,
    InventoriesRead,
    KeptPast,
    StoredHistory,
    VersionRead,
    history_parts,
    inventories_as_of,
)

FIRST, LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC)
NEVER = KeptPast(LONG_AGO, LONG_AGO)


def entered(bucket: str, n: int, rows: int = 1, version: int | None = None) -> EnteredInventory:
    time = FIRST + timedelta(days=n)
    return EnteredInventory(Subject(bucket, "all"), time.date(), n, n if version is None else version, time, rows)


def test_one_version_is_read_for_all_batches_whose_inventories_it_has() -> None:
    some = [entered(bucket, n, version=2 * n) for n, bucket in enumerate("abcab", 1)]
    (part,) = history_parts(some, NEVER, 30)
    assert part.reads == [VersionRead(7, 1, 3), VersionRead(30, 4, 5)]
    assert (part.last, part.inventories, part.known_from) == (5, some, None)
    assert history_parts([], NEVER, 30) == []


def test_a_day_of_many_buckets_is_one_version_however_many_batches_it_has() -> None:
    """The first hundred days of 40 buckets are 4,000 batches."""
    some = [entered(f"b{n % 40}", n) for n in range(1, 4_001)]
    parts = history_parts(some, NEVER, 4_000)
    assert [len(part.reads) for part in parts] == [MAX_READS, 100 - MAX_READS]
    assert [inventory for part in parts for inventory in part.inventories] == some


def test_an_empty_inventory_is_a_day_of_zero_that_needs_no_version() -> None:
    some = [entered("a", 1, rows=5), entered("a", 2, rows=0), entered("b", 3, rows=0)]
    (part,) = history_parts(some, NEVER, 9)
    assert part.reads == [VersionRead(1, 1, 1)]
    found = part.stored_history({(Subject("a", "all"), 1): (4, 70)})
    assert [
        (stored_day.bucket, stored_day.day.day, stored_day.objects, stored_day.size) for stored_day in found.days
    ] == [
        ("a", 2, 4, 70),
        ("a", 3, 0, 0),
        ("b", 4, 0, 0),
    ]


def test_an_empty_inventory_is_known_however_long_ago_it_was_replaced() -> None:
    """Nothing of it is in the table, so no retention can delete it."""
    some = [entered("a", 1, rows=0), entered("b", 2, rows=3), entered("a", 8), entered("b", 9)]
    kept = KeptPast(FIRST + timedelta(days=8, hours=1), LONG_AGO)
    (part,) = history_parts(some, kept, 9)
    assert (part.inventories, part.known_from) == (some, None)
    (part,) = history_parts(some, KeptPast(FIRST + timedelta(days=9, hours=1), LONG_AGO), 9)
    assert part.inventories == [some[0], *some[2:]]
    assert part.known_from == some[3].day, "the inventory of b with rows is lost, that of a is not"


def test_delete_markers_alone_are_a_day_of_zero() -> None:
    (part,) = history_parts([entered("a", 1, rows=5)], NEVER, 1)
    assert part.stored_history({(Subject("a", "all"), 1): (0, 0)}).days == [
        StoredDay("a", "all", date(2026, 1, 2), 0, 0)
    ]


def test_what_was_replaced_before_the_retention_is_left_out_and_the_first_whole_day_is_known() -> None:
    """Bucket w has an inventory each week: that of the first day is replaced on day 8, as that of day 7 of a is."""
    some = [entered("w", 1), *(entered("a", n) for n in range(2, 8)), entered("w", 8), entered("a", 9)]
    (part,) = history_parts(some, KeptPast(FIRST + timedelta(days=7, hours=1), LONG_AGO), 9)
    assert part.inventories == [entered("w", 1), entered("a", 7), entered("w", 8), entered("a", 9)]
    assert part.known_from == date(2026, 1, 8)
    (part,) = history_parts(some, KeptPast(FIRST + timedelta(days=8, hours=1), LONG_AGO), 9)
    assert part.inventories == [entered("a", 7), entered("w", 8), entered("a", 9)]
    assert part.known_from == date(2026, 1, 9)
    assert part.reads == [VersionRead(8, 7, 8), VersionRead(9, 9, 9)]


def test_a_version_that_is_older_than_the_log_is_not_read_though_its_files_are_kept() -> None:
    """With one inventory a week, what was replaced two days ago is in a version of nine days ago."""
    some = [entered("w", 1), entered("w", 8), entered("w", 15)]
    week = FIRST + timedelta(days=10)
    (part,) = history_parts(some, KeptPast(week, week), 15)
    assert (part.inventories, part.reads) == ([some[2]], [VersionRead(15, 15, 15)])
    assert part.known_from == some[2].day
    (part,) = history_parts(some, KeptPast(week, FIRST), 15)
    assert part.inventories == some[1:]


@given(
    st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=4), max_size=60),
    st.integers(0, 3),
    st.data(),
)
def test_each_inventory_is_read_once_at_a_version_that_has_it(
    batches: list[set[int]], gap: int, data: st.DataObject
) -> None:
    some, version = [], 0
    for n, buckets in enumerate(batches, 1):
        version += 1 + data.draw(st.integers(0, gap))
        some += [entered(f"b{bucket}", n, data.draw(st.integers(0, 2)), version) for bucket in sorted(buckets)]
    parts = history_parts(some, NEVER, version + 3)
    assert [inventory for part in parts for inventory in part.inventories] == some
    assert [part.last for part in parts] == sorted({part.last for part in parts})
    for index, inventory in enumerate(some):
        replaced = next(
            (later.version for later in some[index + 1 :] if later.subject == inventory.subject), version + 99
        )
        reads = [read for part in parts for read in part.reads if read.first <= inventory.n <= read.last]
        assert len(reads) == 1 or not inventory.rows
        assert not inventory.rows or inventory.version <= reads[0].version < replaced
        (part,) = (part for part in parts if inventory in part.inventories)
        assert not inventory.rows or reads[0] in part.reads


def test_a_kept_history_is_read_as_it_was_written() -> None:
    part = HistoryPart(7, [entered("a", 6), entered("b", 7)], known_from=date(2026, 1, 3))
    kept = part.stored_history({(Subject("b", "all"), 7): (3, 1 << 50)})
    assert StoredHistory.from_json(kept.to_json(), "s3://x") == kept
    for body in ("", "[]", "{}", '{"known_from": null, "days": [[1]], "last": 1}'):
        with pytest.raises(ValueError, match="s3://x is not a history of inventories"):
            StoredHistory.from_json(body, "s3://x")
    assert StoredHistory.join_parts([]) == StoredHistory(0, [], None)
    assert StoredHistory.join_parts([kept, StoredHistory(9, [], date(2026, 1, 5))]).known_from == date(2026, 1, 5)


def inventory_of_day(bucket: str, day: int, n: int, rows: int = 1) -> EnteredInventory:
    began, recorded = date(2026, 1, 1) + timedelta(days=day), FIRST + timedelta(days=n)
    return EnteredInventory(Subject(bucket, "all"), began, n, 2 * n, recorded, rows)


def test_a_late_inventory_belongs_to_the_day_on_which_it_was_begun() -> None:
    some = [
        inventory_of_day("a", 0, 1),
        inventory_of_day("a", 1, 2),
        inventory_of_day("b", 0, 3),
        inventory_of_day("c", 2, 4),
    ]
    assert inventories_as_of(some, date(2026, 1, 1), NEVER, 20) == [
        InventoriesRead(3, [some[0]]),
        InventoriesRead(20, [some[2]]),
    ]
    assert inventories_as_of(some, date(2026, 1, 2), NEVER, 20) == [InventoriesRead(20, [some[1], some[2]])]


def test_an_empty_inventory_replaces_the_one_before_and_needs_no_version() -> None:
    some = [inventory_of_day("a", 0, 1), inventory_of_day("a", 1, 2, rows=0)]
    assert inventories_as_of(some, date(2026, 1, 2), NEVER, 4) == []
    gone = [*some, inventory_of_day("a", 2, 3)]
    assert inventories_as_of(gone, date(2026, 1, 2), KeptPast(FIRST + timedelta(days=9), LONG_AGO), 6) == []


def test_a_day_that_the_table_cannot_show_is_refused_with_the_first_that_it_can() -> None:
    some = [
        inventory_of_day("a", 0, 1),
        inventory_of_day("b", 0, 1),
        inventory_of_day("a", 5, 2),
        inventory_of_day("b", 6, 3),
        inventory_of_day("a", 7, 4),
    ]
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
        some.append(inventory_of_day(f"b{bucket}", days[bucket], n, rows))
    day = date(2026, 1, 1) + timedelta(days=asked)
    expected = {}
    for inventory in some:
        if inventory.day <= day:
            expected[inventory.subject] = inventory
    if not expected:
        return
    present = 2 * len(some) + 3
    reads = inventories_as_of(some, day, NEVER, present)
    found = [inventory for read in reads for inventory in read.inventories]
    assert sorted(found, key=lambda inventory: inventory.n) == sorted(
        (inventory for inventory in expected.values() if inventory.rows), key=lambda inventory: inventory.n
    )
    for read in reads:
        for inventory in read.inventories:
            later = [other.version for other in some if other.subject == inventory.subject and other.n > inventory.n]
            assert inventory.version <= read.version < min(later, default=present + 1)
