"""Files whose read takes too long: the next batch has fewer of them, until they are read or one is alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pyspark.errors import PySparkException

from tests.support.lakes.objects import Objects
from tidegate.assets.bronze.look import _in_order
from tidegate.assets.bronze.prepare.load import late_reads
from tidegate.assets.bronze.prepare.load.late_reads import ReadTooLong, first_part, reading
from tidegate.assets.bronze.prepare.load.server_losses import (
    MAX_SECONDS,
    quarantine_reason,
    require_server,
    server_lost,
    sets_to_read,
)
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Plan, TakenHint, make_plan
from tidegate.resources.lake_root.store import LakeStore

ORDERS = "landing.orders"


@pytest.fixture
def table() -> Any:
    config = SimpleNamespace(table_for=lambda key: key)
    lake: Any = SimpleNamespace(store=LakeStore(Objects(), "s3://lake/root"), config=config)  # type: ignore[arg-type]
    delta = SimpleNamespace(session=None)
    return SimpleNamespace(table_key=ORDERS, lake=lake, inbox=lake.store.inbox.of(ORDERS), delta=delta)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock of the reads: seconds that the read in the context takes."""
    clock = SimpleNamespace(seconds=0.0)

    @contextmanager
    def ended_after(_: object, limit: float) -> Iterator[Any]:
        yield lambda: clock.seconds > limit

    monkeypatch.setattr(late_reads, "ended_after", ended_after)
    return clock


def _planned(table: Any) -> tuple[list[str], Plan]:
    """Take all hints, as the step look does."""
    ids = [manifest.id for manifest in _in_order(table.inbox.waiting())]
    taken = [TakenHint(hint, manifest.id) for manifest in table.inbox.read(ids) for hint in manifest.hints]
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
        prepared = PreparedBatch(plan)
        some = first_part(plan, plan.candidates, prepared)
        bad = {candidate.key for candidate in some if quarantine_reason(plan, candidate)}
        some = [candidate for candidate in some if candidate.key not in bad]
        try:
            with reading(table, some):
                clock.seconds = sum(seconds[candidate.key] for candidate in some)
                if clock.seconds > MAX_SECONDS:
                    raise PySparkException("[OPERATION_CANCELED]")
        except ReadTooLong:
            late += 1
            continue
        finally:
            clock.seconds = 0
        loaded |= {candidate.key for candidate in some}
        refused |= bad
        if prepared.deferred:
            table.inbox.put([Manifest.deferred(ORDERS, n, "d" * 64, prepared.deferred)])
        table.inbox.delete(ids)
    raise AssertionError("the table never ends")


@pytest.mark.parametrize("files", [1, 2, 5, 17, 200])
@pytest.mark.parametrize("at_fault", [0, 0.5, 1])
def test_a_file_whose_read_never_ends_is_found_and_all_others_are_loaded(
    table: Any, clock: Any, files: int, at_fault: float
) -> None:
    keys = [f"orders/{i}.json" for i in range(files)]
    endless = keys[int((files - 1) * at_fault)]
    table.inbox.put([Manifest.new(ORDERS, "intake", [Hint(key, Event(f"{key}#0")) for key in keys])])
    late, loaded, refused = _work_off(table, clock, {key: 1e9 if key == endless else 1.0 for key in keys})
    assert (loaded, refused) == ({*keys} - {endless}, {endless})
    assert late <= 8


@pytest.mark.parametrize("total", [0.5, 1.1, 8])
def test_files_that_are_only_slow_together_are_all_loaded_in_several_batches(
    table: Any, clock: Any, total: float
) -> None:
    keys = [f"orders/{i}.json" for i in range(100)]
    table.inbox.put([Manifest.new(ORDERS, "intake", [Hint(key, Event(f"{key}#0")) for key in keys])])
    late, loaded, refused = _work_off(table, clock, dict.fromkeys(keys, total * MAX_SECONDS / len(keys)))
    assert (loaded, refused) == ({*keys}, set())
    assert (late > 0) is (total > 1)


@pytest.mark.parametrize("end", [KeyboardInterrupt(), RuntimeError("a loss"), PySparkException("another fault")])
def test_only_the_end_of_the_time_is_noted(table: Any, clock: Any, end: BaseException) -> None:
    """A person who ends a run blames no file. What else ends a read is noted elsewhere, or is nobody's fault."""
    one = Candidate("a", S3Found("e1", 1, 1), TakenHint(Hint("a"), "m"))
    with pytest.raises(type(end)), reading(table, [one]):
        raise end
    assert table.inbox.waiting() == []
    clock.seconds = MAX_SECONDS + 1
    with pytest.raises(ReadTooLong), reading(table, [one]):
        raise PySparkException("[OPERATION_CANCELED]")
    assert len(table.inbox.waiting()) == 1


def test_a_server_that_ends_a_read_is_not_lost(table: Any) -> None:
    """It ends the question whether it is alive, too, because that comes from the read that takes too long."""

    class Ended(PySparkException):
        def getCondition(self) -> str:  # noqa: N802
            return "OPERATION_CANCELED"

    def end() -> None:
        raise Ended("[OPERATION_CANCELED]")

    table.delta.check_session_alive = end
    require_server(table, [])
    assert table.inbox.waiting() == []


@pytest.mark.limit("Files", "A file that the Spark server reads for 45 minutes, alone and twice, is quarantined.")
def test_a_loss_of_the_server_and_a_long_read_are_two_things(table: Any, clock: Any) -> None:
    table.inbox.put([Manifest.new(ORDERS, "intake", [Hint("a", Event("a#0"))])])
    clock.seconds = MAX_SECONDS + 1
    for _ in range(2):
        _, plan = _planned(table)
        (one,) = plan.candidates
        assert quarantine_reason(plan, one) is None
        server_lost(table, [SimpleNamespace(candidate=one)])  # type: ignore[list-item]
        with pytest.raises(ReadTooLong, match="read a alone of"), reading(table, [one]):
            raise PySparkException("[OPERATION_CANCELED]")
    _, plan = _planned(table)
    reason = quarantine_reason(plan, plan.candidates[0])
    assert reason is not None
    assert "did not finish within 45 minutes" in reason
    assert "tidegate redrive" in reason
    assert len(sets_to_read(plan, [SimpleNamespace(candidate=plan.candidates[0])])) == 1  # type: ignore[list-item]


def test_a_read_ends_before_its_run_does() -> None:
    shipped = yaml.safe_load((Path(late_reads.__file__).parents[4] / "platform" / "dagster.yaml").read_text())
    assert 0.8 * shipped["run_monitoring"]["max_runtime_seconds"] >= MAX_SECONDS
