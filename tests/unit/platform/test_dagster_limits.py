"""The shipped dagster.yaml: a table has one bronze run at a time, regardless of what started the run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.automation_tick_evaluation_context import build_run_requests_with_backfill_policies
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon
from sqlalchemy import make_url
from typer.testing import CliRunner

from tests.unit.conftest import PAPER, Paper
from tidegate.assets.bronze.backfill_run import MAX_TABLES
from tidegate.assets.keys import SHARED_JOB, LakeNames
from tidegate.assets.runs import long_runs
from tidegate.assets.runs.held_tables import PARTITION_TAG, TURN_TAG, shared_config
from tidegate.assets.runs.tags import SERVER_TAG, TABLE_TAG
from tidegate.platform.cli.main import app
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.definitions import build_definitions
from tidegate.platform.local.instance_config import instance_config
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.maintain import requests

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "platform" / "dagster.yaml"
SHIPPED: dict[str, Any] = yaml.safe_load(FILE.read_text())
ORIGIN = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tidegate"), "__repository__").get_job_origin
ORDERS, ITEMS = "landing.orders", "landing.items"


@pytest.fixture(autouse=True)
def _tables(instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions(LakeNames().name("tables"), [ORDERS, ITEMS])


def queue(
    instance: dg.DagsterInstance,
    tags: Mapping[str, str],
    job: str = "bronze_job",
    config: Mapping[str, object] | None = None,
) -> str:
    run = create_run_for_test(
        instance,
        job_name=job,
        status=dg.DagsterRunStatus.QUEUED,
        tags=dict(tags),
        run_config=config,
        remote_job_origin=ORIGIN(job),
    )
    return str(run.run_id)


def dequeued(instance: dg.DagsterInstance) -> list[str]:
    """Return the ids of the runs that the daemon would start now."""
    with QueuedRunCoordinatorDaemon(interval_seconds=1) as daemon:
        runs = daemon._get_runs_to_dequeue(instance, instance.get_concurrency_config(), fixed_iteration_time=None)
    return [run.run_id for run in runs]


def sensor_tags(paper: Paper, instance: dg.DagsterInstance, table: str) -> Mapping[str, str]:
    paper.inbox.clear()
    paper.hint(table)
    (request,) = paper.tick(instance).run_requests
    return request.tags


def launch_tags(paper: Paper, instance: dg.DagsterInstance, table: str) -> Mapping[str, str]:
    """Return the tags that the UI and GraphQL put on a launched partition."""
    job = paper.definitions.resolve_implicit_global_asset_job_def()
    return job.get_tags_for_partition_key(table, [LakeNames().bronze])


def maintenance_tags(paper: Paper, instance: dg.DagsterInstance, table: str) -> Mapping[str, str]:
    """Return the tags of the run that the schedule requests in the table's night."""
    nights = (datetime(2026, 1, 5 + day, tzinfo=UTC) for day in range(7))
    (request,) = (found for night in nights for found in requests(paper.config, [table], night) if found.partition_key)
    job = paper.definitions.resolve_job_def("maintain")
    return {**request.tags, **job.get_tags_for_partition_key(table, request.asset_selection)}


Route = Callable[[Paper, dg.DagsterInstance, str], Mapping[str, str]]
ROUTES: dict[str, Route] = {"sensor": sensor_tags, "launch": launch_tags}


@pytest.mark.parametrize("second", ROUTES)
@pytest.mark.parametrize("first", ROUTES)
def test_two_runs_of_one_table_never_start_together(
    first: str, second: str, paper: Paper, instance: dg.DagsterInstance
) -> None:
    routes = [ROUTES[first], ROUTES[second]]
    earlier, later = [queue(instance, tags) for tags in [route(paper, instance, ORDERS) for route in routes]]
    other = queue(instance, routes[1](paper, instance, ITEMS))
    # Only the older run of the table starts. A run of another table does not wait.
    assert dequeued(instance) == [earlier, other]
    for status in (dg.DagsterEventType.PIPELINE_STARTING, dg.DagsterEventType.PIPELINE_START):
        for run in (earlier, other):
            instance.report_dagster_event(dg.DagsterEvent(status.value, "bronze_job"), run)
        assert dequeued(instance) == []
    instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_CANCELING.value, "bronze_job"), earlier)
    assert dequeued(instance) == []  # a run that is being cancelled may still write
    instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_CANCELED.value, "bronze_job"), earlier)
    assert dequeued(instance) == [later]


