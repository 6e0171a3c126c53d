"""Runs the demo of storage: thirty days of inventories, the last of them by events, and what they say."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
from rich.console import Console

from tidegate.assets.bronze.run import run_table
from tidegate.assets.runs.options import RunOptions
from tidegate.platform.demo.deployment import DEFAULT_PORTS, Deployment, Ports, deployment
from tidegate.platform.demo.events.settle import on_the_way, wait_until_arrived
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.storage import storage_lake_file
from tidegate.platform.demo.storage.company import CompanyBucket, company
from tidegate.platform.demo.storage.deliveries import deliver, delivery
from tidegate.platform.demo.storage.findings import (
    compare_cost,
    compare_growth,
    compare_late,
    compare_ledger,
    compare_table,
    write_prices,
)
from tidegate.platform.demo.storage.report import StorageReport, show_storage_report
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.local.stack_file import empty_home
from tidegate.resources.lake import Lake
from tidegate.sensors.intake.tick import take_in

_TO, _TABLE, _KEY = "tidegate-landing", "bronze.objects", "tidegate-landing.inventory"
_SETTLE_SECONDS = 300.0
_BUCKETS, _DAYS = 200, 30
#: Buckets with a weekly inventory that get one on the last day, too. Its file is not the manifest's, or is missing.
_OTHER, _MISSING = 1, 2


def run_storage_demo(
    home: Path,
    console: Console,
    *,
    report_path: Path | None = None,
    keep: bool = False,
    ports: Ports = DEFAULT_PORTS,
) -> StorageReport:
    """Run the demo of storage. What an earlier run left in the home is deleted first.

    Args:
        home: folder of all state.
        console: takes progress and report.
        report_path: file for the report as JSON.
        keep: leave everything running, with the UI, until Ctrl-C.
        ports: ports of the servers.

    Raises:
        LocalStackError: the home is in use, or something could not be started or died.
        NotSettled: something was still on its way at the deadline.
    """
    buckets, report = company(_BUCKETS, _DAYS), StorageReport(_BUCKETS, _DAYS)
    empty_home(home)
    shutil.copyfile(storage_lake_file(), home / "lake.yaml")  # a copy, which a user may change while the demo is kept
    write_prices(home / "prices.csv")
    begun, versions = time.monotonic(), dict[int, int]()
    console.print(f"[bold]The inventories of {_BUCKETS} buckets over {_DAYS} days[/] become one table, on this machine")
    with deployment(
        home,
        console,
        home / "lake.yaml",
        ports,
        spark_conf=SMALL_DATA,
        before_dagster=lambda stack: versions.update(_history(stack, buckets, _DAYS - 1, console)),
    ) as platform:
        with (
            platform.stack.settings.opened() as lake,
            platform.dagster.instance() as instance,
            Stages(console).shown() as stages,
        ):
            stage = stages.begin("The inventories of the last day arrive")
            _last_day(platform, lake, instance, buckets, _DAYS - 1, lambda what: stage.show(what, 0))
            stage.done("all of them are in the table, in quarantine, or wait for a file")
            stage = stages.begin("The table and its reports are compared with the oracle")
            _compare(report, lake, instance, home, buckets, versions)
            stage.done("every figure is right" if report.ok else "there are differences")
        report.seconds = time.monotonic() - begun
        show_storage_report(console, report)
        if report_path:
            report_path.write_text(json.dumps(report.to_json(), indent=2) + "\n")
        _show_next(console, platform, home, keep)
        if keep:
            platform.run_until_signal()
    return report


def _history(stack: LocalStack, buckets: Sequence[CompanyBucket], days: int, console: Console) -> dict[int, int]:
    """Bring in the days before the last one, one after another. Returns the table's version after each day."""
    s3, versions = stack.clients().s3, {}
    with stack.settings.opened() as lake, Stages(console).shown() as stages, ThreadPoolExecutor(8) as pool:
        stage = stages.begin("The inventories of the days before", days)
        for day in range(days):
            delivering = [bucket for bucket in buckets if bucket.delivers(day)]
            list(pool.map(lambda bucket, day=day: deliver(s3, _TO, bucket, day), delivering))
            while sum(sum(queue.depth()) for queue in lake.queues):
                take_in(lake)
            done = run_table(lake.table(_KEY), RunOptions(run_id="history"))
            versions[day] = done[-1].landed.version
            stage.show(f"day {day + 1}: {len(delivering)} inventories", day + 1)
        stage.done(f"{sum(bucket.delivers(day) for bucket in buckets for day in range(days)):,} inventories")
    return versions


def _last_day(
    platform: Deployment,
    lake: Lake,
    instance: dg.DagsterInstance,
    buckets: Sequence[CompanyBucket],
    day: int,
    show: Callable[[str], None],
) -> None:
    """Deliver the last day with what goes wrong at times, and wait for Dagster's runs."""
    s3 = platform.stack.clients().s3
    for bucket in buckets:
        if bucket.delivers(day):
            deliver(s3, _TO, bucket, day)
    deliver(s3, _TO, buckets[_OTHER], day, broken=True)
    for key, body in list(delivery(buckets[_MISSING], day))[1:]:
        s3.put_object(Bucket=_TO, Key=key, Body=body)
    *_, (checksum, body) = delivery(buckets[0], day)
    s3.put_object(Bucket=_TO, Key=checksum, Body=body)  # its event comes a second time

    def arrived() -> bool:
        platform.check()
        return True

    wait_until_arrived(lambda: on_the_way(lake, instance, [], ""), done=arrived, show=show, deadline=_SETTLE_SECONDS)


def _compare(
    report: StorageReport,
    lake: Lake,
    instance: dg.DagsterInstance,
    home: Path,
    buckets: Sequence[CompanyBucket],
    versions: dict[int, int],
) -> None:
    lake.name_table(_KEY)
    compare_table(report, lake, _TABLE, buckets)
    compare_growth(report, lake, _TABLE, buckets, versions)
    compare_ledger(report, lake, "ledger.objects", {"quarantined": 1, "waiting": 1})
    event = instance.get_latest_materialization_event(dg.AssetKey(["bronze", "objects"]))
    materialization = event.asset_materialization if event else None
    late = materialization.metadata.get("late_inventories") if materialization else None
    compare_late(report, late.value if late else None, buckets)  # type: ignore[arg-type]
    compare_cost(report, home, home / "prices.csv", buckets)


def _show_next(console: Console, platform: Deployment, home: Path, keep: bool) -> None:
    console.print()
    if not keep:
        console.print("Next: [bold]tidegate demo storage --keep[/] keeps everything running, for the UI and for SQL.")
        return
    console.print("[bold]Open next[/]")
    sql = f"tidegate sql --home {home}"
    for what, where in {
        "the table": f"{platform.dagster.ui_url}/assets/bronze/objects",
        "cost": f"tidegate inventory cost objects --prices {home}/prices.csv --by prefix,age --home {home}",
        "by bucket": f'{sql} "SELECT bucket, sum(size) FROM bronze.objects GROUP BY 1 ORDER BY 2 DESC"',
        "a past version": f'{sql} "SELECT count(*) FROM bronze.objects VERSION AS OF 10"',
        "deliveries": f'{sql} "SELECT key, status, reason FROM ledger.objects ORDER BY n DESC LIMIT 20"',
    }.items():
        console.print(f"  {what:<17}", where, highlight=False, soft_wrap=True)
    console.print("Ctrl-C stops everything. The next run of the demo deletes what this one left.")
