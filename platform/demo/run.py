"""Runs the demo end to end: producers, the real sensor, daemon, queue and assets, and the oracle at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
from rich.console import Console

from tidegate.platform.demo.accounts import Accounts, read_accounts
from tidegate.platform.demo.deployment import DEFAULT_PORTS, Deployment, NextSteps, Ports, deployment
from tidegate.platform.demo.mending import lake_file_of, mend
from tidegate.platform.demo.producers import produce
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.report import Report, build_report, run_oracle, show_report
from tidegate.platform.demo.settle import wait_settled
from tidegate.platform.demo.source import data_folder, read_source
from tidegate.platform.demo.stories import FLIGHT, READING, read_stories, show_stories
from tidegate.platform.demo.uploader import Uploader
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.stack_file import empty_home

_SETTLE_SECONDS = 600.0


def run_demo(
    home: Path,
    console: Console,
    *,
    report_path: Path | None = None,
    keep: bool = False,
    fresh: bool = False,
    short: bool = False,
    ports: Ports = DEFAULT_PORTS,
) -> Report:
    """Run the demo.

    Args:
        home: folder of all state; a second run continues from it.
        console: takes progress and report.
        report_path: file for the report as JSON.
        keep: leave everything running, with the UI, until Ctrl-C.
        fresh: empty the home first, which must not be in use.
        short: sixty days instead of the year; a home with the files of a year keeps them.
        ports: ports of the servers.

    Raises:
        SourceMissingError: the demo's data is not installed.
        LocalStackError: the home is in use, or something could not be started or died.
        NotSettled: events were still on their way at the deadline.
    """
    data_folder()
    if fresh:
        empty_home(home)
    begun, started = time.monotonic(), time.time()
    conf = SMALL_DATA if short else {}
    with deployment(home, console, lake_file_of(home), ports, spark_conf=conf) as platform:
        with platform.stack.settings.opened() as lake, platform.dagster.instance() as instance:
            report = _ingest(lake, instance, home / "producers", platform, console, started, short=short)
            stories = read_stories(lake) if report.ok else None
        if stories:
            show_stories(console, stories)
        show_report(console, report, time.monotonic() - begun)
        platform.end_demo(console, report, report_path, keep=keep, following=_next(platform, home))
    return report


def _produce_once(folder: Path, stages: Stages, short: bool) -> None:
    if (folder / "operations.jsonl").exists():
        return
    stage = stages.begin(f"Producers write {'sixty days' if short else 'a year'} of flights and weather to files")
    source = read_source()
    operations = produce(folder, source.short() if short else source)
    stage.done(f"{len(operations)} operations on the bucket, in two waves")


def _ingest(
    lake: Lake,
    instance: dg.DagsterInstance,
    folder: Path,
    platform: Deployment,
    console: Console,
    started: float,
    *,
    short: bool,
) -> Report:
    stack, check = platform.stack, platform.check
    with Stages(console).shown() as stages:
        _produce_once(folder, stages, short)
        clients = stack.clients()
        uploader = Uploader(folder, clients.s3, clients.sqs, stack.queue_url)
        before = _baseline(lake, instance, stages, check)
        accounts, sent = before, 0
        for wave in uploader.waves:
            mends, operations = uploader.todo(wave)
            for done in mends:
                stage = stages.begin(f"Wave {wave}, people fix what keeps {done['key']} in quarantine")
                stage.done(mend(lake, lake_file_of(stack.home), done))
            stage = stages.begin(f"Wave {wave}, producers put files into S3", len(operations))
            sent += uploader.upload(operations, stage.advance)
            stage.done(f"{len(operations)} operations")
            stage = stages.begin(f"Wave {wave}, events become tables", sent)
            accounts = wait_settled(
                lake, instance, sent=sent, before=before, deadline=_SETTLE_SECONDS, check=check, show=stage.show
            )
            stage.done("every event is accounted for, silver is up to date")
            uploader.complete(wave)
        stage = stages.begin("The oracle computes the expected tables from the source files")
        expected = run_oracle(folder)
        report = build_report(lake, instance, expected, accounts, before, sent, started)
        stage.done("compared")
    return report


def _baseline(lake: Lake, instance: dg.DagsterInstance, stages: Stages, check: Callable[[], None]) -> Accounts:
    """Returns the accounts before this run: empty on a fresh lake, else those of earlier runs after they settled."""
    if not lake.store.table_keys():
        return Accounts()
    stage = stages.begin("Finishing the work of an earlier run")
    accounts = wait_settled(
        lake, instance, sent=0, before=read_accounts(lake), deadline=_SETTLE_SECONDS, check=check, show=stage.show
    )
    stage.done("at rest")
    return accounts


def _next(platform: Deployment, home: Path) -> NextSteps:
    sql = f"tidegate sql --home {home}"
    places = {
        "lineage": f"{platform.dagster.ui_url}/asset-groups",
        "one table": f"{platform.dagster.ui_url}/assets/bronze?view=partitions",
        "SQL": f'{sql} "SELECT carrier, count(*) FROM silver.flights GROUP BY 1"',
        "why a row": f"tidegate why --home {home} silver.flights {' '.join(FLIGHT)}",
        "a history": f'{sql} "{READING}"',
        "every file": f'{sql} "SELECT key, status, reason FROM ledger.weather"',
    }
    return NextSteps("tidegate demo", places, "The next run sends everything again, and no row doubles.")
