"""What silver's triggers do with what they find. Finding it is tested on a real lake."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test

from tests.support.ticks import evaluate
from tests.unit.conftest import Paper
from tidegate.assets.keys import LakeNames
from tidegate.assets.silver import report
from tidegate.assets.silver.asset import build_silver_assets
from tidegate.assets.silver.report import silver_mark
from tidegate.platform.lake.lake_root.batches import GenerationRetired
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_choice import ServerChoice
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.silver.pending_merge import BronzeGone
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors import silver
from tidegate.sensors.silver import build_silver_triggers


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the state of the tables. `work` is None if there is nothing to merge."""
    answer: dict[str, Any] = {"work": None, "error": None, "looks": 0, "decided": 5, "recorded": 5, "log": True}
    answer |= {"generation": "g", "rests": None, "server": SparkRemote.parse("sc://localhost:1")}

    @contextmanager
    def opened(self: LakeResource, table: str) -> Iterator[Any]:
        if answer["error"]:
            raise answer["error"]
        store = SimpleNamespace(
            bucket="lake",
            key=lambda *parts: "/".join(parts),
            objects=SimpleNamespace(is_empty=lambda bucket, prefix: not answer["log"]),
            losses=SimpleNamespace(rests_until=lambda reader, config: answer["rests"]),
        )
        table = SimpleNamespace(
            lake=SimpleNamespace(store=store),
            spec=SimpleNamespace(name="items"),
            birth=SimpleNamespace(generation=answer["generation"]),
            batches=SimpleNamespace(is_decided=lambda n: n <= answer["decided"]),
            ledger=SimpleNamespace(clock=lambda: Clock(0, answer["recorded"])),
        )
        delta = SimpleNamespace(server=answer["server"])
        yield SimpleNamespace(table=lambda table_key: table, store=store, delta=delta, config=None)

    def pending_merge(lake: Any, spec: Any) -> Any:
        answer["looks"] += 1
        return answer["work"]

    monkeypatch.setattr(LakeResource, "open_lake", opened)
    monkeypatch.setattr(silver, "pending_merge", pending_merge)
    return answer


def ask(paper: Paper, instance: dg.DagsterInstance) -> dg.RunRequest | dg.SkipReason:
    return silver.silver_request(instance, LakeNames(), paper.resource, paper.config.tables[0]).answer


