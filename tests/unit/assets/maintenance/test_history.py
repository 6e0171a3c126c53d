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
from tidegate.assets.maintenance.history import EVENT_DAYS, RUN_DAYS, DeletedRuns, forget_events, forget_runs
from tidegate.assets.maintenance.history_tables import DeletedRows
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.definitions import build_definitions

DAY = 86_400
QUEUE, OTHER = dg.AssetKey(["sqs", "events"]), dg.AssetKey("other")


@pytest.fixture
def instance(tmp_path: Path) -> Any:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as found:
        yield found


def run(instance: dg.DagsterInstance, *tables: str, job: str = "bronze_job", **tags: str) -> str:
    """Create a run that materialized partitions of bronze and ended. Returns its id."""
    made = create_run_for_test(instance, job, status=dg.DagsterRunStatus.STARTED, tags=tags)
    for table in tables:
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


def forgotten(instance: dg.DagsterInstance, days: float, **more: Any) -> DeletedRuns:
    return forget_runs(instance, time.time() + days * DAY, **{"jobs": ["bronze_job"], "repository": None, **more})


def forgotten_events(instance: dg.DagsterInstance, days: float, paper: Paper, **more: Any) -> DeletedRows:
    assets = paper.definitions.resolve_asset_graph().get_all_asset_keys()
    return forget_events(instance, time.time() + days * DAY, assets=assets, **more)


def test_old_runs_are_forgotten_but_the_last_of_each_table(instance: dg.DagsterInstance) -> None:
    old = [run(instance, "landing.a"), run(instance, "landing.b"), run(instance, "landing.a")]
    foreign = run(instance, "landing.a", job="job_of_somebody_else")
    last = run(instance, "landing.a")
    active = create_run_for_test(instance, "bronze_job", status=dg.DagsterRunStatus.STARTED).run_id
    shards = Path(instance.root_directory) / "history" / "runs"
    assert (shards / f"{old[0]}.db").exists()
    assert forgotten(instance, RUN_DAYS - 1).runs == 0
    assert forgotten(instance, RUN_DAYS + 1, dry_run=True).runs == 2
    assert forgotten(instance, RUN_DAYS + 1).runs == 2
    assert {record.run_id for record in instance.get_runs()} == {old[1], foreign, last, active}
    assert not list(shards.glob(f"{old[0]}.db*")), "with SQLite each has a file"
    found = instance.get_materialized_partitions(LakeNames().bronze)
    assert found == {"landing.a", "landing.b"}, "none looks as if it had never been materialized"
    assert forgotten(instance, RUN_DAYS + 1) == DeletedRuns(0, left=False)


def test_a_shared_run_stays_for_one_table_and_a_run_of_nothing_goes(instance: dg.DagsterInstance) -> None:
    shared = run(instance, "landing.a", "landing.b", "landing.c")
    run(instance)
    later = [run(instance, "landing.a"), run(instance, "landing.c")]
    assert forgotten(instance, RUN_DAYS + 1).runs == 1
    assert {record.run_id for record in instance.get_runs()} == {shared, *later}
    last = run(instance, "landing.b")
    assert forgotten(instance, RUN_DAYS + 1).runs == 1
    assert {record.run_id for record in instance.get_runs()} == {*later, last}


def test_all_runs_of_the_code_location_are_the_lake_s_and_no_others(instance: dg.DagsterInstance) -> None:
    own = [run(instance, "landing.a", job="__ASSET_JOB", **{".dagster/repository": "lake"}) for _ in range(2)]
    run(instance, "landing.a", **{".dagster/repository": "another lake"})
    clock = iter([0.0, 1e9])
    late = forgotten(instance, RUN_DAYS + 1, repository="lake", clock=lambda: next(clock))
    assert late == DeletedRuns(1, left=True), "the rest goes tomorrow"
    assert forgotten(instance, RUN_DAYS + 1, repository="lake").runs == 1
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
    assert forgotten(instance, RUN_DAYS + 1) == DeletedRuns(0, left=False)
    assert forgotten_events(instance, EVENT_DAYS - 1, paper).events == 0
    assert forgotten_events(instance, RUN_DAYS + 1, paper, dry_run=True) == DeletedRows(4 * 3, 4, left=False)
    assert forgotten_events(instance, EVENT_DAYS + 1, paper).events == 4 * 3
    assert (observed(QUEUE), observed(OTHER)) == ([4], [4, 3, 2, 1, 0]), "somebody else's stays"
    (record,) = instance.fetch_materializations(LakeNames().lake_health, limit=100).records
    assert record.asset_materialization
    assert record.asset_materialization.metadata["n"].value == 4
    assert forgotten_events(instance, RUN_DAYS + 1, paper).checks == 4
    assert check in instance.event_log_storage.get_latest_asset_check_execution_by_key([check])


