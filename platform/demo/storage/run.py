"""Runs the demo of storage: thirty days of inventories, the last of them by events, and what they say."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
from rich.console import Console

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.demo.deployment import DEFAULT_PORTS, Deployment, NextSteps, Ports, deployment
from tidegate.platform.demo.events.settle import measure_pending, wait_until_arrived
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.storage import storage_lake_file
from tidegate.platform.demo.storage.commands import run_json_command
from tidegate.platform.demo.storage.company import CompanyBucket, company
from tidegate.platform.demo.storage.deliveries import TO, deliver_last_day, file_columns
from tidegate.platform.demo.storage.findings import (
    compare_catalog,
    compare_configurations,
    compare_cost,
    compare_ledger,
    compare_left_over,
    compare_manifest,
    compare_pages,
    compare_past,
    compare_table,
    compare_table_cost,
    write_prices,
)
from tidegate.platform.demo.storage.past_days import INVENTORIES, PastDays
from tidegate.platform.demo.storage.planted_buckets import LEGACY
from tidegate.platform.demo.storage.report import StorageReport, show_storage_report
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.local.extras import require_extra
from tidegate.platform.local.process.ports import LOOPBACK
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.stack_file import empty_home

_TABLE = "bronze.objects"
_SETTLE_SECONDS, _PAUSE = 300.0, 0.5
#: The job of the reports, the database of the catalog, and what a job encrypts.
_REPORTS, _DATABASE = "storage_objects_job", "company"
JOBS, UNENCRYPTED = "jobs/encrypt/", f"SELECT bucket, key FROM {_TABLE} WHERE encryption_status = 'NOT-SSE'"


def run_storage_demo(
    home: Path,
    console: Console,
    *,
    buckets: int = 200,
    days: int = 30,
    report_path: Path | None = None,
    keep: bool = False,
    ports: Ports = DEFAULT_PORTS,
) -> StorageReport:
    """Run the demo of storage. What an earlier run left in the home is deleted first.

    Args:
        home: folder of all state.
        buckets: number of buckets, 91 or more, so that every report has something to find.
        days: number of days, 6 or more. A forecast needs fourteen.
        report_path: file for the report as JSON.
        keep: leave everything running, with the UI, until Ctrl-C.
        ports: ports of the servers.

    Raises:
        UnavailableError: moto's server is not installed, the home is in use, or something could not be started or died.
        UnavailableError: something was still on its way at the deadline.
    """
    require_extra("demo", "moto", "flask", "flask_cors")
    empty_home(home)
    begun, of, report = time.monotonic(), company(buckets, days), StorageReport(buckets, days)
    shutil.copyfile(storage_lake_file(), home / "lake.yaml")  # a copy, which a user may change while the demo is kept
    write_prices(home / "prices.csv")
    console.print(f"[bold]The inventories of {buckets} buckets over {days} days[/] become one table, on this machine")
    past = PastDays(home, of, days - 1)
    with (
        deployment(
            home,
            console,
            home / "lake.yaml",
            ports,
            spark_conf=SMALL_DATA,
            before_sensors=lambda stack: past.load_days(stack, console),
        ) as platform,
        closing(past),
    ):
        _last_day_and_reports(platform, home, report, of, past, console)
        report.seconds = time.monotonic() - begun
        show_storage_report(console, report)
        platform.end_demo(console, report, report_path, keep=keep, following=_next_steps(platform, home))
    return report


def _last_day_and_reports(
    platform: Deployment,
    home: Path,
    report: StorageReport,
    buckets: Sequence[CompanyBucket],
    past: PastDays,
    console: Console,
) -> None:
    with (
        platform.stack.settings.open_lake() as lake,
        platform.dagster.instance() as instance,
        Stages(console).show_bars() as stages,
    ):
        stage = stages.begin("The inventories of the last day arrive")
        _last_day(platform, lake, instance, buckets, report.days - 1, lambda what: stage.show(what, 0))
        stage.finish("all of them are in the table, in quarantine, or wait for a file")
        stage = stages.begin("Reports, a manifest and the catalog are made")
        answers = _reports(platform, lake, instance, home, past.answers, lambda what: stage.show(what, 0))
        stage.finish("cost, growth, advice and audits are on their pages in Dagster")
        stage = stages.begin("The table and its reports are compared with the oracle")
        compare_configurations(report, answers["configured"], buckets, TO)
        compare_tables(report, lake, instance, buckets, past.versions, answers)
        stage.finish("every figure is right" if report.ok else "there are differences")


def _last_day(
    platform: Deployment,
    lake: Lake,
    instance: dg.DagsterInstance,
    buckets: Sequence[CompanyBucket],
    day: int,
    show: Callable[[str], None],
) -> None:
    """Deliver the last day with what goes wrong at times, and wait for Dagster's runs."""
    deliver_last_day(platform.stack.clients().s3, buckets, day)
    _settle(platform, lake, instance, show)


