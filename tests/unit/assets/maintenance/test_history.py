"""Dagster's history: old events are deleted, the last ones stay, and so do those of other code."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from tests.unit.conftest import PAPER, Paper
from tidegate.assets.keys import LakeNames
from tidegate.assets.maintenance import history
from tidegate.assets.maintenance.history import EVENT_DAYS, RUN_DAYS, DeletedHistory, forget
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.definitions import build_definitions

DAY = 86_400
QUEUE, OTHER = dg.AssetKey(["sqs", "events"]), dg.AssetKey("other")


@pytest.fixture
def instance(tmp_path: Path) -> Any:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as found:
        yield found


def run(instance: dg.DagsterInstance, table: str, job: str = "bronze_job", **tags: str) -> str:
    """Create a run that materialized a partition of bronze and ended. Returns its id."""
    made = create_run_for_test(instance, job, status=dg.DagsterRunStatus.STARTED, tags=tags)
    event = dg.DagsterEvent(
        "ASSET_MATERIALIZATION",
        job,
        event_specific_data=dg._core.events.StepMaterializationData(
            dg.AssetMaterialization(LakeNames().bronze, partition=table)
        ),
    )
    instance.report_dagster_event(event, made.run_id)
    instance.report_run_canceled(made)
    return str(made.run_id)


def forgotten(instance: dg.DagsterInstance, days: float, paper: Paper, **more: Any) -> DeletedHistory:
    graph = paper.definitions.resolve_asset_graph()
    about = {"assets": graph.get_all_asset_keys(), "jobs": ["bronze_job"], "repository": None, **more}
    return forget(instance, time.time() + days * DAY, **about)


def test_old_runs_are_forgotten_but_the_last_of_each_table(instance: dg.DagsterInstance, paper: Paper) -> None:
    old = [run(instance, "landing.a"), run(instance, "landing.b"), run(instance, "landing.a")]
    foreign = run(instance, "landing.a", "job_of_somebody_else")
    last = run(instance, "landing.a")
    active = create_run_for_test(instance, "bronze_job", status=dg.DagsterRunStatus.STARTED).run_id
    shards = Path(instance.root_directory) / "history" / "runs"
    assert (shards / f"{old[0]}.db").exists()
    assert forgotten(instance, RUN_DAYS - 1, paper).runs == 0
    assert forgotten(instance, RUN_DAYS + 1, paper, dry_run=True).runs == 2
    assert forgotten(instance, RUN_DAYS + 1, paper).runs == 2
    assert {record.run_id for record in instance.get_runs()} == {old[1], foreign, last, active}
    assert not list(shards.glob(f"{old[0]}.db*")), "with SQLite each has a file"
    found = instance.get_materialized_partitions(LakeNames().bronze)
    assert found == {"landing.a", "landing.b"}, "none looks as if it had never been materialized"
    assert forgotten(instance, RUN_DAYS + 1, paper) == DeletedHistory(0, 0, 0, left=False)


def test_all_runs_of_the_code_location_are_the_lake_s_and_no_others(instance: dg.DagsterInstance, paper: Paper) -> None:
    own = [run(instance, "landing.a", "__ASSET_JOB", **{".dagster/repository": "lake"}) for _ in range(2)]
    run(instance, "landing.a", **{".dagster/repository": "another lake"})
    clock = iter([0.0, 1e9, 1e9])
    late = forgotten(instance, RUN_DAYS + 1, paper, repository="lake", clock=lambda: next(clock))
    assert (late.runs, late.left) == (1, True), "the rest goes tomorrow"
    assert forgotten(instance, RUN_DAYS + 1, paper, repository="lake").runs == 1
    assert not {record.run_id for record in instance.get_runs()} & {*own}


def test_what_sensors_reported_is_forgotten_but_the_last_of_it(instance: dg.DagsterInstance, paper: Paper) -> None:
    check = dg.AssetCheckKey(LakeNames().lake_health, "no_dead_letters")

    def report(number: int) -> None:
        for event in (
            dg.AssetMaterialization(LakeNames().lake_health, metadata={"n": number}),
            dg.AssetObservation(QUEUE, metadata={"n": number}),
            dg.AssetObservation(OTHER, metadata={"n": number}),
            dg.AssetCheckEvaluation(LakeNames().lake_health, check.name, passed=True, partition=None),
        ):
            instance.report_runless_asset_event(event)

    def observed(key: dg.AssetKey) -> list[Any]:
        records = instance.fetch_observations(key, limit=100).records
        return [record.asset_observation.metadata["n"].value for record in records if record.asset_observation]

    for number in range(5):
        report(number)
    assert forgotten(instance, EVENT_DAYS - 1, paper).events == 0
    assert forgotten(instance, RUN_DAYS + 1, paper, dry_run=True) == DeletedHistory(0, 4 * 3, 4, left=False)
    assert forgotten(instance, EVENT_DAYS + 1, paper).events == 4 * 3
    assert (observed(QUEUE), observed(OTHER)) == ([4], [4, 3, 2, 1, 0]), "somebody else's stays"
    (record,) = instance.fetch_materializations(LakeNames().lake_health, limit=100).records
    assert record.asset_materialization
    assert record.asset_materialization.metadata["n"].value == 4
    assert forgotten(instance, RUN_DAYS + 1, paper).checks == 4
    assert check in instance.event_log_storage.get_latest_asset_check_execution_by_key([check])


def test_neither_runs_nor_what_sensors_reported_waits_for_nights_without_the_other(
    instance: dg.DagsterInstance, paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each night deletes a part of both, however much there is of the other."""
    monkeypatch.setattr("tidegate.assets.maintenance.history._MAX_ROWS", 1)
    check = dg.AssetCheckKey(LakeNames().lake_health, "no_dead_letters")
    for _ in range(3):
        run(instance, "landing.a")
        instance.report_runless_asset_event(dg.AssetObservation(QUEUE))
        instance.report_runless_asset_event(dg.AssetCheckEvaluation(check.asset_key, check.name, passed=True))

    def night() -> tuple[int, int, int, bool]:
        times = count(0, 1e9)
        done = forgotten(instance, RUN_DAYS + 1, paper, clock=lambda: next(times))
        return done.runs, done.events, done.checks, done.left

    nights = [night() for _ in range(7)]
    assert nights == [
        (1, 1, 0, True), (1, 1, 0, True), (0, 1, 0, True), (0, 1, 1, True), (0, 0, 1, False), (0, 0, 0, False),
        (0, 0, 0, False),
    ]  # fmt: skip


