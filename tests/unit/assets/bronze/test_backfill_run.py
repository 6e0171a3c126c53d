"""A backfill of many tables makes few runs, in which each table is shown as its own run would show it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import AssetPartitionStatus
from dagster._core.test_utils import create_run_for_test

from tests.support.backfills import AT_ONCE, run_backfill
from tests.unit.assets.bronze.test_shared_run import BAD, GOOD, PAGE, World
from tests.unit.conftest import Paper
from tidegate.assets.bronze import backfill_run
from tidegate.assets.bronze.asset import previous_report
from tidegate.assets.bronze.backfill_run import MAX_TABLES, TurnNotes, has_other_run
from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.failed_runs import failed_runs
from tidegate.assets.runs.held_tables import FAILED_TAG, PARTITION_TAG, TURN_TAG, RunTables, shared_config
from tidegate.assets.runs.tags import BACKFILL, TRIGGER_TAG

TABLES = ["landing.orders", *(f"landing.t{n:02d}" for n in range(29))]
NAMES = LakeNames()


@pytest.fixture
def at_once() -> Iterator[dg.DagsterInstance]:
    limits = {"run_monitoring": {"enabled": True, "max_runtime_seconds": 3600}}
    with dg.instance_for_test(overrides={**AT_ONCE, **limits}) as made:
        made.add_dynamic_partitions(NAMES.name("tables"), TABLES)
        yield made


@pytest.fixture
def world(paper: Paper, at_once: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(paper, at_once, monkeypatch)
    made.brings = dict.fromkeys(TABLES, GOOD)
    return made


def statuses(instance: dg.DagsterInstance) -> dict[str, AssetPartitionStatus | None]:
    return dict(instance.get_status_by_partition(NAMES.bronze, TABLES, NAMES.tables) or {})


def test_a_backfill_of_thirty_tables_makes_two_runs(world: World, paper: Paper, at_once: dg.DagsterInstance) -> None:
    status, runs = run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES)
    assert (status, [run.status for run in runs]) == ("COMPLETED_SUCCESS", [dg.DagsterRunStatus.SUCCESS] * 2)
    tables = RunTables(at_once)
    assert [tables.find(run) for run in runs] == [TABLES[:MAX_TABLES], TABLES[MAX_TABLES:]]
    assert statuses(at_once) == dict.fromkeys(TABLES, AssetPartitionStatus.MATERIALIZED)
    assert all(options.listing for options in world.given.values()), "a backfill finds files without an event"
    for shown in (previous_report(at_once, NAMES.bronze, "landing.t00"), previous_report(at_once, PAGE)):
        assert (shown.rows, shown.version) == (2, 0)
    key = dg.AssetCheckKey(NAMES.bronze, "nothing_quarantined")
    history = at_once.event_log_storage.get_asset_check_execution_history(key, limit=99)
    assert sorted(execution.partition or "" for execution in history if execution.evaluation) == sorted(TABLES)


def test_a_table_that_fails_or_has_only_bad_files_is_alone_in_that(
    world: World, paper: Paper, at_once: dg.DagsterInstance
) -> None:
    world.brings |= {"landing.t03": ValueError("dropped"), "landing.t27": BAD}
    status, (first, second) = run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES)
    assert (status, first.status, second.status) == (
        "COMPLETED_FAILED", dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS,
    )  # fmt: skip
    found = statuses(at_once)
    assert (found.pop("landing.t03"), found.pop("landing.t27")) == (AssetPartitionStatus.FAILED, None)
    assert set(found.values()) == {AssetPartitionStatus.MATERIALIZED}
    assert json.loads(first.tags[FAILED_TAG]) == ["landing.t03"]
    known = failed_runs(at_once, NAMES, TABLES)
    assert {table: failed.why for table, failed in known.items()} == {"landing.t03": "dropped"}
    # Another backfill, in which the table does not fail.
    world.brings["landing.t03"] = GOOD
    assert run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES[3:6])[0] == "COMPLETED_SUCCESS"
    assert failed_runs(at_once, NAMES, TABLES) == {}


def test_a_selection_with_gaps_makes_a_run_of_each_range(
    world: World, paper: Paper, at_once: dg.DagsterInstance
) -> None:
    status, runs = run_backfill(paper.definitions, at_once, NAMES.bronze, [TABLES[9], *TABLES[3:6], TABLES[0]])
    assert status == "COMPLETED_SUCCESS"
    assert [RunTables(at_once).find(run) for run in runs] == [[TABLES[0]], TABLES[3:6], [TABLES[9]]]


def test_a_table_that_stays_with_another_run_is_shown_as_failed(
    world: World, paper: Paper, at_once: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_run, "_ATTEMPT_SECONDS", 0.0)
    monkeypatch.setattr(backfill_run, "_WAIT_SECONDS", 0.0)
    create_run_for_test(at_once, status=dg.DagsterRunStatus.STARTED, tags={PARTITION_TAG: "landing.t00"})
    status, (run,) = run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES[:3])
    assert (status, json.loads(run.tags[FAILED_TAG])) == ("COMPLETED_FAILED", ["landing.t00"])
    found = statuses(at_once)
    assert [found[table] for table in TABLES[:3]] == [
        AssetPartitionStatus.MATERIALIZED, AssetPartitionStatus.FAILED, AssetPartitionStatus.MATERIALIZED,
    ]  # fmt: skip
    assert "landing.t00" not in world.given


def test_a_table_with_another_run_comes_last_when_that_run_has_ended(
    world: World, paper: Paper, at_once: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = create_run_for_test(
        at_once,
        "bronze_shared_job",
        status=dg.DagsterRunStatus.STARTED,
        run_config=shared_config(NAMES, ["landing.t00"]),
    )

    def sleep(_: float) -> None:
        assert list(world.given) == [TABLES[0], TABLES[2]]
        ended = dg.DagsterEvent(dg.DagsterEventType.PIPELINE_SUCCESS.value, "bronze_shared_job")
        at_once.report_dagster_event(ended, shared.run_id)

    monkeypatch.setattr("tidegate.assets.bronze.backfill_run.time.sleep", sleep)
    status, _ = run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES[:3])
    assert (status, list(world.given)) == ("COMPLETED_SUCCESS", [TABLES[0], TABLES[2], TABLES[1]])


def test_of_two_backfills_of_a_table_the_later_one_waits(paper: Paper, at_once: dg.DagsterInstance) -> None:
    job = paper.definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={NAMES.bronze})
    ends = {"dagster/asset_partition_range_start": TABLES[0], "dagster/asset_partition_range_end": TABLES[2]}
    runs = [
        at_once.create_run_for_job(job, tags=ends, asset_selection=frozenset({NAMES.bronze})).run_id for _ in range(2)
    ]
    for run in reversed(runs):
        at_once.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_START.value, job.name), run)
    assert [has_other_run(at_once, NAMES, run, TABLES[1]) for run in runs] == [True, False]
    assert not has_other_run(at_once, NAMES, runs[0], TABLES[3])
    at_once.add_run_tags(runs[1], {TURN_TAG: f"{runs[1]}/{TABLES[2]}"})
    assert [has_other_run(at_once, NAMES, runs[0], table) for table in TABLES[:3]] == [False, False, True]


def test_the_turn_of_a_long_run_is_in_its_tags_and_each_table_has_the_hour_of_its_own_run(
    at_once: dg.DagsterInstance,
) -> None:
    run, times = create_run_for_test(at_once), itertools.count(0.0, 200.0)
    notes, found = TurnNotes(at_once, run, ["a", "b", "c"], lambda: next(times)), []
    for table in ("b", "a", "c"):
        notes.note()
        tags = (at_once.get_run_by_id(run.run_id) or run).tags
        found.append((tags.get(TURN_TAG), tags.get(dg.MAX_RUNTIME_SECONDS_TAG)))
        notes.finish(table)
    # After 200, 400 and 600 seconds.
    assert found == [(None, None), (f"{run.run_id}/a", "4300"), (f"{run.run_id}/a", "4300")]
    notes.note()
    assert (at_once.get_run_by_id(run.run_id) or run).tags[TURN_TAG].endswith("/a"), "no table is left"


@pytest.mark.parametrize(("tags", "limit"), [({}, "60"), ({TURN_TAG: "another run/b"}, "4300")])
def test_a_person_decides_how_long_a_run_may_last_and_a_repetition_does_not(
    at_once: dg.DagsterInstance, tags: dict[str, str], limit: str
) -> None:
    run = create_run_for_test(at_once, tags={dg.MAX_RUNTIME_SECONDS_TAG: "60", **tags})
    times = itertools.count(0.0, 400.0)
    TurnNotes(at_once, run, ["a", "b"], lambda: next(times)).note()
    assert (at_once.get_run_by_id(run.run_id) or run).tags[dg.MAX_RUNTIME_SECONDS_TAG] == limit


def test_tables_of_runs(paper: Paper, at_once: dg.DagsterInstance) -> None:
    """A repetition of a run has the turn of its parent, and a partition may be deleted."""
    job = paper.definitions.resolve_job_def("bronze_job")

    def run_of(first: str, last: str, **tags: str) -> dg.DagsterRun:
        ends = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
        return at_once.create_run_for_job(job, tags={**ends, **tags})

    run = run_of(TABLES[1], TABLES[3], **{TURN_TAG: f"another run/{TABLES[2]}"})
    tables = RunTables(at_once)
    assert tables.find(run) == tables.find_held(run) == tables.find_failed(run) == TABLES[1:4]
    own = run.with_tags({**run.tags, TURN_TAG: f"{run.run_id}/{TABLES[2]}"})
    assert (tables.find(own), tables.find_held(own)) == (TABLES[1:4], TABLES[2:4])
    assert tables.find_failed(own) == TABLES[1:4], "of a run that died it is not known"
    assert tables.find(run_of(TABLES[4], TABLES[4])) == [TABLES[4]]
    at_once.delete_dynamic_partition(NAMES.name("tables"), TABLES[2])
    assert RunTables(at_once).find(run) == [TABLES[1], TABLES[3]]
    at_once.delete_dynamic_partition(NAMES.name("tables"), TABLES[3])
    assert RunTables(at_once).find(run) == [], "Dagster does not start it"
    days = {"dagster/asset_partition_range_start": "2026-01-01", "dagster/asset_partition_range_end": "2026-01-31"}
    assert RunTables(at_once).find(create_run_for_test(at_once, tags=days)) == []


def test_a_shared_run_leaves_out_a_table_of_a_backfill_at_work(
    world: World, paper: Paper, at_once: dg.DagsterInstance
) -> None:
    ends = {"dagster/asset_partition_range_start": TABLES[0], "dagster/asset_partition_range_end": TABLES[1]}
    run = at_once.create_run_for_job(paper.definitions.resolve_job_def("bronze_job"), tags=ends)
    at_once.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_START.value, "bronze_job"), run.run_id)
    result = world.job.execute_in_process(shared_config(NAMES, TABLES[1:3]), at_once, tags={TRIGGER_TAG: "sensor"})
    assert (result.success, list(world.given)) == (True, [TABLES[2]])


def test_a_run_that_begins_says_that_it_is_one_of_a_backfill(
    world: World, paper: Paper, at_once: dg.DagsterInstance
) -> None:
    _, (run,) = run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES[:1])
    assert run.tags[TRIGGER_TAG] == BACKFILL


def test_what_a_lost_server_leaves_is_shown_as_failed(
    world: World, paper: Paper, at_once: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost() -> None:
        raise OSError("no server")

    monkeypatch.setattr(
        "tidegate.resources.lake_resource.LakeResource.open",
        lambda *_: SimpleNamespace(
            delta=SimpleNamespace(check_session_alive=lost), table=lambda table: SimpleNamespace(table_key=table)
        ),
    )
    world.brings["landing.t00"] = OSError("gone")
    status, (run,) = run_backfill(paper.definitions, at_once, NAMES.bronze, TABLES[:3])
    assert (status, json.loads(run.tags[FAILED_TAG])) == ("COMPLETED_FAILED", TABLES[1:3])
    assert [statuses(at_once)[table] for table in TABLES[:3]] == [
        AssetPartitionStatus.MATERIALIZED, AssetPartitionStatus.FAILED, AssetPartitionStatus.FAILED,
    ]  # fmt: skip
