"""The demo's report: compares the content of every table with the oracle."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from rich.console import Console
from rich.table import Table

from tidegate.assets.keys import silver_key
from tidegate.assets.runs.held_tables import RunTables
from tidegate.platform.demo.accounts import Accounts, Newest
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.sql_names import SqlNames

_ORACLE = Path(__file__).with_name("oracle.py")


@dataclass
class Report:
    """The outcome of a demo run.

    Attributes:
        tables: one entry per table, as `--report` writes it.
        events_sent: number of events that this run caused.
        outcomes: number of this run's events, by outcome.
        redriven: reasons why files were in quarantine that were loaded since, by key.
        problems: every difference from the oracle; empty if all is right.
    """

    tables: list[dict[str, Any]] = field(default_factory=list)
    events_sent: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    redriven: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every count is that of the oracle."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--report` writes it."""
        return {
            "tables": self.tables,
            "events_sent": self.events_sent,
            "events_accounted": sum(self.outcomes.values()),
            "committed": self.outcomes.get("committed", 0),
            "duplicates": self.outcomes.get("duplicate", 0),
            "quarantined": self.outcomes.get("quarantined", 0),
            "outcomes": self.outcomes,
            "redriven": self.redriven,
            "problems": self.problems,
            "ok": self.ok,
        }


