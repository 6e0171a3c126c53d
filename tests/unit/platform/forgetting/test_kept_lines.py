"""An object of any size is searched and written again in little memory, and is complete at all times."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.forgetting import kept_lines
from tidegate.platform.forgetting.kept_lines import KeptLines
from tidegate.platform.lake import room
from tidegate.platform.lake.aws.s3 import ObjectChanged, StoreError

PIECE, SMALL = 64, 200


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
    monkeypatch.setattr(kept_lines, "_PIECE", PIECE)
    monkeypatch.setattr(kept_lines, "SMALL", SMALL)


def _rest(line: bytes) -> bytes | None:
    """A line that begins with `-` leaves, and of one that begins with `~` something stays."""
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
    assert _lines(store).count() == (sum(one != line for one, line in zip(kept, whole, strict=True)), any(kept))
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

    monkeypatch.setattr(room, "_ALONE", Lock())
    assert _lines(_Store(b"x" * SMALL + b"\n-\n")).count() == (1, True)
    assert not alone
    assert _lines(_Store(b"x" * (SMALL + PIECE + 1) + b"\n-\n")).count() == (1, True)
    assert alone == [True]
