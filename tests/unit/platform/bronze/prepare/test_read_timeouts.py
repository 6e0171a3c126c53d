"""Files whose read takes too long: the next batch has fewer of them, until they are read or one is alone."""

from __future__ import annotations

import gzip
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest
import yaml
from pyspark.errors import PySparkException

from tests.support.lakes.memory import access_to, memory_lake
from tests.support.lakes.world import BAD, World
from tidegate.assets.bronze import shared_job
from tidegate.platform.bronze.completion import datasets
from tidegate.platform.bronze.look import _sort_manifests
from tidegate.platform.bronze.prepare import read_timeouts
from tidegate.platform.bronze.prepare.file_access import file_access
from tidegate.platform.bronze.prepare.formats.csv_files import Csv
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Utf8
from tidegate.platform.bronze.prepare.load import readable_files
from tidegate.platform.bronze.prepare.load.candidates import find_misread
from tidegate.platform.bronze.prepare.load.server_losses import (
    quarantine_reason,
    require_server,
    server_lost,
    sets_to_read,
)
from tidegate.platform.bronze.prepare.read_timeouts import MAX_SECONDS, keep_first_part, limit_reading
from tidegate.platform.bronze.run import READS_SECONDS
from tidegate.platform.core.bronze.hint import Event, Hint, Rebuild, Redriven, Replacement
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint, make_plan
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.keys.s3_address import S3Object
from tidegate.platform.lake import deadline
from tidegate.platform.lake.aws.bucket import Bucket

ORDERS = "landing.orders"
HOUR = 3600.0


