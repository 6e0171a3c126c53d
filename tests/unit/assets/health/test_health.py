"""The health of a lake: its measurement, what Dagster shows of it, and what both cost."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import dagster as dg
import pytest
from botocore.exceptions import ClientError
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationPlanned
from dagster._core.events import DagsterEvent, DagsterEventType

from tests.support.lakes.objects import Objects
from tests.unit.conftest import PAPER
from tidegate.assets.bronze.report import SAID_BEFORE, WITHOUT_STATE
from tidegate.assets.health import history
from tidegate.assets.health.asset import report_health
from tidegate.assets.health.history import merges_that_warn, missed_today
from tidegate.assets.health.measure import measure
from tidegate.assets.health.report import HealthReport, sparkline
from tidegate.assets.keys import LakeNames, silver_key
from tidegate.assets.presentation.check_events import COLLAPSE_CHECK, result_of
from tidegate.assets.runs.failed_runs import FailedRun
from tidegate.assets.sources.queue_checks import CHECK
from tidegate.platform.cli.main import app
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.forwarding.outbox_message import OutboxName, Outgoing
from tidegate.platform.core.health.alarms import PERIOD, template
from tidegate.platform.core.health.measurement import Health, QueueHealth, RouteHealth, TableHealth
from tidegate.platform.core.health.metrics import metric_data, requests
from tidegate.platform.core.markdown import Markdown
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.cloudwatch import CloudWatch
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import open_lake
from tidegate.platform.lake.lake_root.outbox import Lane, OutboxObject
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.threads import ConcurrentCalls
from tidegate.sensors.health import health_events

ROOT = Path(__file__).resolve().parents[4]
DAY = 86_400
ORDERS, ITEMS, PLAIN = "landing.orders", "landing.items", "second.plain"
CONFIG = LakeConfig.model_validate({**PAPER, "window": 60, "max_lag": 100, "metrics": "cloudwatch"})
TOPIC = "arn:aws:sns:eu-central-1:123456789012:events"
ROUTES = CONFIG.model_copy(
    update={
        "routes": LakeConfig.model_validate(
            {
                **PAPER,
                "event_types": [{"key": "{type}/**"}],
                "routes": [
                    {"name": "idle", "topic": TOPIC},
                    {"name": "late", "topic": TOPIC, "max_lag": 60, "owners": ["team:search"]},
                    {"name": "tagged", "queues_tagged": "kind", "unmatched": "nobody"},
                ],
            }
        ).routes
    }
)
ACCESS_DENIED = ClientError({"Error": {"Code": "AccessDenied", "Message": "not allowed"}}, "GetQueueAttributes")


class Sqs:
    """A queue with messages, a dead-letter queue, and a policy that may keep us from asking for it."""

    def __init__(self, dead: int | None = 0) -> None:
        self.dead, self.asked = dead, 0

    def get_queue_attributes(self, **given: Any) -> dict[str, Any]:
        self.asked += 1
        name = given["QueueUrl"].rsplit("/", 1)[1]
        if name == "events-dlq":
            if self.dead is None:
                raise ACCESS_DENIED
            return {"Attributes": depth(self.dead, 0)}
        policy = {"deadLetterTargetArn": f"arn:aws:sqs:eu-central-1:1:{name}-dlq", "maxReceiveCount": 8}
        return {"Attributes": {**depth(7, 2), **({"RedrivePolicy": json.dumps(policy)} if name == "events" else {})}}


def depth(waiting: int, in_flight: int) -> dict[str, str]:
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    return dict(zip(names, map(str, (waiting, in_flight)), strict=True))


class Counted(Objects):
    """S3 in a dictionary that counts pages of listings."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 0

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Any]:
        for number, item in enumerate(super().list_under(bucket, prefix, after)):
            self.pages += number % 1000 == 0
            yield item


def lake(objects: Objects, sqs: Sqs | None = None, cloudwatch: Any = None) -> Any:
    queues = [Queue(sqs or Sqs(), f"https://sqs/1/{name}") for name in ("events", "more")]  # type: ignore[arg-type]
    published = CloudWatch(lambda: cloudwatch) if cloudwatch else None
    return SimpleNamespace(
        config=CONFIG,
        store=LakeStore(objects, "s3://lake/root"),
        queues=queues,
        cloudwatch=published,  # type: ignore[arg-type]
    )


def at(second: int) -> str:
    return f"1970-01-01T00:00:{second:02d}+00:00"


def waits(objects: Objects, table: str, *hints: Hint) -> None:
    """Put a manifest into the inbox. The time of every object in S3 is 0."""
    LakeStore(objects, "s3://lake/root").inbox.put([Manifest.create(table, "intake", hints)])  # type: ignore[arg-type]


