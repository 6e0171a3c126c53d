"""What is kept for ever is created, and never put over an object: the printed policies refuse that."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from ulid import ULID

from tests.support.lakes.objects import Objects
from tidegate.platform.cloud.roles.shared_statements import CREATED
from tidegate.platform.cloud.statement import Statement
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.lake.lake_root import logs
from tidegate.platform.lake.lake_root.store import LakeStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Watched(Objects):
    """S3 that notes which keys are created and which are put without a condition."""

    endpoint = "http://localhost"

    def __init__(self) -> None:
        super().__init__()
        self.put_over: list[str] = []
        self.created: list[str] = []

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        self.put_over.append(key)
        super().put(bucket, key, body)

    def put_if_absent(self, bucket: str, key: str, body: str) -> bool:
        self.created.append(key)
        return super().put_if_absent(bucket, key, body)

    def bucket_exists(self, bucket: str) -> bool:
        return True


def test_what_is_kept_for_ever_is_never_put_over_an_object() -> None:
    objects = Watched()
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    assert store.identity.lake
    store.operations.put("sql", "eva")
    store.forgotten.put(ForgetRequest("01", "eva", NOW, NOW, "person", "check", ("digest",)))
    batches = store.batches("landing.orders")
    batches.decide(Batch("lake", "landing.orders", "g", 1, "s3a://b/t", -1, ()).seal())
    batches.retire(1, "eva")

    for place in (f"root/{place}" for place in CREATED):
        kept = Statement("Kept", ("s3:PutObject",), (place,), "")
        assert [key for key in objects.put_over if kept.covers("s3:PutObject", key)] == []
        assert [key for key in objects.created if kept.covers("s3:PutObject", key)], f"nobody creates {place}"


def test_entries_of_other_processes_are_read_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_MAX_ENTRIES", 3)
    objects, now = Objects(), NOW.timestamp()
    log = LakeStore(objects, "s3://lake/root").intake_log  # type: ignore[arg-type]
    for number in range(-1, 8):
        # The first one is of two days ago.
        at = now + number if number >= 0 else now - 2 * 86400
        key = f"root/intake/{datetime.fromtimestamp(at, UTC):%Y-%m-%d}/{ULID.from_timestamp(at)}.json"
        objects.put("lake", key, json.dumps({"format": 1, "counters": {"test": number}, "rows": []}))
    objects.put("lake", f"root/intake/{NOW:%Y-%m-%d}/0-notes.txt", "a person's")
    last, read = "", []
    for before in (now + 5, now + 5, now + 5, now + 9, now + 9, now + 9):
        last, entries, _ = log.entries_after(last, before)
        read.append([entry.counters["test"] for entry in entries])
    assert read == [[0, 1, 2], [3, 4], [], [5, 6, 7], [], []]


def _entry(objects: Objects, root: str, at: float, text: str = "") -> str:
    key = f"{root}/intake/{datetime.fromtimestamp(at, UTC):%Y-%m-%d}/{ULID.from_timestamp(at)}.json"
    objects.put("lake", key, json.dumps({"format": 1, "counters": {}, "rows": [], "text": text}))
    return key


def test_one_call_reads_no_more_than_memory_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry may have thousands of events, and others bring them faster than one tick would."""
    monkeypatch.setattr(logs, "_MAX_BYTES", 1000)
    objects, now = Objects(), NOW.timestamp()
    log = LakeStore(objects, "s3://lake/root").intake_log  # type: ignore[arg-type]
    for number, size in enumerate((300, 300, 5000, 300)):
        _entry(objects, "root", now + number, "x" * size)
    last, read = "", []
    for _ in range(4):
        last, entries, _ = log.entries_after(last, now + 60)
        read.append(len(entries))
    assert read == [2, 1, 1, 0]


def test_entries_are_read_from_a_place_on_and_from_the_root_that_the_lake_has_now() -> None:
    objects, now = Objects(), NOW.timestamp()
    log = LakeStore(objects, "s3://lake/root").intake_log  # type: ignore[arg-type]
    _entry(objects, "root", now - 1)
    later = _entry(objects, "root", now + 1)
    last, entries, _ = log.entries_after(log.place_of(now), now + 60)
    assert (last, len(entries)) == (later, 1)
    last, entries, _ = log.entries_after("z-old-root/intake/2026-01-02/x.json", now + 60)
    assert (last, len(entries)) == (later, 2)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"counters": {}, "rows": [1]}', "\x00"])
def test_a_damaged_entry_is_named_and_the_next_ones_are_read(body: str) -> None:
    objects, now = Objects(), NOW.timestamp()
    log = LakeStore(objects, "s3://lake/root").intake_log  # type: ignore[arg-type]
    good = json.dumps({"format": 1, "counters": {"test": 1}, "rows": []})
    for at, text in ((now, body), (now + 1, good)):
        objects.put("lake", f"root/intake/{NOW:%Y-%m-%d}/{ULID.from_timestamp(at)}.json", text)
    last, entries, damaged = log.entries_after("", now + 60)
    assert [entry.counters["test"] for entry in entries] == [1]
    (line,) = damaged
    assert line.startswith("s3://lake/root/intake/2026-01-01/")
    assert log.entries_after(last, now + 60) == (last, [], [])
