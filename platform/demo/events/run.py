"""Runs the demo of events end to end: producers, subscribers, webhooks, the real sensors and runs, and the oracle."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from rich.console import Console

from tidegate.platform.demo.accounts import read_accounts
from tidegate.platform.demo.deployment import DEFAULT_PORTS, Deployment, NextSteps, Ports, deployment
from tidegate.platform.demo.events import events_lake_file
from tidegate.platform.demo.events.billing import SECRET, BillingProvider
from tidegate.platform.demo.events.catalog import event_types
from tidegate.platform.demo.events.findings import (
    compare_broken,
    compare_datasets,
    compare_events,
    compare_files,
    compare_forwarded,
    compare_tables,
    compare_webhooks,
    describe_poison,
)
from tidegate.platform.demo.events.producers import Operation, produce_events, write_operations
from tidegate.platform.demo.events.report import EventsReport, show_events_report
from tidegate.platform.demo.events.settle import broken_backlog, measure_pending, wait_until_arrived
from tidegate.platform.demo.events.subscribers import (
    BROKEN_ROUTE,
    SEARCH,
    TAGGED,
    UNMATCHED,
    ConsumerProcess,
    Subscriber,
    subscribe,
)
from tidegate.platform.demo.events.uploader import EventsUploader
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.report import run_oracle
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.stack_file import empty_home

_SETTLE_SECONDS = 900.0
#: Of so many objects, the billing provider sends one webhook.
_WEBHOOK_EVERY, _MIN_WEBHOOKS = 100, 25


@dataclass
class _ExternalServices:
    """Everybody except Tidegate: the subscribers, the billing provider, and the services that put objects."""

    uploader: EventsUploader
    consumer: ConsumerProcess
    provider: BillingProvider
    tagged: Subscriber
    unmatched: Subscriber
    queues: list[Queue]
    server: Process | None = None


def run_events_demo(
    home: Path,
    console: Console,
    *,
    types: int = 200,
    objects: int = 20_000,
    report_path: Path | None = None,
    keep: bool = False,
    ports: Ports = DEFAULT_PORTS,
) -> EventsReport:
    """Run the demo of events. What an earlier run left in the home is deleted first.

    Args:
        home: folder of all state.
        types: number of event types.
        objects: number of objects of these types.
        report_path: file for the report as JSON.
        keep: leave everything running, with the UI, until Ctrl-C.
        ports: ports of the servers.

    Raises:
        ValueError: there are not so many event types, or fewer objects than types.
        UnavailableError: the home is in use, or something could not be started or died.
        UnavailableError: something was still on its way at the deadline.
    """
    operations = produce_events(event_types(types), objects)
    empty_home(home)
    lake_file = home / "lake.yaml"  # a copy, which a user may change while the demo is kept
    shutil.copyfile(events_lake_file(), lake_file)
    begun = time.monotonic()
    console.print(
        f"[bold]{objects:,} objects of {types} event types[/] become tables, messages of three subscribers, and rows "
        "of webhooks, on this machine"
    )
    with ExitStack() as running:
        found = write_operations(operations, home / "producers")
        urls: dict[str, str] = {}
        platform = running.enter_context(
            deployment(
                home,
                console,
                lake_file,
                ports,
                # Each batch has some hundred rows, and each service has queries of its own.
                spark_conf=SMALL_DATA,
                before_sensors=lambda stack: urls.update(subscribe(stack.clients())),
            )
        )
        others = running.enter_context(_external_services(platform, urls, home, objects))
        with platform.stack.settings.open_lake() as lake, platform.dagster.instance() as instance:
            report = _run(lake, instance, platform, others, found, home, console, types)
        report.seconds = time.monotonic() - begun
        show_events_report(console, report)
        platform.end_demo(console, report, report_path, keep=keep, following=_next_steps(platform, home))
    return report


@contextmanager
def _external_services(
    platform: Deployment, urls: dict[str, str], home: Path, objects: int
) -> Iterator[_ExternalServices]:
    """Start the subscribers, and the provider before its server, so that its first deliveries fail."""
    clients, port = platform.stack.clients(), free_port()
    others = _ExternalServices(
        EventsUploader(platform.stack.aws.endpoint, clients.sqs, platform.stack.queue_url),
        ConsumerProcess(urls[SEARCH], home, platform.environ),
        BillingProvider(port, max(_MIN_WEBHOOKS, objects // _WEBHOOK_EVERY)),
        Subscriber(clients.sqs, urls[TAGGED]),
        Subscriber(clients.sqs, urls[UNMATCHED]),
        [Queue(clients.sqs, url) for url in urls.values()],
    )
    # The home may be given relative to the folder of this process, and each child works in a folder of its own.
    own = ("--home", str(home.resolve()), "--port", str(port), "--operations-port", "0")
    command = [sys.executable, "-m", "tidegate.platform.cli.main", "webhook", *own]
    with ExitStack() as running:
        others.consumer.start()
        running.callback(others.consumer.stop)
        for each in (others.tagged, others.unmatched, others.provider):
            each.start()
            running.callback(each.stop)
        environ = platform.environ | {"TIDEGATE_DEMO_SECRET": SECRET}
        server = spawn("webhook server", command, log=home / "logs" / "webhook.log", env=environ, cwd=home)
        running.callback(server.stop)
        others.server = server
        yield others


def _run(
    lake: Lake,
    instance: dg.DagsterInstance,
    platform: Deployment,
    others: _ExternalServices,
    operations: list[Operation],
    home: Path,
    console: Console,
    types: int,
) -> EventsReport:
    with Stages(console).show_bars() as stages:
        _send_and_wait(lake, instance, platform, others, operations, stages)
        stage = stages.begin("The oracle computes what every output must contain")
        expected = run_oracle(home / "producers", Path(__file__).with_name("oracle.py"))
        stage.finish(f"{expected['events_sent']:,} events of {len(expected['types'])} types")
        stage = stages.begin("Tables, subscribers and quarantine are compared with it")
        report = EventsReport(types, expected["events_sent"])
        accounts = read_accounts(lake)
        compare_events(report, expected, accounts)
        compare_files(report, lake, expected, accounts)
        compare_tables(report, lake, expected, accounts)
        compare_datasets(report, expected, accounts)
        compare_forwarded(report, expected, others.consumer.processed_keys(), others.tagged, others.unmatched)
        compare_broken(report, expected, broken_backlog(lake, BROKEN_ROUTE))
        describe_poison(report, expected)
        compare_webhooks(report, lake, others.provider)
        stage.finish(f"{len(report.problems)} differences" if report.problems else "everything is right")
    return report


def _send_and_wait(
    lake: Lake,
    instance: dg.DagsterInstance,
    platform: Deployment,
    others: _ExternalServices,
    operations: list[Operation],
    stages: Stages,
) -> None:
    failure: list[BaseException] = []

    def upload() -> None:
        try:
            others.uploader.upload(operations, lambda: not stopped.is_set())
        except BaseException as error:
            failure.append(error)

    def is_done() -> bool:
        platform.check()
        if others.server is not None:
            others.server.require_alive()
        if failure:
            raise failure[0]
        return not sender.is_alive() and others.provider.done

    stopped = threading.Event()
    sender = threading.Thread(target=upload, daemon=True)
    stage = stages.begin("Events arrive", len(operations))
    sender.start()
    try:
        wait_until_arrived(
            lambda: measure_pending(lake, instance, others.queues, BROKEN_ROUTE),
            done=is_done,
            show=lambda what: stage.show(f"{others.uploader.sent:,} sent · {what}", others.uploader.sent),
            deadline=_SETTLE_SECONDS,
        )
    finally:
        stopped.set()
        sender.join(timeout=30)
    stage.finish(f"{others.uploader.sent:,} sent, and all of them have arrived")


def _next_steps(platform: Deployment, home: Path) -> NextSteps:
    ui = platform.dagster.ui_url
    places = {
        "the whole lake": f"{ui}/assets/lake_health",
        "the broken route": f"{ui}/assets/routes/{BROKEN_ROUTE}",
        "lineage": f"{ui}/asset-groups",
        "events by table": f'tidegate sql --home {home} "SELECT type, count(*) FROM bronze.orders GROUP BY 1"',
        "VARIANT": f'tidegate sql --home {home} "SELECT type, data:payload FROM bronze.unagreed LIMIT 20"',
        "quarantine": f'tidegate sql --home {home} "SELECT table_name, key, reason FROM lake.quarantine"',
        "one object": f"tidegate trace --home {home} s3://tidegate-landing/exports/README.txt",
    }
    return NextSteps("tidegate demo events", places, "The next run deletes what this one left.")