def test_spark_is_not_asked_again_until_a_later_batch_is_decided(
    paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    cursor, looks = None, []
    for decided, recorded, work in [(5, 5, None), (5, 5, None), (6, 5, None), (6, 6, SimpleNamespace(mark=5, n=6))]:
        found |= {"decided": decided, "recorded": recorded, "work": work}
        tick = evaluate("silver_items_sensor", paper.definitions, instance, paper.resource, cursor)
        cursor = tick.cursor
        looks.append(found["looks"])
    assert looks == [1, 1, 2, 3]
    assert len(tick.run_requests or []) == 1
    assert cursor == "g:5"


@pytest.mark.parametrize(
    ("generation", "decided", "log"),
    [("g", 1, True), ("h", 5, True), ("g", 5, False)],
    ids=["bronze begun anew", "bronze reset", "silver dropped"],
)
def test_what_silver_held_is_believed_only_while_the_tables_are_the_same(
    generation: str, decided: int, log: bool, paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found |= {"generation": generation, "decided": decided, "recorded": decided, "log": log}
    found |= {"work": SimpleNamespace(mark=None, n=decided)}
    verdict = silver.silver_request(instance, LakeNames(), paper.resource, paper.config.tables[0], held="g:5")
    assert isinstance(verdict.answer, dg.RunRequest)


def test_the_same_answer_as_long_as_the_tables_say_the_same(
    paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found["work"] = SimpleNamespace(mark=2, n=5)
    for _ in range(3):
        request = ask(paper, instance)
        assert isinstance(request, dg.RunRequest)
        assert (request.run_key, request.tags) == (None, {"tidegate/silver": "2..5"})
    found["server"] = ServerChoice([SparkRemote.parse(f"sc://spark-{n}:15002") for n in range(2)])
    request = ask(paper, instance)
    assert isinstance(request, dg.RunRequest)
    of_table = paper.config.tables[0].table_key.encode()
    assert request.tags == {"tidegate/silver": "2..5", "tidegate/server": found["server"].server_of(of_table)}
    found["work"] = None
    skipped = ask(paper, instance)
    assert isinstance(skipped, dg.SkipReason)
    assert skipped.skip_message == "silver.orders holds everything that bronze has recorded"


def test_a_table_whose_export_alone_is_behind_gets_a_run_now_and_then(
    paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = True
    monkeypatch.setattr(silver, "is_behind", lambda *_: behind)
    request = ask(paper, instance)
    assert isinstance(request, dg.RunRequest)
    assert request.tags == {"tidegate/silver": "export"}
    merging(instance, "silver_orders_job", "SUCCESS")
    verdict = silver.silver_request(instance, LakeNames(), paper.resource, paper.config.tables[0])
    assert isinstance(verdict.answer, dg.SkipReason), "an export that fails does not fail its run"
    assert re.fullmatch(
        r"silver\.orders has changes to export; the next run is requested in (8\d\d|900) s",
        str(verdict.answer.skip_message),
    )
    assert verdict.held == "", "the next tick asks again"
    later = time.time() + silver.EXPORT_PACE
    monkeypatch.setattr(silver.time, "time", lambda: later)  # type: ignore[attr-defined]
    assert isinstance(ask(paper, instance), dg.RunRequest)
    behind = False
    assert isinstance(ask(paper, instance), dg.SkipReason)


def test_a_first_merge_starts_from_nothing(paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]) -> None:
    found["work"] = SimpleNamespace(mark=None, n=5)
    request = ask(paper, instance)
    assert isinstance(request, dg.RunRequest)
    assert request.tags == {"tidegate/silver": "0..5"}


@pytest.mark.parametrize("status", ["QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING"])
def test_an_active_merge_is_waited_for(
    status: str, paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found["work"] = SimpleNamespace(mark=0, n=1)
    merging(instance, "silver_orders_job", status)
    skipped = ask(paper, instance)
    assert isinstance(skipped, dg.SkipReason)
    assert found["looks"] == 0


@pytest.mark.parametrize("status", ["SUCCESS", "FAILURE", "CANCELED"])
def test_a_merge_that_ended_is_asked_for_again_while_there_is_work(
    status: str, paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found["work"] = SimpleNamespace(mark=0, n=1)
    merging(instance, "silver_orders_job", status)
    merging(instance, "silver_items_job", "STARTED")  # another table's
    assert isinstance(ask(paper, instance), dg.RunRequest)


def test_a_sensor_rests_after_a_failed_merge_and_a_schedule_keeps_its_times(
    paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found["work"] = SimpleNamespace(mark=0, n=1)
    for job in ("silver_orders_job", "silver_items_job"):
        for _ in range(3):
            merging(instance, job, "FAILURE")
    orders, items = paper.config.tables[:2]
    assert isinstance(silver.silver_request(instance, LakeNames(), paper.resource, orders).answer, dg.RunRequest)
    looks = found["looks"]
    skipped = silver.silver_request(instance, LakeNames(), paper.resource, items).answer
    assert isinstance(skipped, dg.SkipReason)
    # `every: 10`, three failures: 10 s, 20 s, 40 s.
    assert re.fullmatch(
        r"the last merge of silver.items failed; the next is tried in (3\d|40) s", str(skipped.skip_message)
    )
    assert found["looks"] == looks
    now = time.time()
    monkeypatch.setattr(silver.time, "time", lambda: now + 40)  # type: ignore[attr-defined]
    assert isinstance(silver.silver_request(instance, LakeNames(), paper.resource, items).answer, dg.RunRequest)
    merging(instance, "silver_items_job", "SUCCESS")
    monkeypatch.setattr(silver.time, "time", lambda: now)  # type: ignore[attr-defined]
    assert isinstance(silver.silver_request(instance, LakeNames(), paper.resource, items).answer, dg.RunRequest)


def test_a_table_that_often_lost_the_server_rests_by_sensor_and_by_schedule(
    paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found |= {"work": SimpleNamespace(mark=0, n=1), "rests": time.time() + 60}
    for spec in paper.config.tables[:2]:
        skipped = silver.silver_request(instance, LakeNames(), paper.resource, spec, held="g:4").answer
        assert isinstance(skipped, dg.SkipReason)
        assert f"silver.{spec.name} rests until 20" in str(skipped.skip_message)
    found["rests"] = time.time() - 60
    assert isinstance(ask(paper, instance), dg.RunRequest)


@pytest.mark.parametrize(
    "error", [SparkUnreachable("no Spark Connect server at sc://nowhere"), BronzeGone("bronze.orders is gone")]
)
def test_tables_that_cannot_be_looked_at_are_a_reason_to_skip(
    error: Exception, paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found["error"] = error
    skipped = ask(paper, instance)
    assert isinstance(skipped, dg.SkipReason)
    assert skipped.skip_message == str(error)


def test_the_schedule_and_the_sensor_ask_the_same_question(
    paper: Paper, instance: dg.DagsterInstance, found: dict[str, Any]
) -> None:
    found["work"] = SimpleNamespace(mark=0, n=1)
    schedule = paper.definitions.resolve_schedule_def("silver_orders_schedule")
    with dg.build_schedule_context(instance=instance, resources={"lake": paper.resource}) as context:
        scheduled = schedule.evaluate_tick(context)
    sensed = evaluate("silver_items_sensor", paper.definitions, instance, paper.resource)
    assert [request.tags["tidegate/silver"] for request in scheduled.run_requests or []] == ["0..1"]
    assert [request.tags["tidegate/silver"] for request in sensed.run_requests or []] == ["0..1"]


def merging(instance: dg.DagsterInstance, job: str, status: str) -> None:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tidegate"), "__repository__").get_job_origin(job)
    create_run_for_test(instance, job_name=job, status=dg.DagsterRunStatus[status], remote_job_origin=origin)


def automated(paper: Paper, automation: str) -> dg.AssetsDefinition:
    """Build the asset of `orders` with a condition of Dagster."""
    (spec,) = (each for each in paper.config.tables if each.name == "orders")
    assert spec.silver
    silver = spec.silver.model_copy(update={"schedule": None, "automation": automation})
    config = paper.config.model_copy(update={"tables": (spec.model_copy(update={"silver": silver}),)})
    (sensor,) = build_silver_triggers(config)
    assert (sensor.name, sensor.default_status) == ("silver_automation", dg.DefaultSensorStatus.RUNNING)
    return build_silver_assets(config)[0]


@pytest.mark.parametrize("before", [False, True], ids=["rows come later", "rows were there"])
@pytest.mark.parametrize("automation", ["eager", "0 * * * *"])
def test_dagster_s_automation_merges_new_rows_and_tries_a_failed_merge_again(
    paper: Paper, automation: str, *, before: bool
) -> None:
    instance, names, asset = dg.DagsterInstance.ephemeral(), paper.names, automated(paper, automation)
    page, key = dg.AssetSpec(names.bronze_table("orders")), names.silver_table("orders")
    definitions = dg.Definitions(assets=[page, asset], resources={"lake": paper.resource})
    # A failed merge is asked for again at the minutes 10, 20, …: the calls that find nothing are at 2 and 3.
    now = datetime.now(UTC).replace(minute=1) + timedelta(hours=1)
    cursor = None

    def requested(minutes: int) -> int:
        nonlocal now, cursor
        now += timedelta(minutes=minutes)
        found = dg.evaluate_automation_conditions(definitions, instance, cursor=cursor, evaluation_time=now)
        cursor = found.cursor
        return found.total_requested

    if before:
        instance.report_runless_asset_event(dg.AssetMaterialization(page.key))
    requested(0)
    if not before:
        assert requested(60) == 0, "there are no rows"
        instance.report_runless_asset_event(dg.AssetMaterialization(page.key))
    assert requested(60) == 1
    assert requested(1) == 0, "it was asked for"
    job = dg.define_asset_job("theirs", [key])
    done = definitions.merge(definitions, dg.Definitions(jobs=[job])).resolve_job_def("theirs")
    assert not done.execute_in_process(instance=instance, raise_on_error=False).success, "the lake is on paper"
    assert requested(1) == 0
    assert requested(10) == 1, "the last merge failed"


# Where a Spark server is only there for work, the triggers ask S3 and Dagster.
JOB = "silver_orders_job"


class Tables:
    """Bronze and silver of the table `orders`, as S3 has them. Spark may not be asked."""

    def __init__(self) -> None:
        self.decided, self.generation, self.silver, self.rests = 5, "g", True, None
        self.inbox: set[str] = set()
        self.retired = False

    def read(self, n: int) -> Any:
        if self.retired:
            raise GenerationRetired("a reset ended this generation")
        return SimpleNamespace(manifests=(f"m{n}",)) if n <= self.decided else None

    @contextmanager
    def open(self) -> Iterator[Any]:
        store = SimpleNamespace(
            bucket="lake",
            key=lambda *parts: "/".join(parts),
            objects=SimpleNamespace(is_empty=lambda bucket, prefix: not self.silver),
            losses=SimpleNamespace(rests_until=lambda reader, config: self.rests),
        )
        lake: Any = SimpleNamespace(store=store, config=None, delta=Refusing())
        table = SimpleNamespace(
            lake=lake,
            spec=SimpleNamespace(name="orders"),
            birth=SimpleNamespace(generation=self.generation) if self.generation else None,
            batches=SimpleNamespace(
                is_decided=lambda n: 0 < n <= self.decided,
                sizes=lambda after: {n: 1 for n in range(after + 1, self.decided + 1)},
                read=self.read,
            ),
            inbox=SimpleNamespace(waiting_manifests=lambda: [SimpleNamespace(id=each) for each in self.inbox]),
        )
        lake.table = lambda table_key: table
        yield lake


class Refusing:
    """A handle on Spark that fails the test when Spark is used."""

    server = SimpleNamespace(is_always_there=False)

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"Spark was asked: {name}")


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    found = Tables()
    monkeypatch.setattr(LakeResource, "open_lake", lambda *_: found.open())
    return found


def ask_dagster(paper: Paper, instance: dg.DagsterInstance, held: str = "") -> tuple[str, str]:
    """Return the tag of the request, or why there is none, and what silver holds."""
    verdict = silver.silver_request(instance, LakeNames(), paper.resource, paper.config.tables[0], held)
    answer = verdict.answer
    said = answer.tags["tidegate/silver"] if isinstance(answer, dg.RunRequest) else str(answer.skip_message)
    return said, verdict.held


def report_merge(instance: dg.DagsterInstance, mark: str, *, exists: bool = True) -> None:
    metadata: dict[str, Any] = {"mark": mark} | ({"dagster/uri": "s3://lake/silver/orders"} if exists else {})
    instance.report_runless_asset_event(dg.AssetMaterialization(["silver", "orders"], metadata=metadata))


EVERYTHING = "silver.orders holds everything that bronze has recorded"


def test_a_merge_is_requested_for_what_was_recorded_after_the_last_one(
    paper: Paper, instance: dg.DagsterInstance, tables: Tables
) -> None:
    report_merge(instance, "")
    assert ask_dagster(paper, instance) == ("0..5", "")
    report_merge(instance, "g:5")
    assert ask_dagster(paper, instance) == (EVERYTHING, "g:5")
    assert ask_dagster(paper, instance, held="g:5") == (EVERYTHING, "g:5")
    tables.decided, tables.inbox = 6, {"m6", "m7"}
    assert ask_dagster(paper, instance) == ("batch 6 of bronze.orders is being recorded", "")
    tables.inbox = {"m7"}
    assert ask_dagster(paper, instance) == ("5..6", "")


def test_the_batches_before_one_that_is_being_recorded_are_merged(
    paper: Paper, instance: dg.DagsterInstance, tables: Tables
) -> None:
    report_merge(instance, "g:4")
    tables.decided, tables.inbox = 6, {"m6"}
    assert ask_dagster(paper, instance) == ("4..5", "")
    report_merge(instance, "g:5")
    assert ask_dagster(paper, instance) == ("batch 6 of bronze.orders is being recorded", "")
    report_merge(instance, "")
    tables.decided, tables.inbox = 1, {"m1"}
    assert ask_dagster(paper, instance) == ("batch 1 of bronze.orders is being recorded", "")


def test_what_the_last_run_held_is_believed_only_while_the_tables_are_the_same(
    paper: Paper, instance: dg.DagsterInstance, tables: Tables
) -> None:
    report_merge(instance, "g:5")
    tables.generation = "h"
    assert ask_dagster(paper, instance) == ("0..5", "")
    tables.generation, tables.silver = "g", False
    assert ask_dagster(paper, instance) == ("5..5", ""), "somebody dropped silver"
    report_merge(instance, "g:5", exists=False)
    assert ask_dagster(paper, instance) == (EVERYTHING, "g:5"), "every file so far was refused"
    tables.generation = ""
    tables.decided = 0
    assert ask_dagster(paper, instance) == ("bronze.orders has no batch", "")


def test_a_batch_that_bronze_does_not_record_keeps_no_server_running(
    paper: Paper, instance: dg.DagsterInstance, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_merge(instance, "g:4")
    assert ask_dagster(paper, instance) == ("4..5", "")
    tags = {"tidegate/silver": "4..5"}
    create_run_for_test(instance, job_name=JOB, status=dg.DagsterRunStatus.SUCCESS, tags=tags)
    said, _ = ask_dagster(paper, instance)
    assert said.startswith("batch 5 of bronze.orders is not recorded; tried in ")
    now = time.time()
    monkeypatch.setattr(silver.time, "time", lambda: now + silver.EXPORT_PACE + 1)  # type: ignore[attr-defined]
    assert ask_dagster(paper, instance) == ("4..5", "")
    monkeypatch.setattr(silver.time, "time", lambda: now)  # type: ignore[attr-defined]
    tables.decided = 6
    assert ask_dagster(paper, instance) == ("4..6", ""), "a later batch waits for nobody"


def test_a_table_that_rests_or_was_reset_gets_no_run(
    paper: Paper, instance: dg.DagsterInstance, tables: Tables
) -> None:
    report_merge(instance, "g:4")
    tables.retired = True
    assert ask_dagster(paper, instance) == ("a reset ended this generation", "")
    tables.rests = time.time() + 60  # type: ignore[assignment]
    assert "silver.orders rests until 20" in ask_dagster(paper, instance)[0]


def test_an_export_that_failed_gets_a_run_although_nothing_waits(
    paper: Paper, instance: dg.DagsterInstance, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_merge(instance, "g:5")
    monkeypatch.setattr(type(paper.config.tables[0]), "exports", True)
    assert ask_dagster(paper, instance) == (EVERYTHING, "g:5")
    asset = dg.AssetKey(["silver", "orders"])
    for passed, said in ((False, "export"), (True, EVERYTHING)):
        result = dg.AssetCheckEvaluation(asset_key=asset, check_name="changes_exported", passed=passed, metadata={})
        instance.report_runless_asset_event(result)
        assert ask_dagster(paper, instance)[0] == said


def test_a_mark_is_what_silver_holds_and_unknown_where_something_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    spec: Any = SimpleNamespace(table_key=SimpleNamespace(encode=lambda: "key"))
    table = SimpleNamespace(birth=None, ledger=SimpleNamespace(clock=lambda: Clock(9, 7)))
    lake: Any = SimpleNamespace(table=lambda key: table)
    assert silver_mark(lake, spec, None) == ""
    table.birth = SimpleNamespace(generation="g")
    merged: Any = SimpleNamespace(n=6, generation="f")
    assert silver_mark(lake, spec, merged) == "f:6", "a reset after the merge begins a generation that silver lacks"
    monkeypatch.setattr(report, "pending_merge", lambda *_: None)
    assert silver_mark(lake, spec, None) == "g:7"
    monkeypatch.setattr(report, "pending_merge", lambda *_: "something")
    assert silver_mark(lake, spec, None) == ""
