"""Runs the demo end to end: producers, the real sensor, daemon, queue and assets, and the oracle at the end.

It also does what people do about a file in quarantine, and shows the stories of two keys.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from rich.console import Console
from rich.table import Table

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.routing.route import table_holding
from tidegate.platform.demo import lake_file
from tidegate.platform.demo.accounts import Accounts, read_accounts
from tidegate.platform.demo.deployment import DEFAULT_PORTS, Deployment, NextSteps, Ports, deployment
from tidegate.platform.demo.operations import BUCKET, Operation
from tidegate.platform.demo.producers import produce
from tidegate.platform.demo.progress import Stages
from tidegate.platform.demo.report import Report, build_report, run_oracle, show_report
from tidegate.platform.demo.settle import wait_settled
from tidegate.platform.demo.source import data_folder, read_source
from tidegate.platform.demo.uploader import Uploader
from tidegate.platform.lake.lake import Lake
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.stack_file import empty_home, make_home
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.silver.audit.key_history import KeyHistory, key_history

_SETTLE_SECONDS = 600.0

#: A flight that the export deletes, and of which it then brings an older row.
FLIGHT = ("year=2013", "month=2", "day=1", "carrier=EV", "flight=5716", "origin=JFK")
#: A reading that is deleted, and returns with another temperature.
READING = (
    "SELECT temp, valid_from, valid_to, is_current FROM silver.weather "
    "WHERE origin = 'JFK' AND time_hour = '2013-05-01 10:00' ORDER BY valid_from"
)


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
        report_path: file for the report as JSON.
        keep: leave everything running, with the UI, until Ctrl-C.
        fresh: empty the home first, which must not be in use.
        short: sixty days instead of the year; a home with the files of a year keeps them.
        ports: ports of the servers.

    Raises:
        SourceMissingError: the demo's data is not installed.
        UnavailableError: the home is in use, or something could not be started or died.
        UnavailableError: events were still on their way at the deadline.
    """
    data_folder()
    if fresh:
        empty_home(home)
    begun, started = time.monotonic(), time.time()
    conf = SMALL_DATA if short else {}
    with deployment(home, console, lake_file_of(home), ports, spark_conf=conf) as platform:
        with platform.stack.settings.open_lake() as lake, platform.dagster.instance() as instance:
            report = _ingest(lake, instance, home / "producers", platform, console, started, short=short)
            stories = read_stories(lake) if report.ok else None
        if stories:
            show_stories(console, stories)
        show_report(console, report, time.monotonic() - begun)
        platform.end_demo(console, report, report_path, keep=keep, following=_next_steps(platform, home))
    return report


def _produce_once(folder: Path, stages: Stages, short: bool) -> None:
    if (folder / "operations.jsonl").exists():
        return
    stage = stages.begin(f"Producers write {'sixty days' if short else 'a year'} of flights and weather to files")
    source = read_source()
    operations = produce(folder, source.to_short() if short else source)
    stage.finish(f"{len(operations)} operations on the bucket, in two waves")


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
    with Stages(console).show_bars() as stages:
        _produce_once(folder, stages, short)
        clients = stack.clients()
        uploader = Uploader(folder, clients.s3, clients.sqs, stack.queue_url)
        before = _baseline(lake, instance, stages, check)
        accounts, sent = before, 0
        for wave in uploader.waves:
            fixes, operations = uploader.plan_wave(wave)
            for done in fixes:
                stage = stages.begin(f"Wave {wave}, people fix what keeps {done['key']} in quarantine")
                stage.finish(apply_fix(lake, lake_file_of(stack.home), done))
            stage = stages.begin(f"Wave {wave}, producers put files into S3", len(operations))
            sent += uploader.upload(operations, stage.advance)
            stage.finish(f"{len(operations)} operations")
            stage = stages.begin(f"Wave {wave}, events become tables", sent)
            accounts = wait_settled(
                lake, instance, sent=sent, before=before, deadline=_SETTLE_SECONDS, check=check, show=stage.show
            )
            stage.finish("every event is accounted for, silver is up to date")
            uploader.mark_completed(wave)
        stage = stages.begin("The oracle computes the expected tables from the source files")
        expected = run_oracle(folder)
        report = build_report(lake, instance, expected, accounts, before, sent, started)
        stage.finish("compared")
    return report


