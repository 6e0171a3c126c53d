"""The code location loads by itself, and its graph is the graph that the UI shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey
from dagster._config import validate_config
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test

from tests.support.lakes.objects import Objects
from tests.unit.conftest import Paper
from tidegate.assets.keys import SHARED_JOB, LakeNames
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.held_tables import FAILED_TAG, SHARED_OP, shared_config
from tidegate.assets.runs.tags import TRIGGER_TAG
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.unrouted_events import Detail, Unrouted
from tidegate.platform.intake import due_tables
from tidegate.platform.intake import tick as intake_tick
from tidegate.platform.intake.due_tables import DueTables
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.lake.lake_root.inbox import Backlog
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_choice import ServerChoice
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.intake import run_requests
from tidegate.sensors.intake import sensor as intake
from tidegate.sensors.run_history import FAILURES_TAG

ROOT = Path(__file__).resolve().parents[3]
ORDERS = "landing.orders"


#: Modules for commands, the local platform and a condition of silver. Each would slow down the code location's start.
HEAVY_AND_NOT_FOR_RUNS = {"delta", "ministack", "pyspark.pandas", "rich.progress", "sqlglot", "typer"}
#: Its imports are private to Dagster. A Dagster without them must break one job, not every table.
ONLY_FOR_ITS_JOB = {"tidegate.assets.maintenance.history_tables"}
#: Modules for Dagster's processes only: more than a second before the first output of a command.
HEAVY_AND_NOT_FOR_COMMANDS = {"alembic", "dagster", "dagster_aws", "dagster_pyspark", "sqlalchemy"}


def test_commands_import_no_dagster() -> None:
    modules = ["main", "check.check", "commands.doctor", "commands.alarms", "commands.infer", "commands.sql"]
    imports = ", ".join(f"tidegate.platform.cli.{module}" for module in modules)
    program = f"import sys, {imports}; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=120, check=True
    )
    assert not HEAVY_AND_NOT_FOR_COMMANDS & set(done.stdout.split())


def test_definitions_load_in_a_fresh_interpreter_without_anything_running(paper: Paper, tmp_path: Path) -> None:
    program = (
        "import sys, dagster as dg, tidegate.platform.definitions as module\n"
        f"print(sorted({HEAVY_AND_NOT_FOR_RUNS | ONLY_FOR_ITS_JOB} & sys.modules.keys()))\n"
        "made = module.defs()\n"
        "dg.Definitions.validate_loadable(made)\n"
        "print(sorted(key.to_user_string() for key in made.resolve_asset_graph().get_all_asset_keys()))"
    )
    environ = {**os.environ, "TIDEGATE_LAKE": str(paper.path), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environ = {name: value for name, value in environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[]"
    assert done.stdout.splitlines()[-1] == (
        "['bronze', 'bronze/items', 'bronze/orders', 'bronze/plain', 'lake_health', 'maintenance/bronze', "
        "'maintenance/lake', 'maintenance/silver/items', 'maintenance/silver/orders', 's3/landing', 's3/second', "
        "'silver/items', 'silver/orders', 'sqs/events', 'sqs/more']"
    )


def test_a_wrong_lake_yaml_fails_with_file_line_and_field(tmp_path: Path) -> None:
    (tmp_path / "lake.yaml").write_text("lake: {root: nowhere}\nqueues: [{name: q}]\nbuckets: [landing]\n")
    environ = {**os.environ, "TIDEGATE_LAKE": "lake.yaml", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    program = "import tidegate.platform.definitions as module; module.defs()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "lake.yaml:1: lake.root: " in done.stderr


def test_lineage_runs_from_bucket_to_silver(paper: Paper) -> None:
    graph = paper.definitions.resolve_asset_graph()
    parents = {
        key.to_user_string(): sorted(p.to_user_string() for p in graph.get(key).parent_keys)
        for key in graph.get_all_asset_keys()
    }
    assert parents == {
        "s3/landing": [],
        "s3/second": [],
        "sqs/events": ["s3/landing", "s3/second"],
        "sqs/more": ["s3/landing", "s3/second"],
        "bronze": ["sqs/events", "sqs/more"],
        "bronze/orders": ["bronze"],
        "bronze/items": ["bronze"],
        "bronze/plain": ["bronze"],
        "silver/orders": ["bronze/orders"],
        "silver/items": ["bronze/items"],
        "lake_health": [],
        "maintenance/bronze": [],
        "maintenance/silver/orders": [],
        "maintenance/silver/items": [],
        "maintenance/lake": [],
    }


def test_what_serves_all_tables_is_owned_by_all_teams_or_by_none(paper: Paper) -> None:
    assert table_owners(paper.config) == [], "a table has no owner"
    owned = paper.config.model_copy(update={"tables": paper.config.tables[:2]})
    assert table_owners(owned) == ["a@example.org", "team:sales"]


def test_assets_carry_what_the_ui_shows(paper: Paper) -> None:
    graph = paper.definitions.resolve_asset_graph()
    assets = {
        key.to_user_string(): (node.group_name, sorted(node.kinds), sorted(node.owners), node.is_external)
        for key in graph.get_all_asset_keys()
        if (node := graph.get(key))
    }
    assert assets == {
        "s3/landing": ("sources", ["s3"], ["a@example.org", "team:sales"], True),
        "s3/second": ("sources", ["s3"], [], True),
        "sqs/events": ("sources", ["sqs"], [], True),
        "sqs/more": ("sources", ["sqs"], [], True),
        "bronze": ("bronze", ["bronze", "deltalake", "pyspark"], [], False),
        "bronze/orders": ("bronze", ["bronze", "deltalake"], ["team:sales"], True),
        "bronze/items": ("bronze", ["bronze", "deltalake"], ["a@example.org"], True),
        "bronze/plain": ("bronze", ["bronze", "deltalake"], [], True),
        "silver/orders": ("silver", ["deltalake", "pyspark", "silver"], ["team:sales"], False),
        "silver/items": ("silver", ["deltalake", "pyspark", "silver"], ["a@example.org"], False),
        "lake_health": ("health", ["s3", "sqs"], [], False),
        "maintenance/bronze": ("maintenance", ["deltalake"], [], False),
        "maintenance/silver/orders": ("maintenance", ["deltalake"], ["team:sales"], False),
        "maintenance/silver/items": ("maintenance", ["deltalake"], ["a@example.org"], False),
        "maintenance/lake": ("maintenance", ["s3"], [], False),
    }
    assert all(graph.get(key).description for key in graph.get_all_asset_keys())
    page = graph.get(AssetKey(["bronze", "orders"])).description or ""
    assert page.startswith("Orders as the shop exports them: the bronze table of s3://landing/orders/.")
    assert "the partition `landing.orders` of the asset bronze" in page, "Markdown strikes ~2e through"
    description = graph.get(AssetKey(["silver", "orders"])).description or ""
    assert description.startswith("Orders as the shop exports them: ")
    assert "*/10 * * * *" in description


def test_each_table_has_its_own_checks_in_addition_to_those_of_its_partition(paper: Paper) -> None:
    graph = paper.definitions.resolve_asset_graph()
    checks = ["nothing_quarantined", "schema_unchanged", "write_once_keys"]
    for name in ("orders", "items", "plain"):
        found = sorted(key.name for key in graph.get(AssetKey(["bronze", name])).check_keys)
        assert found == ["keeps_up", *checks], "what waits for it is the health's to say, not a run's"
    assert sorted(key.name for key in graph.get(LakeNames().bronze).check_keys) == checks
    for job, own in (("bronze_job", {LakeNames().bronze}), ("silver_orders_job", {AssetKey(["silver", "orders"])})):
        layer = paper.definitions.resolve_job_def(job).asset_layer
        assert {key.asset_key for key in layer.asset_graph.asset_check_keys} == own, "a run plans its own checks only"


def test_partitions_and_pools(paper: Paper) -> None:
    graph = paper.definitions.resolve_asset_graph()
    assert graph.get(LakeNames().bronze).partitions_def == LakeNames().tables
    silver = graph.assets_def_for_key(AssetKey(["silver", "orders"]))
    assert silver.partitions_def is None
    assert {op.pool for op in silver.op.iterate_node_defs() if isinstance(op, dg.OpDefinition)} == {"silver.orders"}
    page = AssetKey(["bronze", "orders"])
    assert graph.get(page).partitions_def is None
    assert graph.get_partition_mapping(page, LakeNames().bronze) == dg.SpecificPartitionsPartitionMapping([ORDERS])


def test_triggers_are_a_schedule_or_a_sensor_and_on_from_the_start(paper: Paper) -> None:
    schedules = {
        schedule.name: schedule
        for schedule in paper.definitions.schedules or []
        if isinstance(schedule, dg.ScheduleDefinition)
    }
    sensors = {sensor.name: sensor for sensor in paper.definitions.sensors or []}
    asked_for = {"forget_events_schedule", "maintain_schedule"}
    assert set(schedules) == {"silver_orders_schedule", "forget_history_schedule", *asked_for}
    assert set(sensors) == {"compare_silver", "health", "intake", "silver_items_sensor"}
    assert schedules["silver_orders_schedule"].cron_schedule == "*/10 * * * *"
    assert schedules["silver_orders_schedule"].job_name == "silver_orders_job"
    assert sensors["silver_items_sensor"].minimum_interval_seconds == 10
    assert sensors["silver_items_sensor"].job_name == "silver_items_job"
    assert {sensor.default_status for sensor in sensors.values()} == {dg.DefaultSensorStatus.RUNNING}
    running = {name for name, each in schedules.items() if each.default_status == dg.DefaultScheduleStatus.RUNNING}
    assert set(schedules) - running == asked_for, "nobody asked for them"


def test_runs_are_in_process(paper: Paper) -> None:
    for name in ("bronze_job", "silver_orders_job", "silver_items_job"):
        assert paper.definitions.resolve_job_def(name).executor_def == run_executor


def test_a_tick_adds_partitions_and_asks_for_runs_from_the_inbox(paper: Paper, instance: dg.DagsterInstance) -> None:
    paper.hint(ORDERS)
    paper.hint("landing.seen")
    instance.add_dynamic_partitions(LakeNames().name("tables"), ["landing.seen"])
    tick = paper.tick(instance)
    (added,) = tick.dynamic_partitions_requests or []
    # Tables without events have a partition too, because materializing such a table reads its prefix.
    assert list(added.partition_keys) == sorted(spec.table_key.encode() for spec in paper.config.tables)
    (shared,) = tick.run_requests or []
    assert (shared.job_name, shared.run_config) == (SHARED_JOB, shared_config(LakeNames(), [ORDERS, "landing.seen"]))
    paper.inbox = [Backlog(ORDERS, 1, 0.0)]
    (own,) = paper.tick(instance).run_requests or []
    assert (own.job_name, own.partition_key, own.tags["dagster/partition"]) == ("bronze_job", ORDERS, ORDERS)
    for request in (shared, own):
        assert request.run_key is None  # Dagster never starts a second run for a run key, even after a failure
        assert request.tags[TRIGGER_TAG] == "sensor"


def test_the_configuration_that_the_sensor_gives_is_the_job_s(paper: Paper) -> None:
    schema = paper.definitions.resolve_job_def(SHARED_JOB).run_config_schema.config_type
    assert validate_config(schema, shared_config(LakeNames(), [ORDERS])).success
    assert not validate_config(schema, {"ops": {SHARED_OP: {"config": {}}}}).success


def test_a_tick_evaluates_the_checks_of_the_queues(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = Unrouted("m#0", "no_table", "more", S3Address("b", "x.json"), "no folder")
    monkeypatch.setattr(intake, "listen", lambda *_, **__: IntakeResult(unrouted=[event]))
    tick = paper.tick(instance)
    assert {event.asset_key.path[-1]: event.passed for event in tick.asset_events} == {"events": True, "more": False}
    for event in tick.asset_events:
        instance.report_runless_asset_event(event)
    key = dg.AssetCheckKey(AssetKey(["sqs", "more"]), "every_event_has_a_table")
    assert key in paper.definitions.resolve_asset_graph().asset_check_keys
    (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=2)
    assert record.evaluation is not None
    assert record.evaluation.severity == dg.AssetCheckSeverity.WARN
    assert record.evaluation.metadata["no_table"].value == 1


def test_what_the_sensor_has_reported_is_not_read_again_once_processes_drain(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "listen", lambda *_, **__: IntakeResult())
    asked: list[str] = []

    def follow(_: Any, last: str, held: Any) -> tuple[str, IntakeResult]:
        asked.append(last)
        return last, IntakeResult()

    monkeypatch.setattr(intake, "follow_processes", follow)
    began = time.time()
    first = paper.tick(instance)
    paper.config = paper.config.model_copy(
        update={"intake": paper.config.intake.model_copy(update={"by": "processes"})}
    )
    paper.tick(instance, first.cursor)
    assert [float(place) >= began - 1 for place in asked] == [True]


def test_an_empty_inbox_asks_for_nothing(paper: Paper, instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions(
        LakeNames().name("tables"), [spec.table_key.encode() for spec in paper.config.tables]
    )
    tick = paper.tick(instance)
    assert (tick.run_requests, tick.dynamic_partitions_requests) == ([], [])
    assert "received 0 events" in (tick.skip_message or "")


def test_a_tick_shows_what_went_to_no_table_and_why(
    paper: Paper,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    keys = ["x\n2026 ERROR forged\x1b[2J.csv", *(f"{n}.csv" for n in range(20))]
    events = [
        Unrouted("m#0", "own_file", "events", S3Address("landing", "orders/_SUCCESS"), "hidden"),
        Unrouted("m#1", "malformed", "events", Detail("s3://lake/quarantine/messages/m-0.json"), "not JSON"),
        *(Unrouted("m#2", "no_table", "events", S3Address("landing", key), "in no folder") for key in keys),
    ]
    monkeypatch.setattr(intake, "listen", lambda *_, **__: IntakeResult(unrouted=events))
    paper.tick(instance)
    log = capfd.readouterr().err
    assert "malformed: s3://lake/quarantine/messages/m-0.json: not JSON" in log
    assert "no_table: s3://landing/0.csv: in no folder" in log
    assert (log.count("WARNING"), "_SUCCESS" in log) == (10, False)
    assert "\n2026 ERROR" not in log
    assert "\x1b[2J" not in log


def test_a_queue_that_fails_for_ever_does_not_set_the_tour_of_the_inbox_back(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick that fails keeps no cursor, so the next tick would read the same tables again."""
    broken = IntakeResult(failures={"events": TimeoutError("no route")})
    monkeypatch.setattr(intake, "listen", lambda *_, **__: broken)
    monkeypatch.setattr(intake, "bronze_requests", lambda *_: (DueTables(last="landing.m"), []))
    for _ in range(2):
        assert json.loads(paper.tick(instance).cursor or "")["last"] == "landing.m"