def test_what_waits_is_measured_by_table_and_queue(instance: dg.DagsterInstance) -> None:
    objects = Objects()
    waits(objects, ORDERS, Hint("orders/a", Event("m#0", time=at(0)), 5), Hint("orders/b", size=6))
    waits(objects, ORDERS, Hint("orders/c"))
    waits(objects, "landing.found", Hint("found/a", size=1))
    LakeStore(objects, "s3://lake/root").births.ensure_birth("landing.born", "born", registered=True)  # type: ignore[arg-type]
    health = measure(lake(objects, Sqs(dead=3)), instance, now=161.0)
    assert health.tables == (
        TableHealth("landing.found", "landing.found", 1, 1, 161.0, 160),
        TableHealth(ORDERS, "orders", 3, 11, 161.0, 160),
        TableHealth(ITEMS, "items", limit=160),
        TableHealth("landing.born", "landing.born", limit=160),
        TableHealth(PLAIN, "plain", limit=160),
    )
    assert (health.files, health.size, health.lag, len(health.behind)) == (4, 12, 161.0, 2)
    assert not measure(lake(objects), instance, now=160.0).behind
    assert [(queue.name, queue.waiting, queue.in_flight, queue.dead) for queue in health.queues] == [
        ("events", 7, 2, 3),
        ("more", 7, 2, None),
    ]
    assert health.unknown == ()


def test_what_does_not_answer_is_named_and_the_rest_is_measured(instance: dg.DagsterInstance) -> None:
    objects = Objects()
    waits(objects, ORDERS, Hint("orders/a"))
    waits(objects, PLAIN, Hint("plain/a"))
    ticks = iter([0.0, 21.0])
    health = measure(lake(objects, Sqs(dead=None)), instance, 1.0, clock=lambda: next(ticks))
    assert [queue.waiting for queue in health.queues] == [7, 7]
    assert health.files == 1
    slow, denied = health.unknown
    assert slow == f"the inbox after {ORDERS}: listing it takes more than 20 seconds"
    assert denied.startswith("dead-letter queue events-dlq: ")
    assert [check.passed for check in HealthReport(health).checks(LakeNames().lake_health)] == [True, True, False, True]


