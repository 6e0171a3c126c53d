"""Work on files ends when its time is over, in whatever thread and at whatever call."""

from __future__ import annotations

import gzip
import inspect
import io
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import pytest

from tests.unit.platform.lake.parquet.test_footers import tail
from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.gzip_members import GzipMembers
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.lake import deadline
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.capacity import Bounded
from tidegate.platform.lake.deadline import DeadlineExceeded, TimedStream, limit_seconds, seconds_left
from tidegate.platform.lake.parquet import copies
from tidegate.platform.lake.parquet.footers import read_footers
from tidegate.platform.lake.threads import parallel

PACKAGE = Path(deadline.__file__).parents[1]
VERSION = S3Object(S3Address("b", "k"), "e")
#: What brings bytes of one version of an object here: each function of the store that takes one, but for two.
READS = [
    name
    for name, function in inspect.getmembers(ObjectStore, inspect.isfunction)
    if "S3Object" in function.__annotations__.values() and name not in ("copy", "delete_if")
]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_each_thread_of_limited_work_has_its_limit(clock: Any) -> None:
    assert list(parallel(lambda _: seconds_left(), range(3))) == [float("inf")] * 3
    with limit_seconds(10):
        clock.now = 4
        assert list(parallel(lambda _: seconds_left(), range(40))) == [6.0] * 40
        clock.now = 10
        with pytest.raises(DeadlineExceeded):
            list(parallel(lambda _: seconds_left(), range(3)))
    assert seconds_left() == float("inf")


def test_a_preparation_has_no_threads_without_its_limit() -> None:
    files = [*PACKAGE.glob("bronze/**/*.py"), *PACKAGE.glob("lake/parquet/*.py")]
    found = [str(file) for file in files if "ThreadPoolExecutor" in file.read_text()]
    assert (found, len(files) > 50) == ([], True), "use `parallel`"


@pytest.mark.parametrize("name", READS)
def test_no_object_is_asked_for_when_the_time_is_over(clock: Any, name: str) -> None:
    assert {"piece", "open_version", "tail"} <= {*READS}
    asked: list[Any] = []
    store = ObjectStore(cast(Any, SimpleNamespace(get_object=asked.append)))
    function = getattr(store, name)
    given = {"start": 0, "length": 1}
    others = [given[parameter] for parameter in inspect.signature(function).parameters if parameter in given]
    with limit_seconds(1):
        clock.now = 1
        with pytest.raises(DeadlineExceeded), function(VERSION, *others):
            pass
    assert asked == []


def test_a_read_that_began_in_time_ends_with_it(clock: Any) -> None:
    client: Any = SimpleNamespace(get_object=lambda **_: {"Body": io.BytesIO(b"x" * 100)})
    with limit_seconds(1), ObjectStore(client).open_version(VERSION) as body:
        assert (body.read(10), body.readinto(bytearray(10))) == (b"x" * 10, 10)  # type: ignore[attr-defined]
        buffered = io.BufferedReader(cast(Any, body))
        clock.now = 1
        for read in (body.read, lambda: body.read(1), lambda: buffered.read(1)):
            with pytest.raises(DeadlineExceeded):
                read()
        clock.now = 0
        assert body.read() == b"x" * 80


def test_content_that_takes_no_bytes_to_pack_takes_time(clock: Any) -> None:
    """Members of gzip without content give none to ask the time for, and a megabyte may have a gigabyte."""

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            clock.now += 1
            return super().read(size)

    with limit_seconds(3), pytest.raises(DeadlineExceeded):
        GzipMembers(cast(BinaryIO, TimedStream(Slow(gzip.compress(b"") * 50_000)))).read(1)
    body = Bounded(cast(BinaryIO, GzipMembers(io.BytesIO(gzip.compress(b"x" * 100)))), 100)
    with limit_seconds(3):
        assert body.read(10) == b"x" * 10
        clock.now += 3
        with pytest.raises(DeadlineExceeded):
            body.read(10)


def test_no_further_footer_is_parsed_when_the_time_is_over(clock: Any) -> None:
    with limit_seconds(1):
        assert len(read_footers([tail(1)])) == 1
        clock.now = 1
        with pytest.raises(DeadlineExceeded):
            read_footers([tail(1)])


@pytest.mark.parametrize(("seconds", "error"), [(100.0, DeadlineExceeded), (10_000.0, BadParquet)])
def test_a_copy_in_progress_ends_with_the_time_and_then_no_file_is_at_fault(
    clock: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, error: type[Exception]
) -> None:
    def run(command: Any, *, timeout: float, **_: object) -> None:
        clock.now += timeout
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    with limit_seconds(seconds), pytest.raises(error):
        copies._convert(tmp_path / "original", tmp_path / "copy", {})
    assert clock.now == min(seconds, copies._DEADLINE)