def test_it_runs_once_a_day_and_knows_every_job_and_asset_of_the_lake(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def forgets(*_: Any, **options: Any) -> DeletedHistory:
        calls.append(options)
        return DeletedHistory(3, 2, 1, left=False)

    monkeypatch.setattr(history, "forget", forgets)
    route = {"name": "others", "queue": {"name": "others"}}
    config = LakeConfig.model_validate({**PAPER, "routes": [route], "forget": {"secret": {"env": "SECRET"}}})
    definitions = build_definitions(config, paper.resource)
    schedules = {schedule.name: schedule for schedule in definitions.schedules or []}
    schedule = schedules["forget_history_schedule"]
    assert isinstance(schedule, dg.ScheduleDefinition)
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    with dg.DagsterInstance.ephemeral() as instance:
        options = {"ops": {"forget_history_op": {"config": {"dry_run": True}}}}
        result = definitions.resolve_job_def("forget_history").execute_in_process(instance=instance, run_config=options)
    (output,) = [event for event in result.all_node_events if event.is_successful_output]
    shown = {name: value.value for name, value in output.step_output_data.metadata.items()}
    assert shown == {"dry_run": True, "runs": 3, "events": 2, "checks": 1, "left": False}
    (call,) = calls
    assert call["dry_run"]
    assert call["assets"] == set(definitions.resolve_asset_graph().get_all_asset_keys())
    assert {dg.AssetKey(["routes", "others"]), dg.AssetKey("forgotten")} <= call["assets"]
    jobs = {job.name for job in definitions.jobs or []} | {schedule.job_name for schedule in schedules.values()}
    assert call["jobs"] == jobs