@pytest.mark.parametrize("route", ROUTES)
def test_a_run_of_a_table_waits_for_the_shared_run_that_holds_it(
    route: str, paper: Paper, instance: dg.DagsterInstance
) -> None:
    tags = [ROUTES[route](paper, instance, table) for table in (ORDERS, ITEMS)]
    shared = queue(instance, {}, SHARED_JOB, shared_config(LakeNames(), [ORDERS, "landing.more"]))
    assert dequeued(instance) == [shared]
    held, other = [queue(instance, run_tags) for run_tags in tags]
    for status in (
        dg.DagsterEventType.PIPELINE_STARTING,
        dg.DagsterEventType.PIPELINE_START,
        dg.DagsterEventType.PIPELINE_CANCELING,
    ):
        instance.report_dagster_event(dg.DagsterEvent(status.value, SHARED_JOB), shared)
        assert dequeued(instance) == [other]
    instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_CANCELED.value, SHARED_JOB), shared)
    assert dequeued(instance) == [held, other]


@pytest.mark.parametrize("route", ROUTES)
def test_maintenance_never_starts_next_to_a_run_of_its_table(
    route: str, paper: Paper, instance: dg.DagsterInstance
) -> None:
    upkeep, tags = maintenance_tags(paper, instance, ORDERS), ROUTES[route](paper, instance, ORDERS)
    for first, second in ((upkeep, tags), (tags, upkeep)):
        earlier = queue(instance, first, "maintain" if first is upkeep else "bronze_job")
        assert dequeued(instance) == [earlier]
        instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_START.value, "job"), earlier)
        later = queue(instance, second, "bronze_job" if first is upkeep else "maintain")
        assert dequeued(instance) == []
        instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_SUCCESS.value, "job"), earlier)
        assert dequeued(instance) == [later]
        instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_CANCELED.value, "job"), later)


def queue_range(paper: Paper, instance: dg.DagsterInstance, first: str, last: str) -> str:
    """Queue the run that a backfill of these partitions requests."""
    keys = instance.get_dynamic_partitions(LakeNames().name("tables"))
    selected = [AssetKeyPartitionKey(LakeNames().bronze, key) for key in keys[keys.index(first) : keys.index(last) + 1]]
    with partition_loading_context(dynamic_partitions_store=instance):
        (request,) = build_run_requests_with_backfill_policies(
            selected, paper.definitions.resolve_asset_graph(), instance
        )
    job = paper.definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={LakeNames().bronze})
    run = instance.create_run_for_job(
        job,
        tags=request.tags,
        status=dg.DagsterRunStatus.QUEUED,
        asset_selection=frozenset({LakeNames().bronze}),
        remote_job_origin=ORIGIN(job.name),
    )
    return str(run.run_id)


@pytest.mark.parametrize("route", ROUTES)
def test_a_run_of_a_table_waits_for_the_run_of_a_backfill_that_holds_it(
    route: str, paper: Paper, instance: dg.DagsterInstance
) -> None:
    """The others are a single run of each table, and maintenance. A table that the backfill has finished is free."""
    tags = [ROUTES[route](paper, instance, table) for table in (ORDERS, ITEMS)]
    instance.add_dynamic_partitions(LakeNames().name("tables"), ["landing.more"])
    backfill = queue_range(paper, instance, ORDERS, ITEMS)
    assert dequeued(instance) == [backfill]
    first, second = [queue(instance, run_tags) for run_tags in tags]
    upkeep = queue(instance, maintenance_tags(paper, instance, ORDERS), "maintain")
    other = queue(instance, {PARTITION_TAG: "landing.more"})
    for status in (dg.DagsterEventType.PIPELINE_STARTING, dg.DagsterEventType.PIPELINE_START):
        instance.report_dagster_event(dg.DagsterEvent(status.value, "__ASSET_JOB"), backfill)
        assert dequeued(instance) == [other]
    instance.add_run_tags(backfill, {TURN_TAG: f"{backfill}/{ITEMS}"})
    assert dequeued(instance) == [first, other]
    instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_SUCCESS.value, "__ASSET_JOB"), backfill)
    assert dequeued(instance) == [first, second, other]
    instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.PIPELINE_CANCELED.value, "bronze_job"), first)
    assert dequeued(instance) == [second, other, upkeep]


