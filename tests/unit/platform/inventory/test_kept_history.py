"""The history of inventories that is kept: each part once, in a chain that continues where it has a gap."""

from __future__ import annotations

from datetime import date

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.storage.growth import StoredDay
from tidegate.platform.core.storage.history import StoredHistory
from tidegate.platform.inventory.kept_history import KeptHistory
from tidegate.platform.lake.lake_root.store import LakeStore

TABLE = "inventory.objects"


@pytest.fixture
def objects() -> Objects:
    return Objects()


def history(objects: Objects, generation: str = "g") -> KeptHistory:
    return KeptHistory(LakeStore(objects, "s3://lake/root"), TABLE, generation)  # type: ignore[arg-type]


def part(last: int, size: int = 1, since: date | None = None) -> StoredHistory:
    return StoredHistory(last, [StoredDay("b", "all", date(2026, 1, last), 1, size)], since)


def sizes(found: StoredHistory) -> list[int]:
    return [day.size for day in found.days]


def test_parts_are_kept_once_and_the_loser_of_a_race_reads_the_winner_s(objects: Objects) -> None:
    one, other = history(objects), history(objects)
    assert one.read() == StoredHistory()
    assert one.keep(0, part(3, 30))
    assert not other.keep(0, part(4, 40))
    assert other.read() == part(3, 30)
    assert other.keep(3, part(5, 50))
    assert (sizes(one.read()), one.read().last) == ([30, 50], 5)
    assert sorted(objects.bodies) == [f"root/history/{TABLE}/g-{n:020d}.json" for n in (1, 4)]


def test_after_a_lost_part_the_rest_is_computed_again(objects: Objects) -> None:
    kept = history(objects)
    for after, last in ((0, 1), (1, 2), (2, 3)):
        assert kept.keep(after, part(last, 10 * last))
    del objects.bodies[f"root/history/{TABLE}/g-{2:020d}.json"]
    assert (sizes(kept.read()), kept.read().last) == ([10], 1)
    assert kept.keep(1, part(2, 21))
    assert (sizes(kept.read()), kept.read().last) == ([10, 21, 30], 3)


def test_a_reset_keeps_the_days_of_the_generations_before(objects: Objects) -> None:
    history(objects, "z").keep(0, part(9, 90, date(2026, 1, 2)))
    after = history(objects, "a")
    assert after.keep(0, part(1, 10))
    found = after.read()
    assert (sizes(found), found.last, found.known_from) == ([90, 10], 1, date(2026, 1, 2))


def test_an_object_that_is_no_history_is_named(objects: Objects) -> None:
    objects.bodies[f"root/history/{TABLE}/g-{1:020d}.json"] = "?"
    with pytest.raises(ValueError, match=f"s3://lake/root/history/{TABLE}/g-{1:020d}.json is no history"):
        history(objects).read()
