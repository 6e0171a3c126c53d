"""Decompressed data has a limit before it is in memory, and large objects are in memory one after another."""

from __future__ import annotations

import errno
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from tests.support.lakes.memory import access_to
from tidegate.platform.bronze.prepare.formats import csv_files
from tidegate.platform.bronze.prepare.formats.csv_files import Csv
from tidegate.platform.bronze.prepare.formats.format import Rewrite, SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Utf8
from tidegate.platform.bronze.prepare.load import candidates as other_reader
from tidegate.platform.bronze.prepare.load import readable_files as source_files
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.errors import Misfit, UnavailableError
from tidegate.platform.core.keys.s3_address import S3Object
from tidegate.platform.lake import capacity
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.capacity import Bounded, TooLarge, run_bounded


def candidate(key: str, size: int) -> Candidate:
    return Candidate(key, S3Found("etag", size, 0), PlannedHint(Hint(key), "manifest"))


class Store:
    """A bucket with one object. Records uploads."""

    def __init__(self, body: bytes) -> None:
        self.body, self.uploads, self.read = body, list[bytes](), 0

    @contextmanager
    def open_version(self, version: S3Object) -> Iterator[BinaryIO]:
        self.read += 1
        yield io.BytesIO(self.body)

    def upload(self, bucket: str, key: str, file: Path) -> None:
        self.uploads.append(file.read_bytes())


def rewritten(store: Store, key: str, rewrite: Rewrite) -> bytes:
    access = access_to(store)
    _, size = source_files._rewrite_object(access, candidate(key, len(store.body)), rewrite)
    assert size == len(store.uploads[-1])
    return store.uploads[-1]


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "SMALL", 1_000)
    monkeypatch.setattr(source_files, "SMALL_FILE", 1_000)
    monkeypatch.setattr(Utf8, "limit", 10_000)
    monkeypatch.setattr(csv_files._PlainText, "limit", 10_000)


LATIN = CsvOptions(encoding="latin-1", skip=1)


@pytest.mark.parametrize(("name", "pack"), [("a.json", bytes), ("a.json.gz", gzip.compress)])
@pytest.mark.parametrize("elements", [100, 1_000])
def test_utf_16_of_any_allowed_size_becomes_utf_8(name: str, pack: Any, elements: int) -> None:
    store = Store(pack(("{}\n" * elements).encode("utf-16")))
    assert rewritten(store, name, Utf8()) == b"{}\n" * elements


@pytest.mark.limit("Files", "JSON in UTF-16 is read up to 4 GiB of a file, unpacked.")
def test_a_bomb_of_json_is_refused_before_it_is_held() -> None:
    bomb = Store(gzip.compress(("[" + " " * 5_000_000 + "]").encode("utf-16")))
    with pytest.raises(Misfit, match="unpacked, it has more than"):
        rewritten(bomb, "a.json.gz", Utf8())
    assert not bomb.uploads


def test_a_bomb_of_csv_is_refused_before_it_is_on_the_disk() -> None:
    plain = b"note\na,b\n" + b"1,\xfc\n" * 3_000
    with pytest.raises(Misfit, match="unpacked, it has more than"):
        rewritten(Store(gzip.compress(plain)), "a.csv.gz", csv_files._PlainText(LATIN))
    # An object without compression has the size that the bucket reports.
    assert rewritten(Store(plain), "a.csv", csv_files._PlainText(LATIN)) == b"a,b\n" + "1,ü\n".encode() * 3_000


def test_a_line_without_an_end_before_the_header_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "HEAD_BYTES", 100)
    with pytest.raises(Misfit, match="a line before its header has 100 characters or more"):
        csv_files._PlainText(LATIN).write(io.BytesIO(b"x" * 5_000), io.BytesIO())


def test_a_full_disk_fails_the_run_and_blames_no_file() -> None:
    class Full(Rewrite):
        limit, streams, too_large = 10, True, ""

        def write(self, body: BinaryIO, target: BinaryIO) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UnavailableError, match=r"is full, and a\.csv has to be rewritten there; free some of it"):
        rewritten(Store(b"x"), "a.csv", Full())


def test_a_row_that_is_too_long_is_the_file_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "SMALL", 10)
    monkeypatch.setattr(other_reader, "MAX_ROW_CHARACTERS", 1_000)
    store = Store(b'a,b\n1,"' + b"x" * 5_000)
    source = Bucket(store, "landing")  # type: ignore[arg-type]
    spec: Any = SimpleNamespace(csv=CsvOptions())
    file = SourceFile(candidate("a.csv", len(store.body)), Csv(), "s3a://landing/a.csv", len(store.body), ("a", "b"))
    ((_, reason),) = other_reader.find_misread(source, spec, [file])
    assert "a row has more than 1,000 characters" in str(reason)


def test_little_is_held_by_many_and_much_by_one() -> None:
    together, two = Barrier(3), Barrier(2)
    alone: list[bool] = []

    def work(limit: int) -> None:
        if limit == 10:
            together.wait(20)  # Three at once, or it breaks.
            raise TooLarge
        try:
            two.wait(0.2)
            alone.append(False)
        except BrokenBarrierError:
            alone.append(True)

    threads = [Thread(target=run_bounded, args=(work, 100), kwargs={"shared_max_bytes": 10}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert alone == [True] * 3


def test_more_than_the_limit_is_reported() -> None:
    asked: list[int] = []

    def work(limit: int) -> None:
        asked.append(limit)
        raise TooLarge

    for limit, tried in ((5, [5]), (100, [10, 100])):
        with pytest.raises(TooLarge):
            run_bounded(work, limit, shared_max_bytes=10)
        assert asked == tried
        asked.clear()


def test_a_bounded_stream_gives_all_that_it_may() -> None:
    assert io.BufferedReader(Bounded(io.BytesIO(b"x" * 100), 100)).read() == b"x" * 100
    with pytest.raises(TooLarge):
        io.BufferedReader(Bounded(io.BytesIO(b"x" * 101), 100)).read()
