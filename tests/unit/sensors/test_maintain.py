"""The schedule of maintenance: each table has one night of the week, and it runs only if lake.yaml asks for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from tests.unit.conftest import Paper
from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.tags import TABLE_TAG
from tidegate.platform.core.config.lake import LakeConfig, MaintainSpec
from tidegate.sensors.maintain import build_maintenance_schedule, requests

TABLES_OF_A_LAKE = [f"landing.t{number}" for number in range(50)]
MONDAY = datetime(2026, 1, 5, 4, 30, tzinfo=UTC)


def _maintained(config: LakeConfig) -> set[dg.AssetKey]:
    names = LakeNames()
    silver = {names.maintained_silver(spec.name) for spec in config.tables if spec.silver}
    return {names.maintained_bronze, names.maintained_lake, *silver}


def test_each_table_has_one_night_of_the_week_and_the_nights_are_alike(paper: Paper) -> None:
    nights = [requests(paper.config, TABLES_OF_A_LAKE, MONDAY + timedelta(days=day)) for day in range(7)]
    found = [request for night in nights for request in night]
    assert sorted(request.partition_key for request in found if request.partition_key) == sorted(TABLES_OF_A_LAKE)
    assert {key for request in found for key in request.asset_selection or ()} == _maintained(paper.config)
    assert len(found) == 50 + len(_maintained(paper.config)) - 1
    assert max(map(len, nights)) <= 16
    again = requests(paper.config, TABLES_OF_A_LAKE, MONDAY + timedelta(days=7))
    assert [request.asset_selection for request in again] == [request.asset_selection for request in nights[0]]


def test_a_night_that_dagster_slept_through_is_made_up_for_in_the_next(paper: Paper) -> None:
    def asked(day: int, last: int | None) -> set[str]:
        before = None if last is None else MONDAY + timedelta(days=last, hours=1)
        found = requests(paper.config, TABLES_OF_A_LAKE, MONDAY + timedelta(days=day), before)
        return {request.tags["tidegate/maintained"] for request in found}

    nights = [asked(day, None) for day in range(7)]
    assert asked(3, 2) == asked(3, 3) == nights[3]
    assert asked(3, 0) == nights[1] | nights[2] | nights[3]
    assert asked(6, -30) == asked(6, -1) == set.union(*nights)


def test_the_schedule_knows_its_last_night_by_its_runs(paper: Paper, instance: dg.DagsterInstance) -> None:
    schedule = build_maintenance_schedule(paper.config)
    names = {f"silver.{spec.name}" for spec in paper.config.tables if spec.silver} | {"lake", *TABLES_OF_A_LAKE}
    instance.add_dynamic_partitions(LakeNames().name("tables"), TABLES_OF_A_LAKE)

    def asked() -> set[str]:
        tick = datetime.now(UTC) + timedelta(days=9)
        with dg.build_schedule_context(instance=instance, scheduled_execution_time=tick) as context:
            found = schedule(context)
        return {request.tags["tidegate/maintained"] for request in found}

    assert asked() < names
    instance.add_run(dg.DagsterRun("maintain", run_id="a" * 8, tags={"dagster/schedule_name": schedule.name}))
    assert asked() == names


def test_a_requested_run_is_one_of_its_table_and_no_dry_run(paper: Paper) -> None:
    job = paper.definitions.resolve_job_def("maintain")
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(LakeNames().name("tables"), TABLES_OF_A_LAKE)
        for day in range(7):
            for request in requests(paper.config, TABLES_OF_A_LAKE, MONDAY + timedelta(days=day)):
                (key,) = request.asset_selection or ()
                part = job.get_subset(asset_selection={key})
                assert dg.validate_run_config(part, request.run_config)
                assert "'dry_run': False" in str(request.run_config)
                assert (key == LakeNames().maintained_bronze) == (request.partition_key is not None)
                if request.partition_key:
                    assert request.tags[TABLE_TAG] == request.partition_key


@pytest.mark.parametrize(
    ("maintain", "status"),
    [(None, dg.DefaultScheduleStatus.STOPPED), (MaintainSpec(), dg.DefaultScheduleStatus.RUNNING)],
)
def test_the_schedule_runs_if_lake_yaml_asks_for_it(
    paper: Paper, maintain: MaintainSpec | None, status: dg.DefaultScheduleStatus
) -> None:
    config = paper.config.model_copy(update={"maintain": maintain})
    assert build_maintenance_schedule(config).default_status == status