def test_each_night_deletes_some_events_however_many_there_are(
    instance: dg.DagsterInstance, paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.assets.maintenance.history_tables._MAX_ROWS", 1)
    check = dg.AssetCheckKey(LakeNames().lake_health, "no_dead_letters")
    for _ in range(3):
        instance.report_runless_asset_event(dg.AssetObservation(QUEUE))
        instance.report_runless_asset_event(dg.AssetCheckEvaluation(check.asset_key, check.name, passed=True))

    def night() -> tuple[int, int, bool]:
        times = count(0, 1e9)
        done = forgotten_events(instance, RUN_DAYS + 1, paper, clock=lambda: next(times))
        return done.events, done.checks, done.left

    nights = [night() for _ in range(7)]
    assert nights == [
        (1, 0, True), (1, 0, True), (1, 0, True), (1, 1, True), (0, 1, False), (0, 0, False), (0, 0, False),
    ]  # fmt: skip


def definitions_of(paper: Paper) -> tuple[dg.Definitions, dict[str, dg.ScheduleDefinition]]:
    route = {"name": "others", "queue": {"name": "others"}}
    config = LakeConfig.model_validate({**PAPER, "routes": [route], "forget": {"secret": {"env": "SECRET"}}})
    definitions = build_definitions(config, paper.resource)
    schedules = [each for each in definitions.schedules or [] if isinstance(each, dg.ScheduleDefinition)]
    return definitions, {schedule.name: schedule for schedule in schedules}


def shown(definitions: dg.Definitions, job: str) -> dict[str, Any]:
    """Return what a run of the job shows that only counts."""
    options = {"ops": {f"{job}_op": {"config": {"dry_run": True}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def(job).execute_in_process(instance=instance, run_config=options)
    (output,) = [event for event in result.all_node_events if event.is_successful_output]
    return {name: value.value for name, value in output.step_output_data.metadata.items()}


def test_old_runs_go_once_a_day_and_every_job_of_the_lake_is_known(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def forgets(*_: Any, **options: Any) -> DeletedRuns:
        calls.append(options)
        return DeletedRuns(3, left=False)

    monkeypatch.setattr(history, "forget_runs", forgets)
    definitions, schedules = definitions_of(paper)
    assert schedules["forget_history_schedule"].default_status == dg.DefaultScheduleStatus.RUNNING
    assert shown(definitions, "forget_history") == {"dry_run": True, "runs": 3, "left": False}
    (call,) = calls
    assert call["dry_run"]
    jobs = {job.name for job in definitions.jobs or []} | {schedule.job_name for schedule in schedules.values()}
    assert call["jobs"] == jobs


def test_old_events_go_only_if_somebody_asks_and_every_asset_of_the_lake_is_known(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def forgets(*_: Any, **options: Any) -> DeletedRows:
        calls.append(options)
        return DeletedRows(2, 1, left=False)

    monkeypatch.setattr(history, "forget_events", forgets)
    definitions, schedules = definitions_of(paper)
    assert schedules["forget_events_schedule"].default_status == dg.DefaultScheduleStatus.STOPPED
    assert shown(definitions, "forget_events") == {"dry_run": True, "events": 2, "checks": 1, "left": False}
    (call,) = calls
    assert call["dry_run"]
    assert call["assets"] == set(definitions.resolve_asset_graph().get_all_asset_keys())
    assert {dg.AssetKey(["routes", "others"]), dg.AssetKey("forgotten")} <= call["assets"]