def _baseline(lake: Lake, instance: dg.DagsterInstance, stages: Stages, check: Callable[[], None]) -> Accounts:
    """Return the accounts before this run: empty on a fresh lake, else those of earlier runs after they settled."""
    if not lake.store.table_keys():
        return Accounts()
    stage = stages.begin("Finishing the work of an earlier run")
    accounts = wait_settled(
        lake, instance, sent=0, before=read_accounts(lake), deadline=_SETTLE_SECONDS, check=check, show=stage.show
    )
    stage.finish("at rest")
    return accounts


def _next_steps(platform: Deployment, home: Path) -> NextSteps:
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


def lake_file_of(home: Path) -> Path:
    """Return the copy of the demo's `lake.yaml` on this home, which fixes change. Creates the copy if it is missing.

    Raises:
        UnavailableError: the home cannot be created.
    """
    copy = home / "lake.yaml"
    if not copy.exists():
        make_home(home)
        shutil.copyfile(lake_file(), copy)
    return copy


def apply_fix(lake: Lake, lake_yaml: Path, done: Operation) -> str:
    """Write the option of a fix into `lake_yaml`, and do what `tidegate redrive` does. Returns a sentence about it.

    Both steps may be repeated. A run reads lake.yaml when it starts, so no code location is reloaded.

    Raises:
        ValueError: `lake_yaml` has no line for the option.
    """
    option = activate(lake_yaml, done)
    spec = table_holding(BUCKET, done["key"], lake.config)
    assert spec is not None, done["key"]
    table, choice = spec.table_key.encode(), Choice(key=done["key"])
    if found := quarantined_objects(lake, table, choice):
        redrive_objects(lake, table, found, RedriveRequest("demo", choice))
    return f"`{option}` in lake.yaml, then what `tidegate redrive {spec.name} --yes` does"


def activate(lake_yaml: Path, done: Operation) -> str:
    """Activate the option of a fix in `lake_yaml`, where it is commented out. Returns the option.

    Raises:
        BadSetting: the option is missing in `lake_yaml`.
    """
    option = f"csv: {{nulls: [{', '.join(done['nulls'])}]}}"
    text = lake_yaml.read_text(encoding="utf-8")
    if option not in text:
        raise BadSetting(f"{lake_yaml} has no line `# {option}`: remove the file, and the demo writes it again")
    lake_yaml.write_text(text.replace(f"# {option}", option), encoding="utf-8")
    return option


@dataclass(frozen=True)
class Stories:
    """What became of two keys.

    Attributes:
        flight: every row of a flight.
        reading: the rows of a reading's history, oldest first.
    """

    flight: KeyHistory
    reading: list[dict[str, Any]]


def read_stories(lake: Lake) -> Stories:
    """Return the stories."""
    spec = next(spec for spec in lake.config.tables if spec.name == "flights")
    flight = key_history(lake, spec, FLIGHT)
    return Stories(flight, [row.asDict() for row in lake.delta.session.sql(READING).collect()])


def show_stories(console: Console, stories: Stories) -> None:
    """Print the stories."""
    table = Table(title="One flight: tidegate why silver.flights", header_style="bold")
    for name in ("batch", "deletes", "became", "why"):
        table.add_column(name)
    for event in stories.flight.events:
        deletes = "yes" if event.row.deletes else ""
        table.add_row("" if event.row.n is None else str(event.row.n), deletes, event.fate.value, event.why)
    console.print(table)
    table = Table(title="One reading: silver.weather is a history", header_style="bold")
    for name in ("temp", "valid_from", "valid_to", "is_current"):
        table.add_column(name)
    for row in stories.reading:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    console.print(table)