@pytest.fixture
def table() -> Any:
    return memory_lake("orders", delta=SimpleNamespace(session=None)).table(ORDERS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a clock of the reads: seconds that the read in the context takes."""
    clock = SimpleNamespace(seconds=0.0)

    @contextmanager
    def limit_call_time(_: object, limit: float) -> Iterator[Any]:
        yield lambda: clock.seconds > limit

    monkeypatch.setattr(read_timeouts, "limit_call_time", limit_call_time)
    return clock


def _planned(table: Any) -> tuple[list[str], Plan]:
    """Take all hints, as the step look does."""
    ids = [manifest.id for manifest in _sort_manifests(table.inbox.waiting_manifests())]
    taken = [PlannedHint(hint, manifest.id) for manifest in table.inbox.read(ids) for hint in manifest.hints]
    found = dict.fromkeys([item.hint.key for item in taken], S3Found("e1", 1, 1))
    return ids, make_plan(taken, found, {}, registered=False)


def _work_off(table: Any, clock: Any, seconds: Mapping[str, float]) -> tuple[int, set[str], set[str]]:
    """Run the table until nothing waits.

    Returns the number of reads that took too long, and the keys that were loaded and quarantined.
    """
    late, loaded, refused = 0, set[str](), set[str]()
    for n in range(1, 200):
        ids, plan = _planned(table)
        if not ids:
            return late, loaded, refused
        keep_first_part(plan)
        bad = {row.key for row in plan.rows if row.status == "quarantined"}
        some = plan.candidates
        try:
            with limit_reading(table.table_key, table.inbox, table.delta, plan, HOUR):
                clock.seconds = sum(seconds[candidate.key] for candidate in some)
                if clock.seconds > MAX_SECONDS:
                    raise PySparkException("[OPERATION_CANCELED]")
        except UnavailableError:
            late += 1
            continue
        finally:
            clock.seconds = 0
        loaded |= {candidate.key for candidate in some}
        refused |= bad
        if plan.deferred:
            table.inbox.put([Manifest.from_deferred(ORDERS, n, "d" * 64, plan.deferred)])
        table.inbox.delete(ids)
    raise AssertionError("the table never ends")


@pytest.mark.parametrize("files", [1, 2, 5, 17, 200])
@pytest.mark.parametrize("at_fault", [0, 0.5, 1])
def test_a_file_whose_read_never_ends_is_found_and_all_others_are_loaded(
    table: Any, clock: Any, files: int, at_fault: float
) -> None:
    keys = [f"orders/{i}.json" for i in range(files)]
    endless = keys[int((files - 1) * at_fault)]
    table.inbox.put([Manifest.create(ORDERS, "intake", [Hint(key, Event(f"{key}#0")) for key in keys])])
    late, loaded, refused = _work_off(table, clock, {key: 1e9 if key == endless else 1.0 for key in keys})
    assert (loaded, refused) == ({*keys} - {endless}, {endless})
    assert late <= 8


@pytest.mark.parametrize("total", [0.5, 1.1, 8])
def test_files_that_are_only_slow_together_are_all_loaded_in_several_batches(
    table: Any, clock: Any, total: float
) -> None:
    keys = [f"orders/{i}.json" for i in range(100)]
    table.inbox.put([Manifest.create(ORDERS, "intake", [Hint(key, Event(f"{key}#0")) for key in keys])])
    late, loaded, refused = _work_off(table, clock, dict.fromkeys(keys, total * MAX_SECONDS / len(keys)))
    assert (loaded, refused) == ({*keys}, set())
    assert (late > 0) is (total > 1)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), RuntimeError("a loss"), PySparkException("another fault")])
def test_only_the_end_of_the_time_is_noted(table: Any, clock: Any, end: BaseException) -> None:
    """A person who ends a run blames no file. What else ends a read is noted elsewhere, or is nobody's fault."""
    candidate = Candidate("a", S3Found("e1", 1, 1), PlannedHint(Hint("a"), "m"))
    with pytest.raises(type(end)), limit_reading(table.table_key, table.inbox, table.delta, Plan([candidate]), HOUR):
        raise end
    assert table.inbox.waiting_manifests() == []
    clock.seconds = MAX_SECONDS + 1
    with (
        pytest.raises(UnavailableError),
        limit_reading(table.table_key, table.inbox, table.delta, Plan([candidate]), HOUR),
    ):
        raise PySparkException("[OPERATION_CANCELED]")
    assert len(table.inbox.waiting_manifests()) == 1


def test_a_server_that_ends_a_read_is_not_lost(table: Any) -> None:
    """It ends the question whether it is alive, too, because that comes from the read that takes too long."""

    class Ended(PySparkException):
        def getCondition(self) -> str:  # noqa: N802
            return "OPERATION_CANCELED"

    def end() -> None:
        raise Ended("[OPERATION_CANCELED]")

    table.delta.check_session_alive = end
    require_server(file_access(table).server, [])
    assert table.inbox.waiting_manifests() == []


@pytest.mark.limit(
    "Files",
    "A file that is read for 45 minutes, alone and twice, is quarantined, and so is a dataset of a completion signal.",
)
def test_a_loss_of_the_server_and_a_long_read_are_two_things(table: Any, clock: Any) -> None:
    table.inbox.put([Manifest.create(ORDERS, "intake", [Hint("a", Event("a#0"))])])
    clock.seconds = MAX_SECONDS + 1
    for _ in range(2):
        _, plan = _planned(table)
        (candidate,) = plan.candidates
        assert quarantine_reason(plan, candidate) is None
        server_lost(
            file_access(table).server,
            [SimpleNamespace(candidate=candidate)],
        )  # type: ignore[list-item]
        with (
            pytest.raises(UnavailableError, match="read a alone of"),
            limit_reading(table.table_key, table.inbox, table.delta, plan, HOUR),
        ):
            raise PySparkException("[OPERATION_CANCELED]")
    _, plan = _planned(table)
    (candidate,) = plan.candidates
    assert len(sets_to_read(plan, [SimpleNamespace(candidate=candidate)])) == 1  # type: ignore[list-item]
    assert "the Spark server was lost 2 times" in (quarantine_reason(plan, candidate) or "")
    keep_first_part(plan)
    ((row,), candidates) = plan.rows[-1:], plan.candidates
    assert (candidates, row.key, row.status) == ([], "a", "quarantined")
    assert "did not finish within 45 minutes" in (row.reason or "")
    assert "tidegate redrive" in (row.reason or "")


def test_a_read_ends_before_its_run_does() -> None:
    shipped = yaml.safe_load((Path(read_timeouts.__file__).parents[3] / "platform" / "dagster.yaml").read_text())
    assert shipped["run_monitoring"]["max_runtime_seconds"] >= shared_job.SECONDS + READS_SECONDS + 120
    assert MAX_SECONDS + 600 <= READS_SECONDS


def _misread(key: str, body: bytes) -> None:
    file = SourceFile(_candidate(key, body), Csv(), f"s3a://landing/{key}", len(body), ("a", "b"))
    spec: Any = SimpleNamespace(csv=CsvOptions())
    find_misread(Bucket(_Store(body), "landing"), spec, [file])  # type: ignore[arg-type]


def _rewrite(key: str, body: bytes) -> None:
    readable_files._rewrite_object(access_to(_Store(body)), _candidate(key, body), Utf8())


class _Store:
    """A bucket with one object, whose bytes take no time."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    @contextmanager
    def open_version(self, version: S3Object) -> Iterator[BinaryIO]:
        yield io.BytesIO(self._body)

    def upload(self, *_: object) -> None:
        raise AssertionError("it is not read to its end")


def _candidate(key: str, body: bytes) -> Candidate:
    return Candidate(key, S3Found("e1", len(body), 1), PlannedHint(Hint(key), "m"))


_ROWS = b",\n" * 50_000


@pytest.mark.parametrize(
    ("work", "key", "body"),
    [
        (_misread, "a.csv", _ROWS),
        (_misread, "a.csv.gz", gzip.compress(_ROWS)),
        (_misread, "a.csv", b'"' + b"\n" * 50_000),
        (_rewrite, "a.json.gz", gzip.compress(("{}\n" * 200_000).encode("utf-16"))),
        (_rewrite, "a.json", ("{}\n" * 200_000).encode("utf-16")),
    ],
)
def test_what_the_run_itself_reads_has_the_time_of_the_batch(
    table: Any, clock: Any, monkeypatch: pytest.MonkeyPatch, work: Any, key: str, body: bytes
) -> None:
    """Few bytes of gzip may unpack to very many, and the server is not asked meanwhile."""
    ticks = itertools.count(0, 1000)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    with (
        pytest.raises(UnavailableError, match=f"read {key} alone of"),
        limit_reading(table.table_key, table.inbox, table.delta, Plan([_candidate(key, body)]), HOUR),
    ):
        work(key, body)
    assert next(ticks) <= 6_000, "it ended at once when the time was over"
    ((hint,),) = [
        manifest.hints for manifest in table.inbox.read([item.id for item in table.inbox.waiting_manifests()])
    ]
    assert (hint.key, hint.cause.name) == (key, "ReadTooLongAlone")


def test_a_read_that_had_less_than_its_time_blames_nothing(table: Any, clock: Any) -> None:
    table.inbox.put([Manifest.create(ORDERS, "intake", [Hint("a", Event("a#0"))])])
    clock.seconds = MAX_SECONDS + 1
    for seconds in [MAX_SECONDS - 1] * 3 + [MAX_SECONDS] * 2:
        _, plan = _planned(table)
        keep_first_part(plan)
        assert plan.candidates
        minutes = int(seconds // 60)
        with (
            pytest.raises(UnavailableError, match=rf"within {minutes} minutes"),
            limit_reading(table.table_key, table.inbox, table.delta, plan, seconds),
        ):
            raise PySparkException("[OPERATION_CANCELED]")
    _, plan = _planned(table)
    keep_first_part(plan)
    assert plan.candidates == []


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(read_timeouts, "limit_call_time", lambda session, limit: session.limit_call_time(limit))
    return World("_SUCCESS")


def _signal(keys: Sequence[str]) -> str:
    return f"{keys[0].rpartition('/')[0]}/_SUCCESS"


@pytest.mark.seeds(60, 2000, first=0)
def test_each_dataset_and_file_is_loaded_or_ends_whatever_is_slow(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Datasets of files, some endless, some slow together, some with a bad part, and files that are read again."""
    chance = Random(seed)
    monkeypatch.setattr(datasets, "MAX_SIGNALS", chance.choice([3, 100]))
    monkeypatch.setattr(datasets, "BATCH_BYTES", chance.choice([10, 1000]))
    again = [f"t/old/{n}.json" for n in range(chance.choice([0, 0, 1, 5]))]
    if again:
        world.run(*map(world.put, again), world.put("t/old/_SUCCESS"))
    sets = [[f"t/{n}/{m}.json" for m in range(chance.randint(1, 6))] for n in range(chance.choice([1, 2, 5, 20]))]
    units = [*sets, *([key] for key in again)]
    endless = [unit for unit in units if chance.random() < chance.choice([0, 0.1, 0.5])]
    slow = chance.choice([1, MAX_SECONDS / 8, 0.9 * MAX_SECONDS])
    world.seconds = {key: slow / len(unit) * chance.random() for unit in units for key in unit}
    world.seconds |= {chance.choice(unit): 1e9 for unit in endless}
    bad = [keys for keys in sets if chance.random() < 0.1]
    for keys in sets:
        broken = chance.choice(keys) if keys in bad else None
        for key in keys:
            world.inbox.append(world.put(key, BAD if key == broken else b"{}"))
        world.inbox.append(world.put(_signal(keys), b""))
    world.inbox += [world.hint(key, Rebuild(Replacement(world.n, world.n))) for key in again]
    began = len(world.reads)
    while world.inbox:
        world.run()
        assert len(world.reads) - began < 4 * len(units) + 12, "the table is never read to its end"
    assert max(world.reads) <= MAX_SECONDS, "a run that reads for so long is ended before it can note anything"
    for keys in sets:
        signal = _signal(keys)
        if keys in endless or keys in bad:
            assert world.table.keys().isdisjoint(keys), "a part of a dataset is in the table"
            assert world.status(signal) == "quarantined"
            assert any(why in world.reason(signal) for why in ("did not finish within 45 minutes", "it is bad"))
        else:
            assert world.table.keys() >= {*keys}
            assert world.status(signal) == "complete"
    for key in again:
        last = [row for row in world.rows if row.key == key and row.status != "duplicate"][-1]
        assert ("read again, and refused" in (last.reason or "")) is ([key] in endless)
    events = [row.event_id for row in world.rows if row.event_id]
    rebuilt = {f"m#{world.events - n}" for n in range(len(again))}
    assert {*events} == {f"m#{n + 1}" for n in range(world.events)} - rebuilt, "every event has a row"
    world.seconds = {}
    world.inbox += [world.hint(_signal(keys), Redriven()) for keys in endless if keys in sets]
    for _ in range(40):
        world.run()
    assert all(world.table.keys() >= {*keys} for keys in endless if keys not in bad), "a redrive is the way back"


def test_a_dataset_that_is_written_again_is_not_blamed_for_its_former_bytes(world: World) -> None:
    """Its signal is empty, so it has the same bytes each time."""
    world.seconds = {"t/1/a.json": 1e9}
    world.run(world.put("t/1/a.json"), world.put("t/1/_SUCCESS", b""))
    world.run(world.put("t/1/a.json", b'{"b": 1}'), world.put("t/1/_SUCCESS", b""))
    world.seconds = {"t/1/a.json": 1}
    world.run()
    assert world.table.keys() == {"t/1/a.json"}


def test_the_time_of_a_batch_is_not_given_again_when_a_part_of_it_leaves(world: World) -> None:
    """Otherwise its run would be ended from outside each time, and would note nothing."""
    world.seconds = {"t/1/a.json": 2100.0, "t/2/b.json": 1.0}
    world.run(
        *(world.put("t/1/a.json"), world.put("t/1/_SUCCESS", b"")),
        *(world.put("t/2/b.json", BAD), world.put("t/2/_SUCCESS", b"")),
    )
    assert (world.reads, world.table) == ([MAX_SECONDS], {})
    assert {hint.cause.name for hint in world.noted} == {"ReadTooLong"}, "no dataset is blamed for the time of both"
    world.run()
    world.run()
    assert world.table.keys() == {"t/1/a.json"}
    assert (world.status("t/2/_SUCCESS"), world.inbox) == ("quarantined", [])
