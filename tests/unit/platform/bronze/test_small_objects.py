"""Small objects are read in the step look: one request for each, within limits."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest

from tidegate.platform.bronze import small_objects
from tidegate.platform.bronze.small_objects import CONTENT_BYTES, SMALL_BYTES, Held, SmallObjects, content
from tidegate.platform.core.bronze.object_state import Probe, S3Found, S3Gone


class Bucket:
    """Objects by key. Records the requests."""

    def __init__(self, **bodies: bytes) -> None:
        self.bodies = bodies
        self.asked: list[str] = []

    def _found(self, key: str) -> Probe:
        return S3Found("etag", len(self.bodies[key]), 0) if key in self.bodies else S3Gone()

    name = "landing"

    @property
    def objects(self) -> Bucket:
        return self

    def head(self, key: str) -> Probe:
        self.asked.append(f"HEAD {key}")
        return self._found(key)

    def head_with_body(self, bucket: str, key: str, most: int) -> tuple[Probe, bytes | None]:
        self.asked.append(f"GET {key}")
        body = self.bodies.get(key)
        return self._found(key), body if body is not None and len(body) <= most else None


def probed(bucket: Bucket, *keys: str, sizes: dict[str, int] | None = None) -> list[Any]:
    small = SmallObjects(bucket)  # type: ignore[arg-type]
    return [getattr(small.probe(key, (sizes or {}).get(key)), "body", None) for key in keys]


def test_a_small_object_comes_with_the_request_that_looks_at_it() -> None:
    bucket = Bucket(a=b'{"id": 1}\n')
    assert probed(bucket, "a") == [b'{"id": 1}\n']
    assert bucket.asked == ["GET a"]


def test_what_an_event_says_is_large_is_only_looked_at() -> None:
    bucket = Bucket(a=b"x" * (SMALL_BYTES + 1))
    assert probed(bucket, "a", sizes={"a": SMALL_BYTES + 1}) == [None]
    assert bucket.asked == ["HEAD a"]


def test_of_an_object_that_proves_larger_nothing_is_held() -> None:
    assert probed(Bucket(a=b"x" * (SMALL_BYTES + 1), b=b"x" * SMALL_BYTES, c=b""), "a", "b", "c") == [
        None,
        b"x" * SMALL_BYTES,
        None,
    ]


def test_an_object_that_is_gone_is_gone() -> None:
    assert SmallObjects(Bucket()).probe("a", None) == S3Gone()  # type: ignore[arg-type]


def test_a_batch_holds_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_objects, "HELD_BYTES", 25)
    bucket = Bucket(a=b"x" * 10, b=b"x" * 10, c=b"x" * 10, d=b"x" * 5, e=b"x")
    assert [body and len(body) for body in probed(bucket, "a", "b", "c", "d", "e")] == [10, 10, None, 5, None]
    assert bucket.asked[-1] == "HEAD e", "nothing is read that could not be held"


def test_what_does_not_fit_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_objects, "HELD_BYTES", 10)
    held = Held()
    assert [held.take(size) for size in (11, 4, 7, 6, 1)] == [False, True, False, True, False]
    assert held.full


def test_the_content_is_what_a_reader_of_files_would_read() -> None:
    rows = b'{"id": 1}\n' * 3
    assert content("t/a.json", rows) == rows
    assert content("t/a.json.gz", gzip.compress(rows)) == rows
    # Concatenated gzip files: each is a member.
    assert content("t/a.json.gz", gzip.compress(rows) + gzip.compress(rows)) == rows * 2


def test_what_is_not_a_whole_gzip_is_left_to_the_reader_that_says_so() -> None:
    packed = gzip.compress(random.Random(1).randbytes(1000))
    assert content("t/a.json.gz", packed[:-20]) is None
    assert content("t/a.json.gz", b'{"id": 1}\n') is None
    assert content("t/a.json.gz", packed + b"rubbish") is None


def test_a_small_object_that_unpacks_to_much_is_not_held() -> None:
    assert content("t/a.json.gz", gzip.compress(b"x" * CONTENT_BYTES)) == b"x" * CONTENT_BYTES
    assert content("t/a.json.gz", gzip.compress(b"x" * (CONTENT_BYTES + 1))) is None
    assert content("t/a.json.gz", gzip.compress(b"x" * CONTENT_BYTES) + gzip.compress(b"x")) is None