def test_a_tick_with_a_queue_that_fails_keeps_what_is_new_and_then_fails(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions of new tables, and checks of other queues: also the miss of yesterday, which passes today."""
    missed = Unrouted("n#0", "no_table", "more", S3Address("landing", "x.json"), "no table's folder")
    cursor: str | None = None

    def ticks(day: int, *misses: Unrouted) -> list[tuple[str, bool]]:
        """Tick until a tick fails. Returns the results of checks that Dagster has then."""
        nonlocal cursor
        failing = {"events": TimeoutError("no route")}
        found = [IntakeResult(failures=failing, unrouted=[*misses]), *[IntakeResult(failures=failing)] * 3]
        monkeypatch.setattr(intake, "listen", lambda *_, **__: found.pop(0))
        monkeypatch.setattr(intake, "datetime", SimpleNamespace(now=lambda _: datetime(2026, 11, day, tzinfo=UTC),
                                                                fromtimestamp=datetime.fromtimestamp))  # fmt: skip
        said: list[tuple[str, bool]] = []
        while found:
            try:
                tick = paper.tick(instance, cursor)
            except TimeoutError:
                return said
            cursor = tick.cursor
            said += [(event.asset_key.path[-1], event.passed) for event in tick.asset_events]  # type: ignore[union-attr]
            for request in tick.dynamic_partitions_requests or []:
                instance.add_dynamic_partitions("tables", list(request.partition_keys))
        raise AssertionError("nobody sees that the queue fails")

    assert {passed for _, passed in ticks(1)} == {True}, "what is known of each queue"
    monkeypatch.setattr(intake, "bronze_requests", lambda *_: (DueTables(seen=["landing.new"], whole=True), []))
    assert ticks(1) == []
    assert "landing.new" in instance.get_dynamic_partitions("tables")
    assert ticks(1, missed) == [("more", False)]
    assert ticks(2) == [("more", True)]
    assert ticks(2) == []


@pytest.mark.parametrize("status", ["QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING"])
def test_a_table_with_an_active_run_is_left_alone(status: str, paper: Paper, instance: dg.DagsterInstance) -> None:
    paper.hint(ORDERS)
    paper.hint("landing.items")
    make_run(instance, dg.DagsterRunStatus[status])
    assert [request.partition_key for request in paper.tick(instance).run_requests or []] == ["landing.items"]


@pytest.mark.parametrize("status", ["QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING"])
def test_a_table_of_an_active_shared_run_is_left_alone(status: str, paper: Paper, instance: dg.DagsterInstance) -> None:
    paper.hint(ORDERS)
    paper.hint("landing.items")
    make_shared_run(instance, dg.DagsterRunStatus[status], [ORDERS, "landing.seen"])
    assert [request.partition_key for request in paper.tick(instance).run_requests or []] == ["landing.items"]


@pytest.mark.parametrize("says", [True, False], ids=["it says which", "it died"])
def test_a_table_that_failed_in_a_shared_run_rests_and_then_has_its_own(
    says: bool, paper: Paper, instance: dg.DagsterInstance
) -> None:
    others = ["landing.items", "landing.seen"]
    for table in (ORDERS, *others):
        paper.hint(table)
    tags = {FAILED_TAG: json.dumps([ORDERS])} if says else {}
    make_shared_run(instance, dg.DagsterRunStatus.FAILURE, [ORDERS, *others], tags)
    (*none, shared) = asked_at(paper, instance, time.time()) or [None]
    assert not none
    assert (
        (shared.run_config == shared_config(LakeNames(), others)) if says else shared is None
    )  # all tables back off, whichever table failed
    requests = {request.partition_key: request for request in asked_at(paper, instance, time.time() + 6)}
    assert set(requests) == ({ORDERS, None} if says else {ORDERS, *others})
    assert requests[ORDERS].tags[FAILURES_TAG] == "1"
    make_run(instance, dg.DagsterRunStatus.FAILURE, requests[ORDERS].tags)
    assert asked_at(paper, instance, time.time() + 6, table=ORDERS) == []
    (again,) = asked_at(paper, instance, time.time() + 11, table=ORDERS)
    assert (again.partition_key, again.tags[FAILURES_TAG]) == (ORDERS, "2")
    make_run(instance, dg.DagsterRunStatus.SUCCESS)
    after = asked_at(paper, instance, time.time())
    assert [table for request in after for table in tables_of(request) if table == ORDERS] == [ORDERS]
    assert all(FAILURES_TAG not in request.tags for request in after if ORDERS in tables_of(request))


@pytest.mark.parametrize("status", ["FAILURE", "CANCELED"])
def test_a_table_whose_run_just_failed_rests_and_is_tried_again(
    status: str, paper: Paper, instance: dg.DagsterInstance
) -> None:
    paper.hint(ORDERS)
    make_run(instance, dg.DagsterRunStatus[status])
    assert paper.tick(instance).run_requests == []
    make_run(instance, dg.DagsterRunStatus.SUCCESS)
    assert len(paper.tick(instance).run_requests or []) == 1


def test_the_rest_after_a_failure_ends_and_grows_with_the_next(paper: Paper, instance: dg.DagsterInstance) -> None:
    paper.hint(ORDERS)
    for failures in range(12):
        (request,) = asked_at(paper, instance, time.time() + 3601)
        assert request.tags.get(FAILURES_TAG, "0") == str(failures), "the next run knows of those before"
        make_run(instance, dg.DagsterRunStatus.FAILURE, request.tags)
        rest = min(5 * 2**failures, 3600)
        now = time.time()
        assert asked_at(paper, instance, now + rest - 5) == []
        assert len(asked_at(paper, instance, now + rest)) == 1
    make_run(instance, dg.DagsterRunStatus.SUCCESS)
    (request,) = asked_at(paper, instance, time.time())
    assert FAILURES_TAG not in request.tags


def test_a_tick_with_thousands_of_waiting_tables_asks_little_and_for_few_runs(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ticks use Dagster's real storage and an inbox of 5,000 tables. Some tables have a run, and some back off."""
    objects, max_runs, queries, listings = Objects(), 20, [], []
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    tables = sorted(TableKey("landing", f"t{number}/").encode() for number in range(5000))
    for table in [*tables, *[tables[0]] * 5000]:
        objects.bodies[f"root/inbox/{table}/{len(objects.bodies):026d}-1.json"] = ""
    monkeypatch.setattr(run_requests, "MAX_RUNS", max_runs)
    monkeypatch.setattr(due_tables, "MAX_SHARED_TABLES", 5)
    lake = SimpleNamespace(store=store, config=paper.config, delta=SimpleNamespace(server=paper.server))
    monkeypatch.setattr(LakeResource, "open", lambda *_: lake)
    fetch, under = dg.DagsterInstance.get_run_records, Objects.list_under
    monkeypatch.setattr(
        dg.DagsterInstance, "get_run_records", lambda *given, **more: queries.append(1) or fetch(*given, **more)
    )
    monkeypatch.setattr(
        Objects, "list_under", lambda *given, **more: (listings.append(1) or item for item in under(*given, **more))
    )
    make_run(instance, dg.DagsterRunStatus.STARTED, {"dagster/partition": tables[3]})
    make_run(instance, dg.DagsterRunStatus.FAILURE, {"dagster/partition": tables[5], FAILURES_TAG: "9"})
    served: list[str] = []
    cursor = None
    for _ in range(2):
        tick = paper.tick(instance, cursor)
        runs = [tables_of(request) for request in tick.run_requests or []]
        assert sorted(map(len, runs)) == ([1] if cursor is None else [5]) + [5] * (max_runs - 1)
        served += [table for run in runs for table in run]
        cursor = tick.cursor
    assert sorted(served) == sorted({*tables[: 1 + 5 * (2 * max_runs - 1) + 2]} - {tables[3], tables[5]})
    assert len(queries) == 2 * 4, "active ones, failed ones of either kind, and which of these tables did well since"
    assert len(listings) < 2000, "a page of the one with thousands of manifests, and those that had their turn"

    for table in served[: max_runs - 1]:
        make_run(instance, dg.DagsterRunStatus.QUEUED, {"dagster/partition": table, TRIGGER_TAG: "sensor"})
    assert len(paper.tick(instance, cursor).run_requests or []) == 1, "no more than the queue will hold"
    make_run(instance, dg.DagsterRunStatus.QUEUED, {"dagster/partition": served[max_runs], TRIGGER_TAG: "sensor"})
    full = paper.tick(instance, cursor)
    assert full.run_requests == []
    assert json.loads(full.cursor or "")["last"] == json.loads(cursor or "")["last"], "whose turn it is stays"


def test_the_inbox_has_a_time_of_its_own_however_long_the_queues_took(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Due runs are requested although a queue failed. Only a tick without other results fails."""
    clock = [1000.0]

    def long_drain(*_: Any, **__: Any) -> IntakeResult:
        clock[0] += intake_tick.DRAIN_SECONDS
        return IntakeResult(failures={"more": ConnectionError("no answer")})

    given: list[float] = []

    def bronze_requests(*what: Any) -> Any:
        given.append(what[-1] - clock[0])
        return run_requests.bronze_requests(*what[:-1], time.monotonic() + 60)  # type: ignore[call-arg]

    monkeypatch.setattr(intake, "listen", long_drain)
    monkeypatch.setattr(intake, "bronze_requests", bronze_requests)
    monkeypatch.setattr(intake, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    paper.hint(ORDERS)
    assert len(paper.tick(instance).run_requests or []) == 1
    assert given == [intake.INBOX_SECONDS]
    together = intake_tick.DRAIN_SECONDS + intake.INBOX_SECONDS
    assert together < intake_tick.TICK_SECONDS, "they end before Dagster gives the tick up"


def tables_of(request: dg.RunRequest) -> list[str]:
    return (
        [request.partition_key] if request.partition_key else request.run_config["ops"][SHARED_OP]["config"]["tables"]
    )


def asked_at(paper: Paper, instance: dg.DagsterInstance, now: float, table: str = "") -> list[dg.RunRequest]:
    """Return the runs that a tick requests at the time `now`. If `table` is given, only its runs."""
    found = run_requests.bronze_requests(paper.resource.open(), instance, now, "", time.monotonic() + 60)[1]
    return [request for request in found if not table or table in tables_of(request)]


def test_tables_share_a_run_if_they_have_one_spark_server_which_the_run_names(
    paper: Paper, instance: dg.DagsterInstance
) -> None:
    paper.server = ServerChoice([SparkRemote.parse(f"sc://spark-{n}:15002") for n in range(2)])
    tables = [f"landing.t{n}" for n in range(20)]
    for table in tables:
        paper.hint(table)
    requests = asked_at(paper, instance, 1e9)
    assert sorted(table for request in requests for table in tables_of(request)) == sorted(tables)
    for request in requests:
        (server,) = {paper.server.server_of(table) for table in tables_of(request)}
        assert request.tags["tidegate/server"] == server
    assert len(requests) == 2
    paper.server = SparkRemote.parse("sc://spark-0:15002")
    (request,) = asked_at(paper, instance, 1e9)
    assert "tidegate/server" not in request.tags, "there is nothing to limit"


def make_shared_run(
    instance: dg.DagsterInstance,
    status: dg.DagsterRunStatus,
    tables: list[str],
    tags: Mapping[str, str] | None = None,
) -> None:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tidegate"), "__repository__").get_job_origin(
        SHARED_JOB
    )
    create_run_for_test(
        instance,
        job_name=SHARED_JOB,
        status=status,
        tags=dict(tags or {}),
        run_config=shared_config(LakeNames(), tables),
        remote_job_origin=origin,
    )


def make_run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, tags: Mapping[str, str] | None = None) -> None:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tidegate"), "__repository__").get_job_origin(
        "bronze_job"
    )
    tags = {"dagster/partition": ORDERS, **(tags or {})}
    create_run_for_test(instance, job_name="bronze_job", status=status, tags=tags, remote_job_origin=origin)


def test_each_asset_of_lake_yaml_refers_to_its_line(paper: Paper) -> None:
    lines = paper.path.read_text(encoding="utf-8").splitlines()
    graph = paper.definitions.resolve_asset_graph()

    def referred(*key: str) -> str:
        (reference,) = graph.get(AssetKey(list(key))).metadata["dagster/code_references"].code_references
        assert (reference.file_path, reference.label) == (str(paper.path), "lake.yaml")
        return lines[reference.line_number - 1].strip()

    page, silver = referred("bronze", "items"), referred("silver", "items")
    first = next(number for number, line in enumerate(lines) if "landing/items/" in line)
    block = [line.strip() for line in lines[first - 6 : first + 6]]
    assert page in block
    assert silver == "silver:"
    assert referred("bronze") == "tables:"
    assert referred("sqs", "events") == "- name: events"
    assert "dagster/code_references" not in graph.get(AssetKey(["lake_health"])).metadata


def test_a_page_has_queries_to_copy_and_the_name_of_its_table_before_the_first_run(paper: Paper) -> None:
    graph = paper.definitions.resolve_asset_graph()
    for key, name in ((["bronze", "orders"], "bronze.orders"), (["silver", "orders"], "silver.orders")):
        metadata = graph.get(AssetKey(key)).metadata
        assert metadata["dagster/table_name"] == name
        assert f"```sql\nSELECT * FROM {name} LIMIT 100\n```" in metadata["sql"].value