def _settle(platform: Deployment, lake: Lake, instance: dg.DagsterInstance, show: Callable[[str], None]) -> None:
    def has_arrived() -> bool:
        platform.check()
        return True

    wait_until_arrived(
        lambda: measure_pending(lake, instance, [], ""), done=has_arrived, show=show, deadline=_SETTLE_SECONDS
    )


def _wait_for_run(platform: Deployment, instance: dg.DagsterInstance, run: str, show: Callable[[str], None]) -> None:
    """Wait until a run has ended. If it fails, its reports are missing, and their figures differ."""
    end = time.monotonic() + _SETTLE_SECONDS
    while time.monotonic() < end:
        platform.check()
        found = instance.get_run_by_id(run)
        if found and found.is_finished:
            return
        show(f"run {run[:8]} {found.status.value.lower() if found else ''}")
        time.sleep(_PAUSE)
    raise UnavailableError(f"run {run} has not ended within {_SETTLE_SECONDS:.0f} s: look at it in the UI")


def _reports(
    platform: Deployment,
    lake: Lake,
    instance: dg.DagsterInstance,
    home: Path,
    earlier: Mapping[str, Future[Any]],
    show: Callable[[str], None],
) -> Mapping[str, Any]:
    """Let Dagster make the reports, and return what commands print and maintenance does, by their names."""
    prices, to = str((home / "prices.csv").resolve()), f"s3://{lake.config.lake.bucket}/{JOBS}"
    commands = {
        "cost": ("inventory", "cost", "objects", "--prices", prices, "--limit", "1"),
        "manifest": ("inventory", "manifest", "--sql", UNENCRYPTED, "--to", to, "--account", "000000000000"),
    }
    from dagster_graphql import DagsterGraphQLClient  # of the extra `local`, without which every module loads

    client = DagsterGraphQLClient(LOOPBACK, port_number=platform.dagster.ui_port)
    run = client.submit_job_execution(_REPORTS, repository_location_name="tidegate")
    with ThreadPoolExecutor(len(commands)) as pool:
        later = {name: pool.submit(run_json_command, home, *words) for name, words in commands.items()}
        _wait_for_run(platform, instance, run, show)
    return {name: answer.result() for name, answer in {**earlier, **later}.items()}


def compare_tables(
    report: StorageReport,
    lake: Lake,
    instance: dg.DagsterInstance,
    buckets: Sequence[CompanyBucket],
    versions: Mapping[int, int],
    answers: Mapping[str, Any],
) -> None:
    """Compare the tables, their pages and what commands and maintenance did with the oracle.

    Args:
        report: takes the figures.
        instance: of Dagster, with the pages.
        versions: of the table of inventories after each day.
        answers: of commands and maintenance, by their names.
    """
    SqlNames(lake).name_table(INVENTORIES)
    compare_table(report, lake, _TABLE, buckets)
    compare_past(report, lake, _TABLE, buckets, versions)
    compare_ledger(report, lake, "ledger.objects", {"quarantined": 1, "waiting": 1})
    compare_pages(report, instance, buckets)
    compare_cost(report, answers["cost"], buckets)
    compare_table_cost(report, answers["table_cost"])
    compare_left_over(report, answers["left_over"])
    bucket, key = lake.config.lake.bucket, f"{JOBS}{buckets[LEGACY].name}.csv"
    compare_manifest(report, answers["manifest"], lake.store.objects.get(bucket, key) or b"", buckets[LEGACY])
    entry = lake.catalog.table(_DATABASE, "objects") if lake.catalog else None
    compare_catalog(report, answers["readers"], entry, set(file_columns()))


def _next_steps(platform: Deployment, home: Path) -> NextSteps:
    sql, ui = f"tidegate sql --home {home}", platform.dagster.ui_url
    places = {
        "the table": f"{ui}/assets/bronze/objects",
        "growth": f"{ui}/assets/storage/objects_growth",
        "cost": f"tidegate inventory cost objects --prices {home}/prices.csv --by prefix,age --home {home}",
        "advice": f"tidegate inventory advice objects --prices {home}/prices.csv --home {home} --limit 10",
        "cost of a table": f"tidegate cost --home {home}",
        "audits": f"tidegate inventory audit objects --home {home} --limit 7",
        "by bucket": f'{sql} "SELECT bucket, sum(size) FROM bronze.objects GROUP BY 1 ORDER BY 2 DESC"',
        "a past version": f'{sql} "SELECT count(*) FROM bronze.objects VERSION AS OF 10"',
        "deliveries": f'{sql} "SELECT key, status, reason FROM ledger.objects ORDER BY n DESC LIMIT 20"',
    }
    return NextSteps("tidegate demo storage", places, "The next run deletes what this one left.")