def test_the_sensor_leaves_the_tables_of_a_queued_backfill_alone(paper: Paper, instance: dg.DagsterInstance) -> None:
    backfill = queue_range(paper, instance, ORDERS, ITEMS)
    paper.hint(ORDERS)
    paper.hint(ITEMS)
    assert paper.tick(instance).run_requests == []
    instance.add_run_tags(backfill, {TURN_TAG: f"{backfill}/{ITEMS}"})
    assert [request.partition_key for request in paper.tick(instance).run_requests] == [ORDERS]


def test_only_bronze_has_runs_of_several_partitions(paper: Paper) -> None:
    """The code of the other assets works on one partition."""
    graph = paper.definitions.resolve_asset_graph()
    assert graph.get(LakeNames().bronze).backfill_policy == dg.BackfillPolicy.multi_run(MAX_TABLES)
    others = graph.materializable_asset_keys - {LakeNames().bronze}
    assert all(graph.get(key).backfill_policy is None for key in others)


def test_a_silver_merge_does_not_hold_up_bronze(instance: dg.DagsterInstance) -> None:
    runs = [queue(instance, {}, "silver_orders_job"), queue(instance, {"dagster/partition": ORDERS})]
    assert dequeued(instance) == runs


def test_the_limits_of_the_file_are_in_force(instance: dg.DagsterInstance) -> None:
    config = instance.get_concurrency_config()
    assert config.run_queue_config is not None
    assert config.run_queue_config.max_concurrent_runs == SHIPPED["concurrency"]["runs"]["max_concurrent_runs"]
    assert config.run_queue_config.tag_concurrency_limits == [
        {"key": "dagster/partition", "value": {"applyLimitPerUniqueValue": True}, "limit": 1},
        {"key": SERVER_TAG, "value": {"applyLimitPerUniqueValue": True}, "limit": 4},
    ]
    assert config.pool_config.default_pool_limit == 1
    assert str(config.pool_config.pool_granularity and config.pool_config.pool_granularity.value) == "run"


#: The jobs of a lake with everything, and their steps that take longer than the hour. The other steps divide their
#: work or keep what they did: those of bronze, catalogs and health. The reads of comparisons are bounded. Maintenance
#: does not take longer, because the other runs of its table wait for it.
LONG_STEPS = {
    "bronze_job": set(),
    "bronze_shared_job": set(),
    "catalog_sync": set(),
    "forget": {"forgotten"},
    "forget_events": set(),
    "forget_history": set(),
    "lake_costs_job": {"lake_costs"},
    "maintain": set(),
    "rebuild": {"rebuild_op"},
    "redrive": {"redrive_op"},
    "silver_comparison_job": set(),
    "silver_items_job": {"silver__items"},
    "silver_orders_job": {"silver__orders"},
    "storage_objects_job": {f"storage__objects_{name}" for name in ("cost", "growth", "advice", "audit", "uploads")},
}
#: The job of all assets, for runs that a person starts from their graph.
BY_HAND = "__ASSET_JOB"


def takes_long(step: Any) -> bool:
    """Return whether the function of a step is one that `long_run` made."""
    return str(step.compute_fn.decorated_fn.__code__.co_filename) == long_runs.__file__