def test_a_queue_in_trouble_keeps_no_other_from_being_measured(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One queue is denied, and one answers only after the measurement."""
    over, waits = threading.Event(), ConcurrentCalls.wait
    names = ["denied", "hangs", *(f"q{n}" for n in range(60))]

    class Odd(Sqs):
        def get_queue_attributes(self, **given: Any) -> dict[str, Any]:
            name = given["QueueUrl"].rsplit("/", 1)[1]
            if name == "denied":
                raise ACCESS_DENIED
            assert name != "hangs" or over.wait(30)
            return super().get_queue_attributes(**given)

    of_all = lake(Objects())
    of_all.queues = [Queue(Odd(), f"https://sqs/1/{name}") for name in names]  # type: ignore[arg-type]
    others = [queue for queue in of_all.queues if queue.name != "hangs"]
    monkeypatch.setattr(ConcurrentCalls, "wait", lambda self, seconds: waits(self, 30, only=others))
    try:
        health = measure(of_all, instance, 1.0)
    finally:
        over.set()
    assert [queue.name for queue in health.queues] == names[2:]
    denied, hangs = health.unknown
    assert denied.startswith("queue denied: ")
    assert hangs == "queue hangs: no answer within 20 seconds"


def test_a_thousand_tables_cost_a_few_requests(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, sqs, queries = Counted(), Sqs(), []
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    for number in range(1000):
        objects.bodies[f"root/inbox/landing.t{number:03d}/{number:026d}-2-10-0.json"] = ""
        store.births.ensure_birth(f"landing.t{number:03d}", f"t{number}", registered=True)
    for number in range(5000):
        objects.bodies[f"root/inbox/landing.t500/{number:026d}-1-5-0.json"] = ""
    storage = type(instance.event_log_storage)
    connect = storage.index_connection  # type: ignore[attr-defined]
    monkeypatch.setattr(storage, "index_connection", lambda self: queries.append(1) or connect(self))
    report = report_health(lake(objects, sqs), instance, now=1e6)
    assert len(report.health.waiting) == 1000
    (much,) = (state for state in report.health.tables if not state.whole)
    assert (much.key, much.files >= 1000) == ("landing.t500", True)
    assert objects.pages <= 6, "a page for a thousand objects of inbox and births, and one for the table with thousands"
    assert sqs.asked == 3
    assert len(queries) < 100, "what is shown is asked for, not what there is"


def test_a_merge_that_warns_is_seen_in_the_health_of_the_lake(instance: dg.DagsterInstance) -> None:
    def merged(table: str, why: str) -> None:
        key = dg.AssetKey(["silver", table])
        check = dg.AssetCheckEvaluation(key, COLLAPSE_CHECK, not why, metadata={}, description=why or "fine")
        instance.report_runless_asset_event(check)

    merged("lines", "2 keys have several inserts")
    merged("mended", "1 row has a NULL")
    merged("mended", "")
    found = merges_that_warn(instance, LakeNames(), ["lines", "mended", "new"])
    assert found == {"silver.lines": "2 keys have several inserts"}
    health = Health(0.0, (), ())

    def check(merged: dict[str, Markdown] | None) -> list[tuple[bool, str, str | None]]:
        checks = HealthReport(health, merged=merged).checks(LakeNames().lake_health)
        return [
            (each.passed, each.severity.value, each.description) for each in checks if each.check_name == COLLAPSE_CHECK
        ]

    assert check(found) == [(False, "WARN", "silver.lines: 2 keys have several inserts")]
    assert (check({}), check(None)) == ([(True, "WARN", None)], [])


def failure(metadata: dict[str, Any]) -> dg.AssetCheckEvaluation:
    """Return the result of a check of bronze that failed."""
    return dg.AssetCheckEvaluation(LakeNames().bronze, "nothing_quarantined", False, metadata=metadata)


def test_a_check_that_runs_or_died_has_no_result_yet(instance: dg.DagsterInstance) -> None:
    """Dagster types what it gives then as a result. It is the event of the plan."""
    for key, check in ((silver_key("lines"), COLLAPSE_CHECK), (LakeNames().queue("events"), CHECK)):
        event = DagsterEvent(
            DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED.value,
            "merge",
            event_specific_data=AssetCheckEvaluationPlanned(asset_key=key, check_name=check),
        )
        run = instance.create_run_for_job(dg.JobDefinition(graph_def=dg.GraphDefinition(name="merge")))
        instance.report_dagster_event(event, run.run_id)
        (record,) = instance.event_log_storage.get_asset_check_execution_history(dg.AssetCheckKey(key, check), limit=1)
        assert record.evaluation is not None
        assert result_of(record) is None
    assert merges_that_warn(instance, LakeNames(), ["lines"]) == {}
    assert missed_today(instance, LakeNames(), ["events"], time.time()) == {}


def test_no_other_module_takes_an_execution_s_event_for_a_result() -> None:
    read = [path for folder in ("assets", "sensors", "platform") for path in (ROOT / folder).rglob("*.py")]
    found = [path.name for path in read if re.search(r"\w\.evaluation\b(?!s)", path.read_text(encoding="utf-8"))]
    assert found == ["check_events.py"]


def test_runs_and_ticks_are_remembered(instance: dg.DagsterInstance) -> None:
    def checked(asset: str, check: str, metadata: dict[str, Any], partition: str | None = None) -> None:
        key = dg.AssetKey(asset.split("/"))
        passed = not any(metadata.values())
        instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(key, check, passed, metadata=metadata, partition=partition)
        )

    def shown(batches: int) -> None:
        instance.report_runless_asset_event(
            dg.AssetMaterialization(LakeNames().bronze, partition="remembered.table", metadata={"batches": batches})
        )

    for number in range(55):
        checked("bronze", "nothing_quarantined", {"objects": 2, "rows": number}, f"bad.t{number}")
    for number in range(5):  # listings that find nothing new, and say again what was found before
        checked("bronze", "nothing_quarantined", {"objects": 2, "rows": 7, SAID_BEFORE: True}, f"idle.t{number}")
    checked("bronze", "nothing_quarantined", {"objects": 0, "rows": 0}, "good.t")
    checked("sqs/events", "every_event_has_a_table", {"no_table": 4, "malformed": 1})
    began = time.time()
    shown(1)
    ended = time.time()
    shown(0)
    objects = Objects()
    waits(objects, "remembered.table", Hint("a"))
    found = report_health(lake(objects), instance, time.time())
    assert found.health.quarantined == {f"bad.t{number}": 2 + number for number in range(55)}
    assert found.health.queues[0].missed == {"no_table": 4, "malformed": 1}
    assert began <= (found.commits["remembered.table"] or 0) <= ended, "a run that found nothing to do is not a commit"
    assert measure(lake(Objects()), instance, time.time() + 86400 * 2).quarantined == {}
    assert measure(lake(Objects()), instance, time.time() + 86400 * 2).queues[0].missed == {}


def test_what_s3_refuses_is_met_by_each_listing_and_counted_once(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(objects: int, refused: int) -> Any:
        counts = {"objects": objects, "rows": 0, WITHOUT_STATE: refused}
        metadata = {name: dg.MetadataValue.int(count) for name, count in counts.items()}
        return SimpleNamespace(create_timestamp=9.0, partition="a.t", evaluation=failure(metadata))

    newest_first = [failed(2, 2), failed(3, 2), failed(4, 3)]
    monkeypatch.setattr(history, "failed_quarantine_checks", lambda *_: iter(newest_first))
    assert history.quarantined_counts(instance, LakeNames(), 0.0) == {"a.t": 2 + 1 + 1}


def test_all_failed_checks_of_a_day_are_counted() -> None:
    """A run that finds nothing new fails the check again: such checks must not push out those that count."""
    total = 3000
    counts = {name: dg.MetadataValue.int(number) for name, number in [("objects", 1), ("rows", 0), (WITHOUT_STATE, 0)]}
    repeated = {**counts, SAID_BEFORE: dg.MetadataValue.text("before")}

    def page(_: Any, limit: int, cursor: int | None, status: Any) -> list[Any]:
        newest = cursor or total + 1
        return [
            SimpleNamespace(
                id=number,
                create_timestamp=float(number),
                partition="a.t",
                evaluation=failure(repeated if number % 10 else counts),
            )
            for number in range(newest - 1, max(0, newest - 1 - limit), -1)
        ]

    storage = SimpleNamespace(get_asset_check_execution_history=page)
    instance: Any = SimpleNamespace(event_log_storage=storage)
    assert history.quarantined_counts(instance, LakeNames(), 1001.0) == {"a.t": 200}


def waiting_routes(objects: Objects) -> Any:
    """Return a lake with messages that wait for its routes, and for one that it does not have any more."""
    of_routes = lake(objects)
    of_routes.config = ROUTES
    outbox = of_routes.store.outbox
    for lane, seconds in [
        (Lane("late"), (939, 950)),
        (Lane("tagged", "q1"), (500,)),
        (Lane("tagged"), (990,)),
        (Lane("former"), (999,)),
    ]:
        outbox.put([(lane, [Outgoing(f"m{second}", None, "g", second * 1000, "{}") for second in seconds])])
    refused = Outgoing("m1", None, "g", 1, "{}")
    outbox.keep_undeliverable(OutboxObject(Lane("idle"), OutboxName.from_messages([refused])), [(refused, "too large")])
    return of_routes


def test_what_waits_for_each_route_is_measured_and_routes_behind_come_first(instance: dg.DagsterInstance) -> None:
    objects = Objects()
    health = measure(waiting_routes(objects), instance, now=1000.0)
    assert health.routes == (
        RouteHealth("late", 2, 61.0, 60),
        RouteHealth("former", 1, 1.0, None),
        RouteHealth("tagged", 2, 500.0, 900),
        RouteHealth("idle", 0, 0.0, 900, undeliverable=1),
    )
    report = HealthReport(health)
    page = report.page().replace("\u202f", " ").splitlines()
    assert page[0].startswith("**1970-01-01 00:16 UTC: no table is behind, 2 of 4 routes behind")
    assert page[-4:] == [
        "| ⚠ `late` | 1m of 1m | 2 | 0 |",
        "| ⚠ `former` | 1s of no route of lake.yaml | 1 | 0 |",
        "| `tagged` | 8m of 15m | 2 | 0 |",
        "| `idle` |  | 0 | 1 |",
    ]
    numbers = report.metadata()
    assert {name: numbers[name] for name in ("to_forward", "oldest_to_forward_seconds", "routes_behind")} == {
        "to_forward": 5,
        "oldest_to_forward_seconds": 500.0,
        "routes_behind": 2,
    }
    assert numbers["undeliverable"] == 1
    check = report.checks(LakeNames().lake_health)[-1]
    assert (check.check_name, check.passed) == ("every_route_delivers", False)
    assert "messages wait for former, which lake.yaml does not have" in (check.description or "")


def test_a_route_whose_outbox_cannot_be_listed_hides_no_other(instance: dg.DagsterInstance) -> None:
    class Refusing(Objects):
        def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Any]:
            if "outbox/late/" in prefix:
                raise ACCESS_DENIED
            return super().list_under(bucket, prefix, after)

    health = measure(waiting_routes(Refusing()), instance, now=1000.0)
    assert [route.messages for route in health.routes if route.name in ("late", "tagged")] == [2, 0]
    (problem,) = health.unknown
    assert problem.startswith("route late: ")


def test_a_lake_without_routes_lists_no_outbox_and_shows_no_routes(instance: dg.DagsterInstance) -> None:
    class Strict(Objects):
        def folders(self, bucket: str, prefix: str) -> list[str]:
            assert "outbox" not in prefix
            return super().folders(bucket, prefix)

    report = HealthReport(measure(lake(Strict()), instance, now=1000.0))
    assert report.health.unknown == ()
    assert "route" not in report.page()
    assert "to_forward" not in report.metadata()
    assert "every_route_delivers" not in {check.check_name for check in report.checks(LakeNames().lake_health)}
    assert not any("Rout" in datum["MetricName"] for datum in metric_data(report.health, CONFIG))


def with_signals(objects: Objects) -> Any:
    """Return the lake, where `orders` has completion signals."""
    first, *others = CONFIG.tables
    config = CONFIG.model_copy(update={"tables": [first.model_copy(update={"completion": "_SUCCESS"}), *others]})
    return SimpleNamespace(**{**vars(lake(objects)), "config": config})


def test_incomplete_datasets_are_measured_without_spark_and_fail_a_check_when_they_are_old(
    instance: dg.DagsterInstance,
) -> None:
    objects = Objects()
    signals = with_signals(objects)
    spec = signals.config.tables[0]
    limit = spec.lag_limit
    found = WaitingDatasets(2, 0, {"t/_SUCCESS": "why"}, 1000.0)
    LakeStore(objects, "s3://lake/root").waiting_notes.write(spec.table_key.encode(), found)  # type: ignore[arg-type]
    for late, now in ((False, 1000.0 + limit), (True, 1001.0 + limit)):
        report = HealthReport(measure(signals, instance, now=now))
        check = report.checks(LakeNames().lake_health)[-1]
        assert (check.check_name, check.passed) == ("every_dataset_completes", not late)
        assert report.metadata()["incomplete_dataset_files"] == 3
        assert report.metadata()["oldest_incomplete_dataset_seconds"] == now - 1000.0
        assert f"`{spec.name}`" in report.page().rpartition("incomplete datasets of")[2]
        metrics = {datum["MetricName"]: datum["Value"] for datum in metric_data(report.health, signals.config)}
        assert metrics["IncompleteDatasetFiles"] == 3
        assert metrics["OldestIncompleteDatasetAge"] == now - 1000.0


def test_a_lake_without_incomplete_datasets_shows_none(instance: dg.DagsterInstance) -> None:
    for found in (measure(lake(Objects()), instance, 1000.0), measure(with_signals(Objects()), instance, 1000.0)):
        report = HealthReport(found)
        assert "incomplete" not in report.page()
        assert not any("Dataset" in datum["MetricName"] for datum in metric_data(found, CONFIG))
    assert report.checks(LakeNames().lake_health)[-1].passed
    objects = Objects()
    signals = with_signals(objects)
    objects.put("lake", f"root/waiting/{signals.config.tables[0].table_key.encode()}.json", "[]")
    (problem,) = measure(signals, instance, 1000.0).unknown
    assert problem.startswith("the waiting datasets of ")


def table(key: str, lag: float = 0.0, files: int = 1) -> TableHealth:
    spec = next((spec for spec in CONFIG.tables if spec.table_key.encode() == key), None)
    return TableHealth(key, spec.name if spec else key, files if lag else 0, 0, lag, 160)


def test_pages_show_what_waits_and_checks_report_what_changed() -> None:
    """Each tick has the lags of orders and of a discovered table. `pages_of_ticks` has what the pages show then."""
    cursor: str | None = None
    pages_of_ticks = []
    for orders, found in [(0, 0), (0, 500), (10, 500), (161, 500), (200, 0), (20, 0), (0, 0), (0, 0)]:
        health = Health(0.0, (table(ORDERS, orders), table(ITEMS), table(PLAIN), table("landing.found", found)))
        events, cursor = health_events(HealthReport(health), CONFIG, cursor)
        pages = [event for event in events if event.asset_key.path[0] == "bronze"]
        pages_of_ticks.append(
            [
                (event.asset_key.path[-1], event.passed if isinstance(event, dg.AssetCheckEvaluation) else "waits")
                for event in pages
            ]
        )
        own = [event for event in events if event.asset_key == LakeNames().lake_health]
        assert isinstance(own[0], dg.AssetMaterialization)
        on_time = orders <= 160 and found <= 160
        assert [getattr(event, "passed", None) for event in own[1:]] == [on_time, True, True, True]
    assert pages_of_ticks == [
        [("orders", True), ("items", True), ("plain", True)],
        [],
        [("orders", "waits")],
        [("orders", "waits"), ("orders", False)],
        [("orders", "waits")],
        [("orders", "waits"), ("orders", True)],
        [("orders", "waits")],
        [],
    ]


def many(number: int, waiting: int, queues: int) -> tuple[LakeConfig, Health]:
    """Return a lake with many tables, of which some are behind, and with many queues that all have messages."""
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "buckets": ["landing"],
            "queues": [{"name": f"events-{n}"} for n in range(queues)],
            "tables": [{"name": f"t{n}", "prefix": f"s3://landing/folder/table_{n}/"} for n in range(number)],
        }
    )
    tables = tuple(
        TableHealth(spec.table_key.encode(), spec.name, 5 * (n < waiting), 10**7, 9999.0 * (n < waiting), 160)
        for n, spec in enumerate(config.tables)
    )
    return config, Health(1e9, tables, tuple(QueueHealth(f"events-{n}", 5, 3, 0) for n in range(queues)))


def test_each_page_and_queue_is_reported_in_its_turn_and_all_of_them_once_they_are_empty() -> None:
    config, health = many(120, 60, 40)
    empty = replace(health, tables=tuple(replace(state, files=0, lag=0.0) for state in health.tables))
    empty = replace(empty, queues=tuple(replace(state, waiting=0, in_flight=0) for state in health.queues))
    cursor: str | None = None
    for measured in (health, empty):
        names = []
        for _ in range(3):
            events, cursor = health_events(HealthReport(measured), config, cursor)
            names += [event.asset_key.path[-1] for event in events if isinstance(event, dg.AssetObservation)]
        pages, queues = ([name for name in names if name.startswith(letter)] for letter in ("t", "events"))
        assert (len({*pages}), len({*queues})) == (60, 40), "in three ticks of 25"
    events, _ = health_events(HealthReport(empty), config, cursor)
    assert [event for event in events if isinstance(event, dg.AssetObservation)] == []


def test_a_day_of_ten_thousand_tables_costs_dagster_s_storage_few_megabytes(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """300 tables and 30 queues are behind all day. The storage is SQLite, which stores such events twice."""
    config, health = many(1000, 300, 30)
    earlier = [{state.name: state.lag for state in health.tables[:30]}] * 11
    events, cursor = health_events(HealthReport(health, earlier), config, None)
    events, cursor = health_events(HealthReport(health, earlier), config, cursor)

    def size() -> int:
        folder = Path(instance.root_directory)
        return sum(file.stat().st_size for file in folder.rglob("*.db"))

    sizes = []
    for _ in range(2):
        for event in events:
            instance.report_runless_asset_event(event)
        sizes.append(size())
    growth = (sizes[1] - sizes[0]) * DAY // PERIOD
    # The row of a tick has about a kilobyte and its cursor. A tick of the intake starts every nine seconds at most.
    ticks = (1000 + 10 * len(cursor)) * DAY // PERIOD + (1000 + 5000) * DAY // 30 + 1500 * DAY // 9
    assert growth < 80_000_000
    assert ticks < 40_000_000


def test_dead_letters_fail_a_check_and_the_depth_of_queues_is_reported() -> None:
    health = Health(0.0, queues=(QueueHealth("events", 5, 2, 1), QueueHealth("more", 0, 0)))
    events, _ = health_events(HealthReport(health), CONFIG, None)
    depths = [event for event in events if isinstance(event, dg.AssetObservation)]
    assert [
        (event.asset_key.path[-1], {name: value.value for name, value in event.metadata.items()}) for event in depths
    ] == [
        ("events", {"messages_waiting": 5, "messages_in_flight": 2, "dead_letters": 1}),
        ("more", {"messages_waiting": 0, "messages_in_flight": 0}),
    ]
    failed = [event.check_name for event in events if isinstance(event, dg.AssetCheckEvaluation) and not event.passed]
    assert failed == ["no_dead_letters"]


def test_metrics_that_are_refused_fail_a_check_and_nothing_else(instance: dg.DagsterInstance) -> None:
    class Refusing:
        def put_metric_data(self, **_: Any) -> None:
            raise ACCESS_DENIED

    report = report_health(lake(Objects(), cloudwatch=Refusing()), instance, 0.0)
    assert len(report.health.tables) == 3
    (problem,) = report.health.unknown
    assert problem.startswith("CloudWatch refused the metrics: ")


def test_a_cloudwatch_that_does_not_answer_is_asked_once() -> None:
    asked: list[str] = []

    class Down(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(503)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Down) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        aws = Aws("us-east-1", endpoint_url=endpoint, aws_access_key_id="a", aws_secret_access_key="b")
        made = open_lake(CONFIG, aws, SparkRemote.parse("sc://127.0.0.1:1"), lambda: pytest.fail("no Spark"))
        try:
            assert made.cloudwatch is not None
            with pytest.raises(ClientError):
                made.cloudwatch.publish(metric_data(Health(0.0), CONFIG))
        finally:
            server.shutdown()
    assert len(asked) == 1
    quiet = CONFIG.model_copy(update={"metrics": None})
    assert (
        open_lake(quiet, aws, SparkRemote.parse("sc://127.0.0.1:1"), lambda: pytest.fail("no Spark")).cloudwatch is None
    )


def test_requests_keep_to_the_limits_of_cloudwatch() -> None:
    long = "x" * 1000
    tables = tuple(TableHealth(f"{long}{n}", f"{long}{n}" if n % 2 else f"t{n}", 1, 1, 1.0, 1) for n in range(2000))
    data = metric_data(Health(0.0, tables, (QueueHealth("events", 1, 1, 1),)), CONFIG)
    made = list(requests(data))
    assert [datum for batch in made for datum in batch] == data
    assert len(data) == 5 + 3 * 2000 + 4
    for batch in made:
        assert len(batch) <= 1000
        assert len(urlencode(list(members(batch)))) <= 1_000_000
    assert len(made) < 20
    assert max(len(batch) for batch in requests([datum for datum in data if len(str(datum)) < 400])) == 1000


def members(batch: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a request as a query string, the longest of the forms that CloudWatch accepts."""
    for number, datum in enumerate(batch, 1):
        for name, value in datum.items():
            if name != "Dimensions":
                yield f"MetricData.member.{number}.{name}", value
        for place, dimension in enumerate(datum["Dimensions"], 1):
            for name, value in dimension.items():
                yield f"MetricData.member.{number}.Dimensions.member.{place}.{name}", value


def test_idle_tables_have_no_metrics() -> None:
    data = metric_data(Health(0.0, (table(ORDERS, 5.0), table(ITEMS))), CONFIG)
    named = [{dimension["Name"]: dimension["Value"] for dimension in datum["Dimensions"]} for datum in data]
    assert {dimensions.get("Table") for dimensions in named} == {None, "orders"}
    assert {dimensions["Lake"] for dimensions in named} == {"lake/root"}


def test_a_lake_s_root_is_a_dimension_in_ascii() -> None:
    config = LakeConfig.model_validate({**PAPER, "lake": {"root": "s3://lake/Zürich ~x"}})
    (value,) = {dimension["Value"] for datum in metric_data(Health(0.0), config) for dimension in datum["Dimensions"]}
    assert value == "lake/Z%C3%BCrich ~x"


def test_every_alarm_watches_what_is_published() -> None:
    queues = (QueueHealth("events", 1, 1, 1), QueueHealth("more", 1, 1, 1))
    health = Health(0.0, (table(ORDERS, 1.0), table(ITEMS, 1.0), table(PLAIN, 1.0)), queues)
    published = {(datum["MetricName"], json.dumps(datum["Dimensions"])) for datum in metric_data(health, CONFIG)}
    made = template(CONFIG)
    alarms = {name: resource["Properties"] for name, resource in made["Resources"].items()}
    assert all(name.isalnum() and name.isascii() for name in alarms)
    assert len({alarm["AlarmName"] for alarm in alarms.values()}) == len(alarms) == 4 + 2 * 2 + 3
    source, verdict = alarms.pop("NotDropping")["Metrics"]
    watched = source["MetricStat"]["Metric"]
    assert (watched["MetricName"], json.dumps(watched["Dimensions"])) in published
    assert source["Id"] in verdict["Expression"]
    assert "ReturnData" not in verdict
    ours = [alarm for alarm in alarms.values() if alarm["Namespace"] == "Tidegate"]
    assert {(alarm["MetricName"], json.dumps(alarm["Dimensions"])) for alarm in ours} <= published
    limits = {alarm["AlarmName"]: alarm["Threshold"] for alarm in ours if alarm["MetricName"] == "OldestEventAge"}
    assert limits == {f"Tidegate lake/root: {name} is behind": 160 for name in ("orders", "items", "plain")}
    theirs = {(alarm["MetricName"], alarm["Dimensions"][0]["Value"]) for alarm in alarms.values() if alarm not in ours}
    assert theirs == {("ApproximateAgeOfOldestMessage", "events"), ("ApproximateAgeOfOldestMessage", "more")}


@pytest.mark.parametrize(
    ("window", "period"), [(0, 3600), (3599, 3600), (3600, 7200), (82_799, 82_800), (82_800, 86_400), (86_400, None)]
)
def test_lows_of_a_backlog_are_compared_over_more_than_the_longest_window(window: int, period: int | None) -> None:
    config = LakeConfig.model_validate({**PAPER, "window": 0, "tables": [{**PAPER["tables"][0], "window": window}]})
    found = template(config)["Resources"].get("NotDropping")
    assert (found and found["Properties"]["Metrics"][0]["MetricStat"]["Period"]) == period


def test_the_alarms_of_routes_watch_what_is_published() -> None:
    health = Health(0.0, routes=tuple(RouteHealth(route.name, 1, 1.0, 1) for route in ROUTES.routes))
    published = {(datum["MetricName"], json.dumps(datum["Dimensions"])) for datum in metric_data(health, ROUTES)}
    made = template(ROUTES)["Resources"]
    alarms = [resource["Properties"] for name, resource in made.items() if "Route" in name or name == "Undeliverable"]
    assert {(alarm["MetricName"], json.dumps(alarm["Dimensions"])) for alarm in alarms} <= published
    assert [(alarm["AlarmName"].partition(": ")[2], alarm["Threshold"]) for alarm in alarms] == [
        ("a route is behind", 0),
        ("messages are undeliverable", 0),
        ("route idle is behind", 900),
        ("route late is behind", 60),
        ("route tagged is behind", 900),
    ]
    assert "Owners: team:search." in alarms[3]["AlarmDescription"]


def test_alarms_fit_into_one_template_however_many_tables_there_are() -> None:
    many = [{"name": f"t{n}", "prefix": f"s3://landing/t{n}/"} for n in range(2000)]
    config = LakeConfig.model_validate({**PAPER, "tables": many, "queues": [{"name": "events", "dlq": "dead"}]})
    made = template(config)["Resources"]
    assert len(made) == 4 + 3 + 400
    assert "ApproximateNumberOfMessagesVisible" in json.dumps(made)


def test_the_command_prints_the_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lake.yaml"
    path.write_text(json.dumps({**PAPER, "metrics": "cloudwatch"}))
    app(["alarms", "--lake", str(path)], standalone_mode=False)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["Resources"]["TablesBehind"]["Type"] == "AWS::CloudWatch::Alarm"
    assert "queue events gets no alarm on dead letters: name its dead-letter queue as `dlq`" in printed.err
    path.write_text(json.dumps(PAPER))
    with pytest.raises(Exception, match="add `metrics: cloudwatch`"):
        app(["alarms", "--lake", str(path)], standalone_mode=False)


@pytest.mark.parametrize(
    ("values", "line"), [([], ""), ([0, 9.9, 10, 69, 70, 1e9], "▁▁▂▇██")], ids=["nothing", "up to the limit"]
)
def test_a_sparkline_is_full_at_the_limit(values: list[float], line: str) -> None:
    assert sparkline(values, 70) == line


def test_the_page_says_first_what_is_wrong() -> None:
    hour = 3600.0
    late = TableHealth(ORDERS, "orders", 1200, 3_400_000_000, 2 * hour + 61, 1860, whole=False)
    health = Health(
        1_700_000_000.0,
        (late, TableHealth(ITEMS, "items", limit=1860)),
        (QueueHealth("events", 5, 2, None, {"no_table": 3}),),
        {ORDERS: 33},
        ("queue more: not allowed",),
    )
    page = (
        HealthReport(health, [{"orders": hour / 4}, {}], {ORDERS: 1_700_000_000.0 - 90, ITEMS: None})
        .page()
        .splitlines()
    )
    plain = [line.replace("\u202f", " ") for line in page]
    assert (
        plain[0] == "**2023-11-14 22:13 UTC: 1 of 2 tables behind, 33 objects and rows quarantined in 24 hours.** "
        "1,200 files (3.4 GB) wait, the oldest for 2h 1m."
    )
    assert "**Not known:** queue more: not allowed" in plain
    assert "| ⚠ `orders` | 2h 1m of 31m | 1,200+ | 3.4 GB | 1m ago | 33 | ▄▁█ |" in plain
    assert "| `items` |  | 0 |  |  |  |  |" in plain
    assert plain[-1] == "| `events` | 5 | 2 | – | 3 | 0 |"

    failed = {
        ORDERS: FailedRun("r1", 1_700_000_000.0 - 90, "DELTA_NO | what it\nsays"),
        "silver.items": FailedRun("r2", 0, ""),
    }
    report = HealthReport(health, failed=failed)
    lines = report.page().splitlines()
    assert "1 of 2 tables behind, the last run of 2 tables failed, 33 objects and rows" in lines[0]
    assert r"**Fails:** `orders` failed at 2023-11-14 22:11:50Z (run r1): DELTA\_NO \| what it\\nsays" in lines
    assert "**Fails:** `silver.items` failed at 1970-01-01 00:00:00Z (run r2)" in lines
    check = report.checks(LakeNames().lake_health)[-1]
    assert (check.passed, check.severity, check.check_name) == (
        False,
        dg.AssetCheckSeverity.WARN,
        "no_table_s_runs_fail",
    )
    assert report.metadata()["tables_failing"] == 2
