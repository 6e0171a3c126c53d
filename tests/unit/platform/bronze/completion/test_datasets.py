"""Datasets enter whole or not at all, in whatever order, and however often, the events of signals and parts come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.world import BAD, World
from tidegate.platform.bronze.completion import datasets, parts
from tidegate.platform.core.bronze.hint import Hint, Redriven


def in_pieces(chance: Random, world: World, puts: Sequence[Any]) -> Iterator[None]:
    """Do puts in order. In between, batches take any of the events that came so far, some twice. Yields after each."""
    waiting: list[Hint] = []
    todo = list(puts)
    while todo or waiting or world.inbox:
        if todo and chance.random() < 0.5:
            waiting.append(todo.pop(0)())
            continue
        chance.shuffle(waiting)
        count = chance.randint(0, len(waiting)) if todo else len(waiting)
        taken, waiting = waiting[:count], waiting[count:]
        world.run(*taken, *(taken if chance.random() < 0.5 else []))
        yield


@pytest.mark.seeds(200, 4000, first=0)
def test_a_manifest_s_dataset_enters_whole_in_whatever_order_its_events_come(seed: int) -> None:
    world, chance = World("*manifest"), Random(seed)
    sets = {name: [f"t/{name}/{n}.json" for n in range(chance.randint(1, 3))] for name in "ab"}
    puts = [lambda key=key: world.put(key) for keys in sets.values() for key in keys]
    puts += [lambda name=name: world.manifest(f"t/x/{name}.manifest", *sets[name]) for name in sets]
    chance.shuffle(puts)
    for _ in in_pieces(chance, world, puts):
        for keys in sets.values():
            assert world.table.keys() & set(keys) in (set(), set(keys)), "a part of a dataset is in the table"
    assert set(world.table) == {key for keys in sets.values() for key in keys}
    assert {world.status(f"t/x/{name}.manifest") for name in sets} == {"complete"}
    events = [row.event_id for row in world.rows if row.event_id]
    assert set(events) == {f"m#{i + 1}" for i in range(world.events)}, "every event has a row"


@pytest.mark.seeds(200, 4000, first=0)
def test_a_folder_s_files_enter_with_a_signal_that_is_not_older(seed: int) -> None:
    world, chance = World("_SUCCESS"), Random(seed)
    rounds = [[f"t/day=1/{turn}-{n}.json" for n in range(chance.randint(1, 3))] for turn in range(3)]
    puts: list[Any] = []
    for keys in rounds[:2]:
        puts += [lambda key=key: world.put(key) for key in keys]
        puts.append(lambda: world.put("t/_SUCCESS", b""))
    puts += [lambda key=key: world.put(key) for key in rounds[2]]
    whole = [set(), set(rounds[0]), {*rounds[0], *rounds[1]}]
    for _ in in_pieces(chance, world, puts):
        assert world.table.keys() in whole
    assert world.table.keys() == whole[2]
    assert {world.status(key) for key in rounds[2]} == {"waiting"}


def test_a_dataset_of_which_a_part_is_bad_stays_out_and_enters_whole_after_a_redrive() -> None:
    world = World("_SUCCESS")
    hints = [world.put("t/1/a.json"), world.put("t/1/b.json", BAD), world.put("t/2/c.json")]
    world.run(*hints, world.put("t/1/_SUCCESS"), world.put("t/2/_SUCCESS"))
    assert set(world.table) == {"t/2/c.json"}
    assert (world.status("t/1/a.json"), world.status("t/1/b.json")) == ("waiting", "quarantined")
    assert world.status("t/1/_SUCCESS") == "quarantined"
    assert "its part t/1/b.json cannot be ingested" in world.reason("t/1/_SUCCESS")
    assert "t/1/b.json" in world.reason("t/1/a.json")
    world.run(world.hint("t/1/_SUCCESS"))
    assert world.status("t/1/_SUCCESS") == "quarantined"
    world.run(world.put("t/1/b.json"))
    assert set(world.table) == {"t/2/c.json"}
    assert "written again after the signal" in world.reason("t/1/_SUCCESS")
    world.run(world.hint("t/1/_SUCCESS", Redriven()))
    assert set(world.table) == {"t/1/a.json", "t/1/b.json", "t/2/c.json"}


def test_a_redrive_of_the_bad_part_alone_decides_its_dataset_again() -> None:
    world = World("manifest.json")
    world.run(
        world.put("t/a.json"), world.put("t/b.json", BAD), world.manifest("t/manifest.json", "t/a.json", "t/b.json")
    )
    assert world.table == {}
    world.run(world.put("t/b.json"))
    assert set(world.table) == {"t/a.json", "t/b.json"}, "the repaired part completes the dataset"


def test_a_signal_is_looked_at_again_when_the_part_comes_that_it_waits_for() -> None:
    world = World("manifest.json")
    world.run(world.manifest("t/manifest.json", "t/a.json", "t/b.json"))
    assert "2 of its 2 parts" in world.reason("t/manifest.json")
    world.run(world.put("t/b.json"))
    assert world.status("t/b.json") == "waiting"
    plan = world.run(world.put("t/a.json"))
    assert set(world.table) == {"t/a.json", "t/b.json"}
    assert [row.event_id for row in world.rows if row.key == "t/b.json"] == ["m#2", None]
    assert [decision.waits_for for decision in plan.signals] == [None]
    assert list(world.fake.waiting_signals.find_signals(["t/a.json", "t/b.json"])) == []


def test_a_part_that_s3_does_not_show_defers_the_signal_and_every_event_returns() -> None:
    world = World("manifest.json")
    hints = [world.put("t/a.json"), world.put("t/b.json"), world.manifest("t/manifest.json", "t/a.json", "t/b.json")]
    world.silent = {"t/b.json"}
    world.run(*hints)
    assert {hint.key for hint in world.inbox} == {"t/b.json", "t/manifest.json"}
    world.silent = set()
    world.run()
    assert set(world.table) == {"t/a.json", "t/b.json"}


def test_a_dataset_that_does_not_fit_into_the_batch_enters_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_DATASET_FILES", 3)
    world = World("_SUCCESS")
    hints = [world.put(f"t/{name}/{n}.json") for name in "ab" for n in range(2)]
    world.run(*hints, world.put("t/a/_SUCCESS"), world.put("t/b/_SUCCESS"))
    assert set(world.table) == {"t/a/0.json", "t/a/1.json"}
    assert [hint.key for hint in world.inbox] == ["t/b/_SUCCESS"]
    assert "enters with a later batch" in world.reason("t/b/0.json")
    world.run()
    assert len(world.table) == 4


def test_more_signals_than_a_batch_judges_return_to_the_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_SIGNALS", 1)
    world = World("_SUCCESS")
    hints = [world.put(f"t/{n}/{name}") for n in range(3) for name in ("x.json", "_SUCCESS")]
    world.run(*hints)
    assert (len(world.table), len(world.inbox)) == (1, 2)
    world.run()
    world.run()
    assert len(world.table) == 3


def test_two_signals_of_one_part_are_decided_one_after_the_other() -> None:
    """If the first failed in the preparation, the second would be complete without the part."""
    world = World("*manifest")
    hints = [world.put("t/a.json"), world.put("t/b.json")]
    world.run(
        *hints, world.manifest("t/1.manifest", "t/a.json"), world.manifest("t/2.manifest", "t/a.json", "t/b.json")
    )
    assert set(world.table) == {"t/a.json"}
    world.run()
    assert set(world.table) == {"t/a.json", "t/b.json"}


def test_an_inner_folder_with_a_signal_of_its_own_is_another_dataset() -> None:
    world = World("_SUCCESS")
    hints = [world.put("t/x.json"), world.put("t/in/y.json"), world.put("t/in/_SUCCESS"), world.put("t/in/z.json")]
    world.run(*hints, world.put("t/_SUCCESS"))
    assert set(world.table) == {"t/x.json", "t/in/y.json"}


def test_a_folder_with_too_many_objects_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_LISTED", 2)
    world = World("_SUCCESS")
    world.run(world.put("t/1/a.json"), world.put("t/1/b.json"), world.put("t/1/_SUCCESS"))
    assert (world.table, world.status("t/1/_SUCCESS")) == ({}, "quarantined")
    assert "Write each dataset into a folder of its own" in world.reason("t/1/_SUCCESS")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "it is not JSON"),
        (json.dumps({"files": [{"key": "u/a.json"}]}).encode(), "outside of s3://landing/t/"),
        (json.dumps({"files": [{"key": "t/_x/a.json"}]}).encode(), "t/_x/a.json, which is not a file of the table"),
        (json.dumps({"files": [{"key": "t/1.manifest"}]}).encode(), "t/1.manifest, which is not a file of the table"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_quarantined(body: bytes, reason: str) -> None:
    world = World("*manifest")
    world.run(world.put("t/1.manifest", body))
    assert world.status("t/1.manifest") == "quarantined"
    assert reason in world.reason("t/1.manifest")


@pytest.mark.parametrize("completion", ["*manifest", "manifest.checksum"])
@pytest.mark.parametrize("grown", ["t/d/manifest", "t/d/manifest.json", "t/d/manifest.checksum"])
def test_of_a_manifest_that_grew_since_its_event_no_more_is_read_than_one_may_have(
    completion: str, grown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of a manifest may replace it between two requests by an object that no memory holds."""
    monkeypatch.setattr(parts, "MAX_MANIFEST_BYTES", 50)
    world = World(completion)
    signal = "t/d/manifest.checksum" if completion == "manifest.checksum" else "t/d/manifest"
    hint = world.put(signal, b"{}")
    world.put("t/d/manifest.json", b"{}")
    real, bounds = world.get, list[int]()

    def replaced(bucket: str, key: str, max_bytes: int) -> bytes | None:
        world.objects[grown] = (b"{" * 60, 9)
        bounds.append(max_bytes)
        return real(bucket, key, max_bytes)

    world.fake.source.objects = SimpleNamespace(get=replaced)
    world.run(hint)
    if grown in {signal, signal.replace("checksum", "json")}:
        assert "has more than 50 bytes, the most that a manifest may have" in world.reason(signal)
    assert set(bounds) == {50}