def test_each_job_has_the_hour_or_a_step_that_takes_long_and_so_has_a_run_by_hand(tmp_path: Path) -> None:
    """A new job joins the table: a step that keeps nothing of its work when it is ended must not have the hour."""
    path = tmp_path / "lake.yaml"
    objects = {"name": "objects", "prefix": "s3://second/inventory/", "mode": "inventory"}
    tables = [*PAPER["tables"], {**objects, "storage_reports": {"prices": ["s3.csv"]}}]  # type: ignore[misc]
    parts = {"catalog": {"bronze": "raw", "silver": "clean"}, "costs": {}, "forget": {"secret": {"env": "SECRET"}}}
    path.write_text(yaml.safe_dump({**PAPER, **parts, "maintain": {}, "tables": tables}))
    resource = LakeResource(lake_yaml=str(path), spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    jobs = build_definitions(load_lake(path), resource).resolve_all_job_defs()
    found = {job.name: {step.name for step in job.all_node_defs if takes_long(step)} for job in jobs}
    by_hand = found.pop(BY_HAND)
    assert found == LONG_STEPS
    assert by_hand == set().union(*found.values()) - {"rebuild_op", "redrive_op"}


@pytest.fixture(scope="module")
def plain_instance() -> Iterator[dg.DagsterInstance]:
    """Yield an instance with the file as it is printed without a flag."""
    with dg.instance_for_test(overrides=SHIPPED) as made:
        yield made


def test_the_file_begins_with_dagster_s_own_launcher_and_queue(plain_instance: dg.DagsterInstance) -> None:
    assert type(plain_instance.run_launcher) is dg.DefaultRunLauncher
    assert type(plain_instance.run_coordinator) is dg.QueuedRunCoordinator
    assert "tidegate" not in json.dumps(SHIPPED).replace(SERVER_TAG, ""), "no process of Dagster needs our package"
    config = plain_instance.get_concurrency_config().run_queue_config
    assert config is not None
    assert config.tag_concurrency_limits == SHIPPED["concurrency"]["runs"]["tag_concurrency_limits"]
    assert config.max_concurrent_runs == SHIPPED["concurrency"]["runs"]["max_concurrent_runs"]


def test_without_our_queue_a_table_has_one_run_of_its_own_and_may_be_in_a_shared_one(
    paper: Paper, plain_instance: dg.DagsterInstance
) -> None:
    """Both are right: see test_shared_run.py and decision 4. It is the price of Dagster's own queue."""
    plain_instance.add_dynamic_partitions(LakeNames().name("tables"), [ORDERS, ITEMS])
    tags = launch_tags(paper, plain_instance, ORDERS)
    shared = queue(plain_instance, {}, SHARED_JOB, shared_config(LakeNames(), [ORDERS]))
    assert dequeued(plain_instance) == [shared]
    started = dg.DagsterEvent(dg.DagsterEventType.PIPELINE_START.value, SHARED_JOB)
    plain_instance.report_dagster_event(started, shared)
    first, _ = queue(plain_instance, tags), queue(plain_instance, tags)
    assert dequeued(plain_instance) == [first]


def test_fork_changes_the_launcher_and_the_queue_and_no_limit() -> None:
    forked = yaml.safe_load(instance_config(fork=True))
    plain = yaml.safe_load(FILE.read_text())
    launcher = {"module": "tidegate.platform.launcher.run_launcher", "class": "ForkingRunLauncher"}
    assert forked.pop("run_launcher") == launcher
    queue = {"module": "tidegate.platform.launcher.run_coordinator", "class": "TableRunCoordinator"}
    assert {name: forked["run_coordinator"].pop(name) for name in queue} == queue
    assert {name: plain["run_coordinator"].pop(name) for name in queue} == {
        "module": "dagster", "class": "QueuedRunCoordinator"
    }  # fmt: skip
    # Dagster allows a limit of tags under one of both only, and the one hides what our queue adds.
    limits = forked["run_coordinator"]["config"].pop("tag_concurrency_limits")
    assert limits == plain["concurrency"]["runs"].pop("tag_concurrency_limits")
    assert forked == plain
    assert "# Each limit names the invariant" in instance_config(fork=True)


def test_the_command_prints_each_file_and_not_two() -> None:
    def printed(*flags: str) -> str:
        answer = CliRunner().invoke(app, ["dagster-yaml", *flags])
        return answer.output if answer.exit_code == 0 else f"exit code {answer.exit_code}"

    assert printed() == FILE.read_text()
    assert printed("--fork") == instance_config(fork=True)
    assert printed("--guest") == FILE.with_name("dagster-guest.yaml").read_text()
    assert printed("--fork", "--guest") == "exit code 2"


def test_dead_runs_are_noticed_and_never_resumed(instance: dg.DagsterInstance) -> None:
    assert instance.run_monitoring_enabled
    assert instance.run_monitoring_max_resume_run_attempts == 0
    assert instance.run_monitoring_start_timeout_seconds == 180


def test_a_shared_instance_limits_tables_and_nothing_of_others(paper: Paper) -> None:
    """It has Dagster's own launcher and coordinator, no limit of partitions, pools or runs, and keeps all history."""
    added = yaml.safe_load((ROOT / "platform" / "dagster-guest.yaml").read_text())
    with dg.instance_for_test() as plain, dg.instance_for_test(overrides=added) as guest:
        assert type(guest.run_launcher) is type(plain.run_launcher)
        assert type(guest.run_coordinator) is type(plain.run_coordinator)
        mine, theirs = guest.get_concurrency_config(), plain.get_concurrency_config()
        assert mine.pool_config == theirs.pool_config
        assert mine.run_queue_config is not None
        assert theirs.run_queue_config is not None
        assert mine.run_queue_config.max_concurrent_runs == theirs.run_queue_config.max_concurrent_runs
        assert mine.run_queue_config.tag_concurrency_limits == [
            {"key": TABLE_TAG, "value": {"applyLimitPerUniqueValue": True}, "limit": 1}
        ]
        guest.add_dynamic_partitions(LakeNames().name("tables"), [ORDERS, ITEMS])
        day = {"dagster/partition": "2026-01-31"}
        others = [queue(guest, day, job) for job in ("their_job", "their_other_job")]
        orders, items = (sensor_tags(paper, guest, table) for table in (ORDERS, ITEMS))
        ours = [queue(guest, tags) for tags in (orders, orders, items)]
        assert dequeued(guest) == [*others, ours[0], ours[2]]


def limits() -> dict[str, int]:
    """Return every number and switch of the file that limits runs, with its line (the first line of a list item).

    The interval of the queue is not a limit.
    """
    found: dict[str, int] = {}

    def collect(node: yaml.Node) -> None:
        assert isinstance(node, yaml.MappingNode)
        for key, value in node.value:
            if isinstance(value, yaml.MappingNode):
                collect(value)
            elif isinstance(value, yaml.SequenceNode):
                found.update({f"{key.value}[{n}]": item.start_mark.line for n, item in enumerate(value.value)})
            elif value.tag != "tag:yaml.org,2002:str":
                found[key.value] = key.start_mark.line

    for section, node in yaml.compose(FILE.read_text()).value:
        if section.value in ("concurrency", "run_monitoring", "run_coordinator"):
            collect(node)
    del found["dequeue_interval_seconds"]
    del found["poll_interval_seconds"]
    return found


def comment_above(line: int) -> str:
    """Return the comment that ends on the line before, as one line."""
    lines = [text.strip() for text in FILE.read_text().splitlines()[:line]]
    block = list(takewhile(lambda text: text.startswith("#"), reversed(lines)))
    return " ".join(text.lstrip("# ") for text in reversed(block))


def test_every_limit_names_the_invariant_that_it_serves() -> None:
    text = (ROOT / "docs" / "internals" / "architecture.md").read_text().split("### Invariants")[1].split("\n### ")[0]
    titles = re.findall(r"^(\d+)\. \*\*(.+?)\*\*", text, re.M)
    invariants = [f"invariant {n}, {title.rstrip('.').lower()}: " for n, title in titles]
    assert len(invariants) == 12
    found = limits()
    assert set(found) == {
        "max_concurrent_runs", "tag_concurrency_limits[0]", "tag_concurrency_limits[1]", "default_limit", "enabled",
        "start_timeout_seconds", "max_runtime_seconds", "max_resume_run_attempts", "free_slots_after_run_end_seconds",
    }  # fmt: skip
    for name, line in found.items():
        comment = comment_above(line)
        assert any(comment.lower().startswith(begin) for begin in invariants), f"{name} names no invariant: {comment!r}"


def test_ticks_are_not_kept_for_ever() -> None:
    """By default, Dagster never deletes the ticks that did something. Each of them contains its cursor."""
    with dg.instance_for_test(overrides={name: SHIPPED[name] for name in ("retention", "sensors")}) as found:
        for kind in (InstigatorType.SENSOR, InstigatorType.SCHEDULE):
            assert all(0 < days <= 30 for days in found.get_tick_retention_settings(kind).values())
        assert found.get_sensor_settings()["num_workers"] > 4, "silver's sensors have the others"


def test_dagster_s_storage_on_postgresql_uses_the_driver_that_a_deployment_installs() -> None:
    """SQLAlchemy 2.1 takes `postgresql://` for psycopg 3, which dagster-postgres does not bring."""
    config = yaml.safe_load(instance_config(fork=True, postgres=True))
    assert {**config, "storage": None} == {**yaml.safe_load(instance_config(fork=True)), "storage": None}
    scheme = config["storage"]["postgres"]["postgres_db"]["scheme"]
    driver = make_url(f"{scheme}://somewhere/dagster").get_dialect().driver
    assert re.search(rf"^{driver}-binary==", (ROOT / "requirements" / "deploy.txt").read_text(), re.MULTILINE)
