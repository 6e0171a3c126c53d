"""The history of a table of inventories, where another run keeps the same part at the same time."""

from __future__ import annotations

from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.storage.growth import ALL, StoredDay
from tidegate.platform.core.storage.history import EnteredInventory, StoredHistory
from tidegate.platform.inventory import entered_inventories, growth
from tidegate.platform.inventory.growth import KeptHistory
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock

KEY = TableKey("second", "inventory/")

TABLE = "inventory.objects"


class Inventories:
    """A lake with a table that has an inventory of one object in each batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.objects, self.batches, self.txn = Objects(), 2, 2
        self.store = LakeStore(self.objects, "s3://lake/root")  # type: ignore[arg-type]
        self.reads: list[Any] = []
        self.dropped: set[tuple[Subject, date]] = set()
        self.meanwhile: list[Any] = []
        monkeypatch.setattr(growth, "stored_objects", lambda *asked: None)
        monkeypatch.setattr(entered_inventories, "entered_inventories", self.entered)
        monkeypatch.setattr(growth, "objects_and_bytes", self.read)
        monkeypatch.setattr(growth, "dropped_inventories", lambda *_: self.dropped)
        state = SimpleNamespace(version=7, properties={"delta.deletedFileRetentionDuration": "interval 9 days"})
        self.delta = SimpleNamespace(
            session=None, table_state=lambda *asked: SimpleNamespace(**vars(state), txn=self.txn)
        )

    def read(self, session: object, location: str, part: Any) -> dict[Any, Any]:
        self.reads += part.reads
        if self.meanwhile:
            self.meanwhile.pop()()
        return {
            (inventory.subject, inventory.n): (1, 10 * inventory.n) for inventory in part.inventories if inventory.rows
        }

    def entered(self, _table: Any, _ledger: Any, clock: Clock, after: int) -> list[EnteredInventory]:
        now, subject = datetime.now(UTC), Subject("acme", "all")
        numbers = range(after + 1, self.batches + 1)
        return [EnteredInventory(subject, date(2026, 1, n), n, n, now, 1) for n in numbers]

    def table(self, key: str) -> Any:
        return SimpleNamespace(
            key=KEY,
            table_key=KEY.encode(),
            birth=SimpleNamespace(generation="g", location="s3a://x"),
            lake=self,
            delta=self.delta,
            ledger=SimpleNamespace(clock=lambda: Clock(self.batches, self.batches)),
            batches=SimpleNamespace(read=lambda n: SimpleNamespace(app_id="app")),
            reopen=lambda: self.table(key),
        )

    def sizes(self, *, keep: bool) -> list[float]:
        found = growth.growth_of(self, KEY.encode(), 1, keep=keep)  # type: ignore[arg-type]
        return list(found.lines[0].history)


def test_each_inventory_is_read_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Inventories(monkeypatch)
    assert lake.sizes(keep=False) == [10, 20]
    assert (len(lake.reads), lake.objects.bodies) == (2, {})
    assert lake.sizes(keep=True) == [10, 20]
    lake.batches = lake.txn = 3
    lake.reads.clear()
    assert lake.sizes(keep=True) == [10, 20, 30]
    assert [(item.version, item.first, item.last) for item in lake.reads] == [(7, 3, 3)]
    assert len(lake.objects.bodies) == 2


def test_a_run_that_was_slower_takes_what_the_other_run_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Inventories(monkeypatch)
    lake.meanwhile = [lambda: lake.sizes(keep=True)]
    assert lake.sizes(keep=True) == [10, 20]
    assert len(lake.objects.bodies) == 1


def test_while_a_batch_is_not_recorded_the_version_of_the_last_recorded_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = Inventories(monkeypatch)
    lake.txn = 3
    lake.sizes(keep=False)
    assert lake.reads[-1].version == 2


def test_a_choice_leaves_days_out_only_of_buckets_with_several_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    lake, now = Inventories(monkeypatch), datetime.now(UTC)
    every = [("acme", "all"), ("acme", "weekly"), ("other", "old")]
    entered_ = [
        EnteredInventory(Subject(*subject), date(2026, 1, 1), n, n, now, 1) for n, subject in enumerate(every, 1)
    ]
    lake.batches = lake.txn = 3
    monkeypatch.setattr(entered_inventories, "entered_inventories", lambda *asked: entered_)
    found = growth.growth_of(lake, KEY.encode(), 1, "all")  # type: ignore[arg-type]
    assert {line.bucket: list(line.history) for line in found.lines} == {ALL: [40], "acme": [10], "other": [30]}


def test_a_bucket_that_was_dropped_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lake, now = Inventories(monkeypatch), datetime.now(UTC)
    every = [("acme", "all"), ("gone", "all"), ("gone", "all")]
    some = [
        EnteredInventory(Subject(*subject), date(2026, 1, n), n, n, now, n < 3) for n, subject in enumerate(every, 1)
    ]
    lake.batches = lake.txn = 3
    monkeypatch.setattr(entered_inventories, "entered_inventories", lambda *asked: some)
    lake.dropped = {(Subject("gone", "all"), date(2026, 1, 3))}
    found = growth.growth_of(lake, KEY.encode(), 1)  # type: ignore[arg-type]
    assert {line.bucket: list(line.history) for line in found.lines} == {ALL: [10, 30, 10], "acme": [10, 10, 10]}


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
    kept_history, other = history(objects), history(objects)
    assert kept_history.read() == StoredHistory()
    assert kept_history.keep(0, part(3, 30))
    assert not other.keep(0, part(4, 40))
    assert other.read() == part(3, 30)
    assert other.keep(3, part(5, 50))
    assert (sizes(kept_history.read()), kept_history.read().last) == ([30, 50], 5)
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


def test_an_object_that_is_not_a_history_is_named(objects: Objects) -> None:
    objects.bodies[f"root/history/{TABLE}/g-{1:020d}.json"] = "?"
    with pytest.raises(ValueError, match=f"s3://lake/root/history/{TABLE}/g-{1:020d}.json is not a history"):
        history(objects).read()