def test_a_checksum_waits_for_the_manifest_that_it_is_of() -> None:
    world = World("manifest.checksum")
    body = json.dumps({"files": [{"key": "t/a.csv"}]}).encode()
    digest = f"{hashlib.md5(body).hexdigest().upper()}\n".encode()
    world.run(world.put("t/d/manifest.checksum", digest))
    assert world.reason("t/d/manifest.checksum") == "its manifest t/d/manifest.json is missing"
    world.put("t/d/manifest.json", b"{}")
    world.run(world.put("t/a.csv"), world.put("t/d/manifest.checksum", digest))
    assert "the MD5 in it is not that of its manifest" in world.reason("t/d/manifest.checksum")
    world.put("t/d/manifest.json", body)
    world.run(world.put("t/d/manifest.checksum", digest))
    assert set(world.table) == {"t/a.csv"}


def test_a_signal_that_is_gone_changes_nothing_of_its_dataset() -> None:
    world = World("_SUCCESS")
    world.run(world.hint("t/never/_SUCCESS"))
    assert world.reason("t/never/_SUCCESS") == "gone before it was read"
    world.run(world.put("t/a.json"), world.put("t/_SUCCESS"))
    del world.objects["t/_SUCCESS"]
    world.run(world.hint("t/_SUCCESS"), world.put("t/b.json"))
    assert (world.status("t/_SUCCESS"), set(world.table)) == ("removed", {"t/a.json"})
    world.run(world.put("t/_SUCCESS"))
    assert set(world.table) == {"t/a.json", "t/b.json"}


def test_a_hint_without_an_event_leaves_no_row_while_nothing_changes() -> None:
    """Otherwise every listing would write a row for each file that waits."""
    world = World("_SUCCESS")
    world.run(world.put("t/a.json"))
    before = len(world.rows)
    world.run(Hint("t/a.json"))
    assert len(world.rows) == before
    world.run(world.put("t/_SUCCESS"))
    before = len(world.rows)
    world.run(Hint("t/_SUCCESS"), Hint("t/a.json"))
    assert len(world.rows) == before
