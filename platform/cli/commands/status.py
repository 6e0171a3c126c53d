"""`tidegate status` prints the health of a lake, and its exit code says whether something needs a person."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.assets.health.asset import health_report
from tidegate.assets.health.measure import measure
from tidegate.assets.health.report import MAX_SHOWN, MEASURED_CHECK, HealthReport
from tidegate.assets.keys import LakeNames
from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.health import (
    StatusAnswer,
    StatusCheck,
    StatusFailure,
    StatusQueue,
    StatusRoute,
    StatusTable,
)
from tidegate.platform.cli.dagster_storage import dagster_instance
from tidegate.platform.cli.environment import client
from tidegate.platform.core.wording import number_of, one_line, size_text, span

_AT = "%Y-%m-%d %H:%M:%SZ"


def run_status(console: Console, lake: Path | None, home: Path | None, *, as_json: bool) -> bool:
    """Measure a lake, as the sensor `health` does, and print what waits and what fails. Spark is not asked.

    Args:
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        as_json: print only one JSON object.

    Returns:
        Whether no check of severity ERROR fails, and everything was measured.

    Raises:
        CommandError: this machine has no storage of Dagster, or lake.yaml is wrong.
        StoreError: S3 did not answer.
    """
    using = client(home, lake)
    with using.open_lake() as opened, dagster_instance(using.home) as instance:
        health = measure(opened, instance, time.time())
        report = health_report(opened, instance, health)
        answer = _answer(
            report,
            report.checks(LakeNames.from_config(opened.config).lake_health),
            opened.delta.server.describe() or None,
        )
    if as_json:
        print_answer(console, answer)
    else:
        for part in _parts(answer):
            console.print(part)
    return answer.ok


def _answer(report: HealthReport, results: Sequence[dg.AssetCheckResult], spark: str | None) -> StatusAnswer:
    health = report.health
    checks = tuple(map(_check, results))
    return StatusAnswer(
        at=_time(health.at),
        ok=all(check.passed or check.severity == "warning" for check in checks),
        tables=tuple(
            StatusTable(
                table=table.name,
                key=table.key,
                behind=table.behind,
                files=table.files,
                at_least=not table.whole,
                bytes=table.size,
                oldest_seconds=round(table.lag, 1),
                limit_seconds=table.limit,
                last_commit=_time(at) if (at := report.commits.get(table.key)) else None,
                quarantined=health.quarantined.get(table.key, 0),
                incomplete_dataset_files=table.undecided,
            )
            for table in health.tables
        ),
        queues=tuple(
            StatusQueue(
                queue=queue.name,
                waiting=queue.waiting,
                in_flight=queue.in_flight,
                dead_letters=queue.dead,
                missed=queue.missed,
            )
            for queue in health.queues
        ),
        routes=tuple(
            StatusRoute(
                route=route.name,
                behind=route.behind,
                messages=route.messages,
                oldest_seconds=round(route.lag, 1),
                limit_seconds=route.limit,
                undeliverable=route.undeliverable,
            )
            for route in health.routes
        ),
        failed=tuple(
            StatusFailure(table=table, run=failed.run_id, at=_time(failed.at), why=failed.why)
            for table, failed in report.failed.items()
        ),
        checks=checks,
        unknown=health.unknown,
        spark=spark,
    )


def _check(result: dg.AssetCheckResult) -> StatusCheck:
    name = result.check_name or ""
    # What nobody could measure may be wrong, so a script must not take it for good.
    is_error = name == MEASURED_CHECK or result.severity is dg.AssetCheckSeverity.ERROR
    severity = "error" if is_error else "warning"
    return StatusCheck(name=name, passed=result.passed, severity=severity, what_to_do=result.description or "")


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _parts(answer: StatusAnswer) -> Iterator[Text | Table | str]:
    """Yield what is printed. A table or queue for which nothing waits is only counted."""
    busy = [table for table in answer.tables if table.files or table.quarantined]
    if busy:
        yield _table(
            ("table", "oldest", "of", "files", "bytes", "last commit", "bad, 24 h"),
            [_table_cells(table, answer.at) for table in busy[:MAX_SHOWN]],
        )
    if len(busy) > MAX_SHOWN:
        yield Text(f"and {len(busy) - MAX_SHOWN} more tables, less urgent than these", style="dim")
    queues = [queue for queue in answer.queues if queue.waiting or queue.in_flight or queue.dead_letters]
    if queues:
        yield _table(
            ("queue", "waiting", "in flight", "dead"),
            [(queue.queue, queue.waiting, queue.in_flight, queue.dead_letters or 0) for queue in queues[:MAX_SHOWN]],
        )
    if len(queues) > MAX_SHOWN:
        yield Text(f"and {len(queues) - MAX_SHOWN} more queues", style="dim")
    routes = [route for route in answer.routes if route.messages or route.undeliverable]
    if routes:
        yield _table(
            ("route", "oldest", "of", "waiting", "undeliverable"),
            [
                (
                    f"{'! ' if route.behind else ''}{route.route}",
                    span(route.oldest_seconds),
                    "no limit" if route.limit_seconds is None else span(route.limit_seconds),
                    route.messages,
                    route.undeliverable,
                )
                for route in routes[:MAX_SHOWN]
            ],
        )
    yield from _problem_lines(answer)
    if answer.spark:
        yield Text(f"Spark: {one_line(answer.spark)}", style="dim")
    yield _verdict(answer)


def _table_cells(table: StatusTable, now: datetime) -> tuple[str | int, ...]:
    ago = span((now - table.last_commit).total_seconds()) + " ago" if table.last_commit else ""
    return (
        f"{'! ' if table.behind else ''}{table.table}",
        span(table.oldest_seconds) if table.files else "",
        span(table.limit_seconds) if table.files else "",
        f"{table.files:,}{'+' if table.at_least else ''}",
        size_text(table.bytes),
        ago,
        f"{table.quarantined:,}" if table.quarantined else "",
    )


def _problem_lines(answer: StatusAnswer) -> Iterator[Text]:
    for failed in answer.failed[:MAX_SHOWN]:
        line = f"{failed.table}: its last run failed at {failed.at.strftime(_AT)} (run {failed.run}): {failed.why}"
        yield Text(one_line(line), style="red")
    for sentence in answer.unknown:
        yield Text(one_line(f"not known: {sentence}"), style="red")
    for check in answer.checks:
        if not check.passed:
            to_do = f": {check.what_to_do}" if check.what_to_do else ""
            yield Text(f"{'FAILED ' if check.severity == 'error' else 'warning'} {check.name}{to_do}", style="bold red")


def _verdict(answer: StatusAnswer) -> Text:
    behind = sum(table.behind for table in answer.tables)
    files = sum(table.files for table in answer.tables)
    numbers = f"{number_of(len(answer.tables), 'table')}, {behind} behind; {number_of(files, 'file')} waiting"
    at = answer.at.strftime(_AT)
    return Text(f"{at}: {'ok' if answer.ok else 'NOT OK'}: {numbers}", style="bold green" if answer.ok else "bold red")


def _table(names: tuple[str, ...], rows: list[tuple[str | int, ...]]) -> Table:
    table = Table(show_edge=False, header_style="bold")
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(one_line(str(cell))) for cell in row])
    return table
