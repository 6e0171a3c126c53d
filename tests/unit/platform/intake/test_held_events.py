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
            self.store.inbox.of(table).delete([one.id for one in self.store.inbox.waiting(table)])
        return [table.removeprefix("landing.") for table in tables]

    def held(self) -> list[str]:
        return [table.removeprefix("landing.") for table in self.store.held.tables()]


def test_each_day_has_the_next_folders_until_all_are_tables() -> None:
    shore, held = Shore(), HeldEvents()
    shore.arrive("team/a/1.csv", "team/b/1.csv", "team/c/1.csv", "team/d/1.csv", "team/c/2.csv", "team/e/1.csv")
    assert (shore.be_born(), shore.held()) == (["team.a", "team.b"], ["team.c", "team.d"])
    assert held.release(shore.lake, shore.now) == []
    hints = [hint for one in shore.store.inbox.of("landing.team.c").read(
        [found.id for found in shore.store.inbox.waiting("landing.team.c")]) for hint in one.hints]  # fmt: skip
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
        patched.setattr(shore.store.held, "waiting", lambda: pytest.fail("an ordinary tick asks for nothing"))
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
    (manifest,) = shore.store.held.waiting("landing.team.c")
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
