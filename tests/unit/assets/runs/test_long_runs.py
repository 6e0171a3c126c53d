"""A step whose work cannot be divided gets the time for it, however its run was started."""

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import RunRecord
from dagster._daemon.monitoring import run_monitoring

from tidegate.assets.runs.long_runs import SECONDS, long_run
from tidegate.platform.maintenance.tables import SHORTEST

HOUR = 3600


class Ended(Exception):
    """Dagster ends the run."""


@dg.asset
def short() -> None:
    pass


@dg.asset
@long_run
def long() -> None:
    pass


@dg.asset(check_specs=[dg.AssetCheckSpec("right", asset="yielding")])
@long_run
def yielding(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
    yield dg.MaterializeResult(metadata={"run": context.run_id}, check_results=[dg.AssetCheckResult(passed=True)])


@dg.op
@long_run
def operation(context: dg.OpExecutionContext) -> None:
    context.add_output_metadata({"run": context.run_id})


@dg.job
def job() -> None:
    operation()


def of(instance: dg.DagsterInstance, step: Any, **tags: str) -> RunRecord:
    """Return the record of a run of a step. Nothing but the step knows how long it takes."""
    named = {f"dagster/{name}": value for name, value in tags.items()}
    if isinstance(step, dg.JobDefinition):
        result: Any = step.execute_in_process(instance=instance, tags=named)
    else:
        result = dg.materialize([step], instance=instance, tags=named)
    assert result.success
    record = instance.get_run_record_by_id(result.run_id)
    assert record is not None
    return record


def is_ended(instance: dg.DagsterInstance, record: RunRecord, seconds: float, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether Dagster's daemon ends a run so many seconds after its start."""

    def end(*given: Any, **named: Any) -> None:
        raise Ended

    assert record.start_time is not None
    at = record.start_time + seconds
    monkeypatch.setattr(run_monitoring, "get_current_timestamp", lambda: at)
    double: Any = SimpleNamespace(report_run_canceling=end)
    try:
        default = float(instance.run_monitoring_max_runtime_seconds)
        run_monitoring.check_run_timeout(double, record, logging.getLogger(), default)
    except Ended:
        return True
    return False


@pytest.mark.parametrize("step", [long, yielding, job], ids=["asset", "generator", "op"])
def test_a_long_step_is_not_ended_after_an_hour(
    step: Any, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = of(instance, step)
    assert [is_ended(instance, record, at, monkeypatch) for at in (HOUR + 1, SECONDS - 1, SECONDS + 1)] == [
        False, False, True,
    ]  # fmt: skip


def test_other_steps_have_the_hour_of_the_instance(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = of(instance, short)
    assert [is_ended(instance, record, at, monkeypatch) for at in (HOUR - 1, HOUR + 1)] == [False, True]


@pytest.mark.parametrize("limit", [0, HOUR, SECONDS, SECONDS + 1])
def test_no_run_gets_less_time_than_it_had(
    limit: int, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instance may have no limit, or a longer one, and a person may give a run a limit of its own."""
    monkeypatch.setattr(dg.DagsterInstance, "run_monitoring_max_runtime_seconds", limit)
    tags = of(instance, long).dagster_run.tags
    assert (dg.MAX_RUNTIME_SECONDS_TAG in tags) == (limit == HOUR)
    assert of(instance, long, max_runtime="200000").dagster_run.tags[dg.MAX_RUNTIME_SECONDS_TAG] == "200000"


def test_what_a_long_run_reads_is_kept_for_its_time() -> None:
    """A run is ended some minutes after its time, because Dagster looks every two."""
    assert SHORTEST.total_seconds() - SECONDS >= HOUR