def run_oracle(folder: Path, program: Path = _ORACLE) -> dict[str, Any]:
    """Run an oracle in a separate process that imports nothing of Tidegate. Returns the expected result.

    Args:
        folder: the producers' folder.
        program: the oracle.

    Raises:
        AssertionError: the oracle failed. The message has its last line.
    """
    done = subprocess.run(
        [sys.executable, "-I", str(program), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"the oracle failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def build_report(
    lake: Lake,
    instance: dg.DagsterInstance,
    expected: dict[str, Any],
    accounts: Accounts,
    before: Accounts,
    sent: int,
    started: float,
) -> Report:
    """Compare every table, and every event, with the oracle.

    Args:
        expected: the result of the oracle.
        accounts: the outcome of every event.
        before: the accounts at the start of the run.
        sent: number of events that this run caused.
        started: epoch seconds of the start of the run.
    """
    outcomes = dict(sorted(accounts.count_since(before).items()))
    report = Report(events_sent=sent, outcomes=outcomes, redriven=accounts.redriven)
    accounted = sum(report.outcomes.values())
    if accounted != sent:
        report.problems.append(f"{sent} events were sent, {accounted} are accounted for")
    _compare(report, "quarantined objects", set(expected["quarantined"]["objects"]), set(accounts.quarantined))
    _compare(report, "redriven objects", set(expected["redriven"]), set(accounts.redriven))
    _compare(report, "quarantined rows", expected["quarantined"]["rows"], dict(accounts.bad_rows))
    seconds = _seconds(instance, started)
    for name, wanted in expected["tables"].items():
        report.tables.append(_table(lake, instance, name, wanted, accounts, report, seconds))
    return report


def _table(
    lake: Lake,
    instance: dg.DagsterInstance,
    name: str,
    wanted: dict[str, Any],
    accounts: Accounts,
    report: Report,
    seconds: dict[str, float],
) -> dict[str, Any]:
    layer, _, short = name.partition(".")
    spec = next(spec for spec in lake.config.tables if spec.name == short)
    table_key = spec.table_key.encode()
    birth = lake.store.births.read(table_key)
    silver = layer == "silver"
    location = lake.store.uri("silver", short) if silver else (birth.location if birth else "")
    state = lake.delta.table_state(location) if location else None
    if state is None or not state.exists:
        report.problems.append(f"{name} does not exist")
        return {
            "name": name,
            "layer": layer,
            "files": 0,
            "rows": 0,
            "expected_rows": wanted["rows"],
            "delta_version": -1,
        }
    SqlNames(lake).name_table(table_key)
    selected = ", ".join(f"{check['sql']} AS `{check['name']}`" for check in wanted["checks"])
    found = lake.delta.session.sql(f"SELECT {selected} FROM {name}").collect()[0].asDict()
    for check in wanted["checks"]:
        if found[check["name"]] != check["value"]:
            report.problems.append(f"{name}: {check['name']} is {found[check['name']]}, must be {check['value']}")
    registered = birth is not None and birth.registered
    files = state.files if silver or registered else accounts.objects.get(table_key, 0)
    if not silver and files != wanted["files"]:
        report.problems.append(f"{name}: {files} files, must be {wanted['files']}")
    run = f"silver_{short}" if silver else table_key
    asset = silver_key(short) if silver else None
    fresh = freshness(instance, accounts.newest.get(table_key), asset)
    return {
        "name": name,
        "layer": layer,
        "files": files,
        "rows": found["rows"],
        "expected_rows": wanted["rows"],
        "delta_version": state.version,
        "partition": None if silver else table_key,
        "seconds": round(seconds.get(run, 0.0), 1),
        "freshness_seconds": None if fresh is None else round(fresh, 1),
    }


def freshness(instance: dg.DagsterInstance, newest: Newest | None, silver: dg.AssetKey | None) -> float | None:
    """Return the seconds from the event of a table's newest file to its row in the ledger, or to its silver merge.

    Args:
        newest: the file; None when no event reported one.
        silver: the silver asset; None for bronze.
    """
    if newest is None:
        return None
    if silver is None:
        return newest.recorded_at - newest.event_time
    # The age that a merge records is that of its oldest event. For a full merge that is the first file of all, so it
    # is not used here.
    later = dg.AssetRecordsFilter(asset_key=silver, after_timestamp=newest.recorded_at)
    for record in instance.fetch_materializations(later, limit=20, ascending=True).records:
        merged = record.asset_materialization
        batch = merged.metadata["batch"].value if merged and "batch" in merged.metadata else None
        if isinstance(batch, int) and batch >= newest.n:
            return record.timestamp - newest.event_time
    return None


def _seconds(instance: dg.DagsterInstance, since: float) -> dict[str, float]:
    """Return the seconds of the runs since then, by partition or silver job.

    A run of several tables is divided evenly.
    """
    found: dict[str, float] = {}
    tables = RunTables(instance)
    for record in instance.get_run_records():
        if record.start_time and record.end_time and record.start_time >= since:
            run = record.dagster_run
            names = tables.find(run) or [run.job_name.removesuffix("_job")]
            for name in names:
                found[name] = found.get(name, 0.0) + (record.end_time - record.start_time) / len(names)
    return found


def _compare(report: Report, what: str, wanted: Any, found: Any) -> None:
    if wanted != found:
        report.problems.append(f"{what}: found {found or 'none'}, must be {wanted or 'none'}")


def show_report(console: Console, report: Report, seconds: float) -> None:
    """Print the report."""
    table = Table(title="What landed", header_style="bold")
    for name in ("table", "files", "rows", "expected", "version", "run seconds", "freshness"):
        table.add_column(name, justify="left" if name == "table" else "right")
    for entry in report.tables:
        right = entry["rows"] == entry["expected_rows"]
        fresh = entry.get("freshness_seconds")
        table.add_row(
            entry["name"],
            f"{entry['files']:,}",
            f"[{'green' if right else 'red'}]{entry['rows']:,}",
            f"{entry['expected_rows']:,}",
            str(entry["delta_version"]),
            f"{entry.get('seconds', 0):.1f}",
            f"{fresh:.1f} s" if fresh is not None else "",
        )
    console.print(table)
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in report.outcomes.items())
    console.print(
        f"{report.events_sent} events sent, {sum(report.outcomes.values())} accounted for: {outcomes or 'none'}"
    )
    for key, reason in report.redriven.items():
        console.print(f"Out of quarantine: {key}. It was there because: {reason}", highlight=False)
    if report.ok:
        console.print(f"[bold green]Every count is what the oracle computed from the source files[/] ({seconds:.0f} s)")
    for problem in report.problems:
        console.print(f"[bold red]wrong:[/] {problem}")
