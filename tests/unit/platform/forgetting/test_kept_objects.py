"""Which lines and messages of the lake's own objects are of a forgotten subject."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.core.forgetting.request import SubjectKey
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.forgetting import kept_objects as kept_module
from tidegate.platform.forgetting.kept_objects import KeptLines, erase_kept_objects, kept_objects
from tidegate.platform.lake import capacity
from tidegate.platform.lake.aws.s3 import ObjectChanged, StoreError
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.suppression import Suppression

KEY = SubjectKey("a secret of a unit test", "person")

PIECE, SMALL = 64, 200


@pytest.fixture
def objects() -> Objects:
    return Objects()


@pytest.fixture
def lake(objects: Objects) -> Any:
    tables = [_table(rows=True).spec, SimpleNamespace(name="o", row_queue=SimpleNamespace(names=("others",)))]
    config = SimpleNamespace(tables=[*tables, SimpleNamespace(name="files", row_queue=None)])
    return SimpleNamespace(store=LakeStore(objects, "s3://lake/root"), config=config)  # type: ignore[arg-type]


def _table(*, rows: bool = False) -> Any:
    queue = SimpleNamespace(names=("clicks", "clicks-dlq")) if rows else None
    spec = SimpleNamespace(name="clicks", row_queue=queue, columns={})
    return SimpleNamespace(table_key="landing.t", spec=spec, birth=None, delta=None)


def _list(*subjects: str, paths: tuple[str, ...] = ("who",), sides: tuple[str, ...] = ()) -> Suppression:
    return Suppression("t", KEY, frozenset(map(KEY.digest, subjects)), paths, sides=sides)


def test_a_bad_row_leaves_by_its_text_or_its_reason_and_others_stay(lake: Any, objects: Objects) -> None:
    lines = [
        {"_source_path": "s3://landing/7", "reason": "r", "raw": "7,x"},
        {"_source_path": "s3://landing/7", "reason": "this is not: 7", "raw": "8"},
        {"_source_path": "s3://landing/7", "reason": "r", "raw": "77,x"},
    ]
    place = "root/quarantine/rows/landing.t/1/0.json"
    objects.put("lake", place, "".join(f"{json.dumps(line)}\n" for line in lines))
    objects.put("lake", "root/quarantine/rows/landing.t/2/0.json", f"{json.dumps(lines[0])}\n")
    objects.put("lake", "root/quarantine/rows/landing.other/1/0.json", f"{json.dumps(lines[0])}\n")
    assert [
        (kept.found, kept.rest is None) for kept in kept_objects(lake.config, lake.store, _table(), _list("7"))
    ] == [
        (2, False),
        (1, True),
    ]
    assert erase_kept_objects(lake.config, lake.store, _table(), _list("7")) == 3
    assert objects.bodies == {
        place: f"{json.dumps(lines[2])}\n",
        "root/quarantine/rows/landing.other/1/0.json": f"{json.dumps(lines[0])}\n",
    }
    assert erase_kept_objects(lake.config, lake.store, _table(), _list("7")) == 0


@pytest.mark.parametrize(
    ("line", "leaves"),
    [
        ('{"who": "7", "n": 1}', True),
        ('{"WHO": 7}', True),
        ('{"who": "8", "n": 7}', False),
        ('{"n": 7}', False),
        ('{"who": ["7"]}', True),
        ('{"who": "7"', True),
        ('{"after": {"who": "7"}}', True),
        ('{"after": {"who": null}, "before": {"who": "7"}}', False),
    ],
)
def test_a_row_of_a_queue_is_of_the_subjects_in_its_fields(
    lake: Any, objects: Objects, line: str, leaves: bool
) -> None:
    objects.put("lake", "root/rows/clicks/2026-01-01/1.jsonl", f'{line}\n{{"who": "other"}}\n')
    assert erase_kept_objects(
        lake.config, lake.store, _table(rows=True), _list("7", paths=("who", "after.who"))
    ) == int(leaves)
    (body,) = objects.bodies.values()
    assert (line in body) is not leaves
    assert "other" in body


def test_messages_of_other_tables_queues_stay_and_those_of_an_earlier_queue_leave(lake: Any, objects: Objects) -> None:
    for name, queue in (("1", "clicks"), ("2", "clicks-dlq"), ("3", "others"), ("4", None), ("5", "earlier")):
        row = {"row": {"queue": queue, "message_id": "m", "sent_at": 1}} if queue else {}
        objects.put(
            "lake", f"root/quarantine/messages/{name}.json", json.dumps({"event_id": "e", "body": '{"who": "7', **row})
        )
    assert erase_kept_objects(lake.config, lake.store, _table(rows=True), _list("7")) == 3
    assert sorted(objects.bodies) == ["root/quarantine/messages/3.json", "root/quarantine/messages/4.json"]
    assert erase_kept_objects(lake.config, lake.store, _table(), _list("7")) == 0


def test_what_a_kept_message_says_is_searched_in_its_envelopes(lake: Any, objects: Objects) -> None:
    def published(text: str) -> str:
        envelope = {"Type": "Notification", "TopicArn": "arn:t", "MessageId": "m", "Timestamp": "2026-01-01T00:00:00Z"}
        return json.dumps({**envelope, "Message": text})

    change = '\ufeff{"before": {"who": 7}, "after": {"who": 8}}'
    bodies = {
        "plain": change,
        "once": published(change),
        "twice": published(published(change)),
        "of 8": published('{"before": {"who": 8}}'),
    }
    for name, body in bodies.items():
        message = {"event_id": "e", "body": body, "row": {"queue": "clicks", "message_id": "m", "sent_at": 1}}
        objects.put("lake", f"root/quarantine/messages/{name}.json", json.dumps(message))
    persons = _list("7", paths=("before.who", "after.who"), sides=("before", "after"))
    assert erase_kept_objects(lake.config, lake.store, _table(rows=True), persons) == 3
    assert [*objects.bodies] == ["root/quarantine/messages/of 8.json"]


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ('{"before": {"who": 7, "n": 1.10}, "after": {"who": 8}}', '{"before": null, "after": {"who": 8}}'),
        ('{"After":{"who":"7"},"before":{"who":8,"to":7}}', '{"After":null,"before":{"who":8,"to":7}}'),
        ('{"before": {"who": 7}, "after": {"who": 7}}', None),
        ('{"before": {"who": 7}, "after": {"to": 7, "who": 8}}', '{"before": null, "after": {"to": 7, "who": 8}}'),
        # What names nobody may be the person's, too, and so may a value that is not an identity.
        ('{"before": {"who": 7}, "after": {"who": null, "mail": "x"}}', None),
        ('{"before": {"who": 7}, "after": {"who": [8]}}', None),
        ('{"before": null, "after": {"who": 7}}', None),
    ],
)
def test_of_a_change_the_side_of_another_person_stays(lake: Any, objects: Objects, line: str, rest: str | None) -> None:
    objects.put("lake", "root/rows/clicks/2026-01-01/1.jsonl", f'{line}\n{{"who": 7}}\n')
    paths, sides = ("before.who", "after.who"), ("before", "after")
    assert erase_kept_objects(lake.config, lake.store, _table(rows=True), _list("7", paths=paths, sides=sides)) == 1
    assert [*objects.bodies.values()] == ["".join(f"{text}\n" for text in (rest, '{"who": 7}') if text)]


class _Store:
    """An object. `fails_at` is the place in it from which S3 does not answer."""

    def __init__(self, body: bytes, fails_at: float = float("inf")) -> None:
        self.body, self.fails_at, self.etag = body, fails_at, "1"

    def piece(self, version: S3Object, start: int, length: int) -> bytes:
        if version.etag != self.etag:
            raise ObjectChanged("it is another object")
        if start + length > self.fails_at:
            raise StoreError("S3 did not answer")
        assert 0 < length <= PIECE
        assert start < len(self.body), "S3 refuses a range after the end"
        return self.body[start : start + length]

    def upload(self, bucket: str, key: str, file: Path) -> None:
        self.body, self.etag = file.read_bytes(), "2"


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "_PIECE", PIECE)
    monkeypatch.setattr(kept_module, "SMALL", SMALL)


def _rest(line: bytes) -> bytes | None:
    """Return a line that begins with `-` leaves, and of one that begins with `~` something stays."""
    return None if line[:1] == b"-" else line.upper() if line[:1] == b"~" else line


def _lines(store: Any) -> KeptLines:
    return KeptLines(store, S3Object(S3Address("lake", "k"), "1"), len(store.body), _rest)


@pytest.mark.seeds(150, 3_000)
def test_what_stays_of_lines_is_that_of_the_whole_object(seed: int) -> None:
    random = Random(seed)
    near = [0, 1, 2, *(bound + by for bound in (PIECE, 2 * PIECE, SMALL, SMALL + PIECE) for by in (-2, -1, 0, 1, 2))]
    lines = [
        (random.choice(["-", "~", "a", "\xff"]) + "x" * random.choice(near)).encode("latin-1")[: random.choice(near)]
        for _ in range(random.randint(0, 6))
    ]
    body = b"\n".join(lines) + random.choice([b"", b"\n"])
    whole = body.split(b"\n")
    kept = [_rest(line) for line in whole]
    store = _Store(body)
    assert _lines(store).count() == (sum(body != line for body, line in zip(kept, whole, strict=True)), any(kept))
    _lines(store).keep_rest()
    rest = [line for line in kept if line is not None]
    assert store.body.rstrip(b"\n") == b"\n".join(rest).rstrip(b"\n")
    assert store.body.count(b"\n") - b"\n".join(rest).count(b"\n") in (0, 1)


def test_an_object_of_megabytes_takes_kilobytes_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    store = _Store((b"a" * 99 + b"\n") * 20_000 + b"-\n")
    monkeypatch.setattr(_Store, "upload", lambda self, bucket, key, file: setattr(self, "size", file.stat().st_size))
    tracemalloc.start()
    try:
        assert _lines(store).count() == (1, True)
        _lines(store).keep_rest()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert store.size == 2_000_000  # type: ignore[attr-defined]
    assert peak < 200_000


@pytest.mark.parametrize("fails_at", [0, 1, PIECE, 10 * PIECE])
def test_an_object_of_which_s3_gives_only_a_part_stays_and_the_repetition_finds_it(fails_at: int) -> None:
    body = b"-gone\nstays\n" * 60
    store = _Store(body, fails_at)
    for action in (_lines(store).count, _lines(store).keep_rest):
        with pytest.raises(StoreError, match="did not answer"):
            action()
    assert store.body == body
    store.fails_at = float("inf")
    assert _lines(store).count() == (60, True)
    _lines(store).keep_rest()
    assert store.body == b"stays\n" * 60
    with pytest.raises(ObjectChanged):
        KeptLines(store, S3Object(S3Address("lake", "k"), "1"), len(body), _rest).keep_rest()  # type: ignore[arg-type]


def test_long_lines_are_held_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = []

    class Lock:
        def __enter__(self) -> None:
            alone.append(True)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(capacity, "_ALONE", Lock())
    assert _lines(_Store(b"x" * SMALL + b"\n-\n")).count() == (1, True)
    assert not alone
    assert _lines(_Store(b"x" * (SMALL + PIECE + 1) + b"\n-\n")).count() == (1, True)
    assert alone == [True]
