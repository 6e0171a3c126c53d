"""Events of folders that waited for a day with room are read by themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tests.unit.platform.intake.test_tick import LAKE, body, record
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Gone
from tidegate.platform.core.config.lake import DiscoverySpec, LakeConfig
from tidegate.platform.intake import held_events
from tidegate.platform.intake.held_events import HeldEvents
from tidegate.platform.intake.tick import listen, take_in
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.held_events import MAX_MANIFESTS
from tidegate.platform.lake.lake_root.inbox import TableInbox
from tidegate.platform.lake.lake_root.store import LakeStore

DAY = 86400.0
CAPPED = LAKE.model_copy(update={"discovery": DiscoverySpec(per_day=2)})


class Shore:
    """A lake whose tables are born when a day ends, and whose clock is the test's."""

    def __init__(self, config: LakeConfig = CAPPED) -> None:
        self.store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
        self.gone: set[str] = set()
        self.store.objects.head = self.head  # type: ignore[method-assign]
        self.store.objects.head_many = lambda bucket, keys: {key: self.head(bucket, key) for key in keys}  # type: ignore[method-assign]
        self.store.objects.bucket_exists = lambda bucket: True  # type: ignore[method-assign]
        self.lake: Any = SimpleNamespace(config=config, queues=[], store=self.store)
        self.now = 1_000_000 * DAY

    def head(self, bucket: str, key: str) -> Probe:
        return S3Gone() if key in self.gone else S3Found("e", 1, 0)

    def arrive(self, *keys: str) -> None:
        messages = [Message(f"m-{key}", body(record(key)), "r") for key in keys]
        self.lake.queues = [
            SimpleNamespace(name="q", drain=lambda **_: (chunk for chunk in [messages]), delete=lambda _: None)
        ]
        take_in(self.lake)
        self.lake.queues = []

    def be_born(self) -> list[str]:
        """Take the inbox in: its tables are of yesterday, by the dictionary's clock."""
        tables = self.store.inbox.tables()
        for table in tables:
            self.store.births.ensure_birth(table, table, registered=False)
            self.store.inbox.table_inbox(table).delete(
                [manifest.id for manifest in self.store.inbox.waiting_manifests(table)]
            )
        return [table.removeprefix("landing.") for table in tables]

    def exist(self, *keys: str) -> None:
        """Put source objects, which a listing of their folder finds."""
        for key in keys:
            self.store.objects.put("landing", key, "")

    def hinted(self, table: str) -> list[str]:
        """Return the keys of the hints in the inbox of a table, each once."""
        inbox = self.store.inbox.table_inbox(f"landing.{table}")
        found = inbox.read([manifest.id for manifest in inbox.waiting_manifests()])
        return sorted({hint.key for manifest in found for hint in manifest.hints})

    def kept(self, table: str) -> list[str]:
        """Return the names of what is kept of a folder, with `*` for manifests."""
        start = self.store.held.key(f"landing.{table}", "").removesuffix(".json")
        names = [key.removeprefix(start) for key in self.lake.store.objects.bodies if key.startswith(start)]
        return sorted("*" if "-" in name else name for name in names)

    def held(self) -> list[str]:
        return [table.removeprefix("landing.") for table in self.store.held.tables()]


def test_each_day_has_the_next_folders_until_all_are_tables() -> None:
    shore, held = Shore(), HeldEvents()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv", "team/d/1.csv", "team/c/2.csv", "team/e/1.csv")
    assert (shore.be_born(), shore.held()) == (["team.a", "team.b"], ["team.c", "team.d"])
    assert held.release(shore.lake, shore.now) == []
    inbox = shore.store.inbox.table_inbox("landing.team.c")
    manifests = inbox.read([found.id for found in inbox.waiting_manifests()])
    hints = [hint for manifest in manifests for hint in manifest.hints]
    assert [(hint.key, hint.event_id) for hint in hints] == [
        ("team/c/1.csv", "m-team/c/1.csv#0"),
        ("team/c/2.csv", "m-team/c/2.csv#0"),
    ]
    assert (shore.be_born(), shore.held()) == (["team.c", "team.d"], [])


def test_a_day_without_room_leaves_them_and_one_look_a_day_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    shore, held = Shore(), HeldEvents()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv")
    assert held.release(shore.lake, shore.now) == []
    assert shore.held() == ["team.c"], "those of today are not born"
    shore.be_born()
    with monkeypatch.context() as patched:
        patched.setattr(shore.store.held, "waiting_manifests", lambda: pytest.fail("an ordinary tick asks for nothing"))
        held.release(shore.lake, shore.now + 60)
    listen(shore.lake, patience=0, held=held)  # by the real clock, which is another day
    assert shore.be_born() == ["team.c"]


@pytest.mark.parametrize("deletes", [False, True])
def test_a_tick_that_dies_is_repeated(deletes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shore, held = Shore(), HeldEvents()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv")
    shore.be_born()
    name = "delete" if deletes else "put"
    with monkeypatch.context() as patched:
        patched.setattr(shore.store.objects, name, lambda *_: (_ for _ in ()).throw(OSError("died")))
        with pytest.raises(OSError, match="died"):
            held.release(shore.lake, shore.now)
    assert shore.held() == ["team.c"]
    held.release(shore.lake, shore.now)
    assert (shore.be_born(), shore.held()) == (["team.c"], [])


def test_they_go_where_their_keys_belong_now_and_not_where_nothing_is() -> None:
    shore = Shore()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv", "team/d/1.csv")
    shore.be_born()
    shore.gone.add("team/d/1.csv")
    config = LakeConfig.model_validate(
        {
            **LAKE.model_dump(by_alias=True, exclude_unset=True),
            "tables": [{"name": "c", "prefix": "s3://landing/team/c/"}],
        }
    )
    shore.lake.config = config.model_copy(update={"discovery": DiscoverySpec(per_day=2)})
    HeldEvents().release(shore.lake, shore.now)
    assert (shore.be_born(), shore.held()) == (["team.c"], [])
    off = Shore()
    off.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv")
    off.lake.config = LAKE.model_copy(update={"discovery": None})
    off.be_born()
    HeldEvents().release(off.lake, off.now)
    assert (off.be_born(), off.held()) == ([], []), "their events were counted when they came"


def test_a_damaged_object_is_named_and_stops_no_other() -> None:
    shore = Shore()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv", "team/d/1.csv")
    shore.be_born()
    (manifest,) = shore.store.held.waiting_manifests("landing.team.c")
    shore.store.objects.put("lake", shore.store.held.key("landing.team.c", manifest.id), "{")
    (damaged,) = HeldEvents().release(shore.lake, shore.now)
    assert "is not a manifest" in damaged
    assert damaged.endswith("Move it away")
    assert (shore.be_born(), shore.held()) == (["team.d"], ["team.c"])


def test_a_folder_of_many_events_is_read_in_portions_and_the_next_tick_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shore, held = Shore(), HeldEvents()
    for number in range(5):
        shore.arrive("team/a/1.csv", "team/b/1.csv", f"team/c/{number}.csv", "other/x/1.csv", "other/y/1.csv")
        shore.arrive(f"other/z/{number}.csv")
    shore.be_born()
    assert shore.held() == ["other.z", "team.c"]
    read: list[int] = []
    whole = TableInbox.read

    def reading(self: TableInbox, ids: list[str]) -> Any:
        read.append(len(ids))
        return whole(self, ids)

    monkeypatch.setattr(TableInbox, "read", reading)
    monkeypatch.setattr(held_events, "_PORTION", 2)
    monkeypatch.setattr(held_events, "_SECONDS", -1.0)
    ticks = 0
    while shore.held() and ticks < 20:
        held.release(shore.lake, shore.now)
        ticks += 1
    assert set(read) == {1, 2}
    assert ticks >= 6, "a tick takes one portion if it has no more time"
    assert sorted(shore.be_born()) == ["other.z", "team.c"]


def test_a_folder_without_room_keeps_no_other_from_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    shore, held = Shore(), HeldEvents()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv")
    shore.arrive("other/x/1.csv", "other/y/1.csv", "other/z/1.csv")
    shore.be_born()
    shore.arrive("team/d/1.csv", "team/e/1.csv")
    assert shore.held() == ["other.z", "team.c"]
    monkeypatch.setattr(held_events, "_SECONDS", -1.0)
    for _ in range(3):
        held.release(shore.lake, shore.now)
    assert shore.held() == ["team.c"]


def full_folder(events: int, config: LakeConfig = CAPPED) -> Shore:
    """Return a lake in which `team/c/` waits, with more events than it keeps manifests, and all of its
    objects exist.
    """
    shore = Shore(config)
    shore.arrive("team/a/1.csv", "team/b/1.csv")
    for number in range(events):
        shore.arrive(f"team/c/{number:03}.csv")
        shore.exist(f"team/c/{number:03}.csv")
    shore.exist("team/c/deeper/1.csv", "team/c/_SUCCESS", "team/d/1.csv")
    shore.be_born()
    return shore


def test_however_many_events_come_a_folder_keeps_few_objects_and_loses_none() -> None:
    shore, held = full_folder(3 * MAX_MANIFESTS), HeldEvents()
    assert shore.kept("team.c") == ["*"] * MAX_MANIFESTS + ["more.json"]
    assert held.release(shore.lake, shore.now) == []
    assert shore.hinted("team.c") == [f"team/c/{number:03}.csv" for number in range(3 * MAX_MANIFESTS)]
    assert (shore.be_born(), shore.held()) == (["team.c"], [])


def test_a_folder_with_few_events_is_not_listed() -> None:
    """A listing would take in years of objects that nobody announced."""
    shore = full_folder(MAX_MANIFESTS)
    shore.exist("team/c/of last year.csv")
    HeldEvents().release(shore.lake, shore.now)
    assert "team/c/of last year.csv" not in shore.hinted("team.c")
    assert len(shore.hinted("team.c")) == MAX_MANIFESTS


@pytest.mark.parametrize("dies", [False, True])
def test_a_listing_continues_in_the_next_tick_after_the_events_of_others(
    dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shore, held = full_folder(MAX_MANIFESTS + 30), HeldEvents()
    shore.arrive("other/x/1.csv", "other/y/1.csv", *(f"other/z/{number}.csv" for number in range(5)))
    shore.store.births.ensure_birth("landing.other.x", "x", registered=False)
    monkeypatch.setattr(held_events, "_LISTED_AT_ONCE", 10)
    monkeypatch.setattr(held_events, "_SECONDS", -1.0)
    parts: list[int] = []
    while shore.held() and len(parts) < 30:
        before, others = len(shore.hinted("team.c")), len(shore.hinted("other.z"))
        held.release(shore.lake, shore.now)
        parts.append(len(shore.hinted("team.c")) - before)
        assert dies or before <= MAX_MANIFESTS or others == 5, "events of others come before a listing"
        if dies:
            held = HeldEvents()
    assert (shore.held(), len(shore.hinted("team.c"))) == ([], MAX_MANIFESTS + 30)
    assert sorted(parts)[-2:] == [10, MAX_MANIFESTS], "a tick without time lists one part"


def test_what_comes_while_a_folder_is_listed_is_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shore, held = full_folder(MAX_MANIFESTS + 5), HeldEvents()
    whole = shore.store.objects.list_under

    def under(bucket: str, prefix: str, after: str = "") -> Any:
        if bucket == "landing":
            shore.store.held.mark("landing.team.c")  # of an event that a drain brings meanwhile
        yield from whole(bucket, prefix, after)

    with monkeypatch.context() as patched:
        patched.setattr(shore.store.objects, "list_under", under)
        held.release(shore.lake, shore.now)
    assert shore.kept("team.c") == ["more.json"]
    shore.be_born()
    shore.exist("team/c/000 new.csv")
    held.release(shore.lake, shore.now + DAY)
    assert "team/c/000 new.csv" in shore.hinted("team.c")
    assert shore.held() == []


def test_objects_go_to_the_table_that_took_their_folder_over() -> None:
    shore = full_folder(MAX_MANIFESTS + 5)
    tables = [{"name": "team", "prefix": "s3://landing/team/"}]
    shore.lake.config = LakeConfig.model_validate(
        {**LAKE.model_dump(by_alias=True, exclude_unset=True), "tables": tables, "discovery": {"per_day": 1}}
    )
    shore.arrive("other/x/1.csv")
    HeldEvents().release(shore.lake, shore.now)
    keys = [f"team/c/{number:03}.csv" for number in range(MAX_MANIFESTS + 5)]
    assert shore.hinted("team") == [*keys, "team/c/deeper/1.csv"]
    assert shore.held() == []


def test_objects_for_which_s3_was_not_asked_are_listed_before_their_events_are_dropped() -> None:
    shore = Shore()
    shore.arrive("team/a/1.csv", "team/b/1.csv")
    keys = [f"team/c/{number:04}.csv" for number in range(1500)]
    shore.arrive(*keys)
    assert "more.json" not in shore.kept("team.c")
    shore.be_born()
    shore.gone.update(keys)
    shore.gone.remove(keys[2])
    shore.exist(keys[2])
    HeldEvents().release(shore.lake, shore.now)
    assert shore.hinted("team.c") == [keys[2]]


def test_a_tick_lists_a_bounded_part_of_what_an_older_version_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older versions kept a manifest of each tick. However many there are, each tick moves some of them."""
    shore, held = full_folder(1), HeldEvents()
    (manifest,) = shore.store.held.waiting_manifests("landing.team.c")
    body = shore.lake.store.objects.bodies[shore.store.held.key("landing.team.c", manifest.id)]
    for number in range(5_000):
        key = shore.store.held.key("landing.team.c", f"{number:026}-1-0-0")
        shore.lake.store.objects.bodies[key] = body
    seen: list[str] = []
    whole = shore.store.objects.list_under

    def under(bucket: str, prefix: str, after: str = "") -> Any:
        for item in whole(bucket, prefix, after):
            seen.append(item.key)
            yield item

    monkeypatch.setattr(shore.store.objects, "list_under", under)
    monkeypatch.setattr(held_events, "_SECONDS", -1.0)
    held.release(shore.lake, shore.now)
    for _ in range(3):
        seen.clear()
        before = len(shore.kept("team.c"))
        held.release(shore.lake, shore.now)
        assert before - len(shore.kept("team.c")) == 20
        assert sum("/held/" in key for key in seen) <= 1_000


@pytest.mark.parametrize("fails", range(3))
def test_what_s3_ends_is_repeated_with_all_folders(fails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shore, held = full_folder(MAX_MANIFESTS + 1), HeldEvents()
    look, asked = shore.store.held.look, []

    def failing(table: str) -> Any:
        asked.append(table)
        if len(asked) == fails + 1:
            raise StoreError("S3 does not answer")
        return look(table)

    monkeypatch.setattr(shore.store.held, "look", failing)
    with pytest.raises(StoreError):
        held.release(shore.lake, shore.now)
    held.release(shore.lake, shore.now)
    assert (len(shore.hinted("team.c")), shore.held()) == (MAX_MANIFESTS + 1, [])


def test_folders_that_cannot_be_read_take_nothing_from_the_messages_of_the_tick() -> None:
    shore, held = full_folder(1), HeldEvents()
    drained: list[str] = []
    messages = [Message("m", body(record("orders/1.csv")), "r")]
    shore.lake.queues = [
        SimpleNamespace(
            name="q", drain=lambda **_: (chunk for chunk in [messages]), delete=lambda _: drained.append("deleted")
        )
    ]

    def folders(bucket: str, prefix: str) -> list[str]:
        if "/held/" in prefix:
            assert drained, "the messages come first"
            raise StoreError("S3 does not answer")
        return []

    shore.store.objects.folders = folders  # type: ignore[method-assign]
    taken = listen(shore.lake, patience=0, held=held)
    assert (taken.received, drained) == (1, ["deleted"])
    assert "stay as they are until the next tick: S3 does not answer" in taken.left[0]
