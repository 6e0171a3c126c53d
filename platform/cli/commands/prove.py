"""`tidegate prove` proves Tidegate in an account or at an endpoint, and removes what it made."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.commands.spark import region_of
from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.roles.roles import policy
from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.wording import first_line, number_of
from tidegate.platform.lake.settings import Settings
from tidegate.platform.lake.spark.remote import REMOTE, SparkRemote
from tidegate.platform.prove.budget import dollars_of
from tidegate.platform.prove.names import RunNames
from tidegate.platform.prove.policy import prove_statements
from tidegate.platform.prove.report import Report
from tidegate.platform.prove.run import ProofOptions, run_proof

_STYLES = {True: "[green]held", False: "[bold red]failed", None: "[dim]not checked"}


@dataclass(frozen=True)
class Wish:
    """What a person asked for.

    Attributes:
        files: number of files.
        quick: fewer kills and smaller races.
        keep: leave everything.
        with_names: let the report name buckets and the account.
        report: folder of the report.
        budget: dollars that may be spent; None for no bound.
        yes: begin without a question.
        home: folder of the runs' local files.
        commits: how the commits of the run's lake are coordinated.
        spark_remote: address of a Spark server that runs; None for one of the run's own.
    """

    files: int
    quick: bool
    keep: bool
    with_names: bool
    report: Path
    budget: float | None
    yes: bool
    home: Path
    commits: Commits = "dynamodb"
    spark_remote: str | None = None


def print_policy() -> None:
    """Print the IAM policy that the command needs, in the region of the environment if that has one."""
    region = environment_settings().aws.session().region_name
    print(json.dumps(policy(prove_statements(region or "*")), indent=2))


def run_prove(console: Console, wish: Wish, ask: Callable[[str], bool]) -> bool:
    """Run a proof. Returns whether every claim held.

    Args:
        ask: asks a person a question.

    Raises:
        CommandError: the budget is too small, nobody can be asked, or the report cannot be written.
        UnavailableError: AWS refuses what the run needs.
    """
    settings = environment_settings()
    region_of(settings)
    remote = _remote(settings, wish)
    options = ProofOptions(
        wish.files, wish.quick, wish.keep, wish.with_names, wish.home.resolve(), remote, wish.commits
    )
    names, planned = RunNames.draw(), options.planned
    most = dollars_of(planned)
    console.print(
        f"{_plan_text(names, options)}\n"
        f"It spends at most ${most:.4f}: {planned.s3_writes:,} writes and {planned.s3_reads:,} reads of S3, "
        f"{planned.sqs_requests:,} requests of SQS, {planned.dynamodb_writes:,} writes and "
        f"{planned.dynamodb_reads:,} reads of DynamoDB, at the list prices of us-east-1.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if wish.budget is not None and most > wish.budget:
        raise CommandError(
            f"the run could spend ${most:.4f}, and --budget allows ${wish.budget:.4f}: raise it, or take fewer --files"
        )
    if not wish.yes and not ask("Begin?"):
        console.print("Nothing was made.")
        return False
    _require_writable(wish.report)
    report = run_proof(settings, options, names, console)
    _show(console, report)
    _write(console, report, wish.report)
    return report.ok


def ask_person(question: str) -> bool:
    """Ask a person who is there.

    Raises:
        CommandError: nobody is there.
    """
    if not sys.stdin.isatty():
        raise CommandError("the command asks before it changes anything, and there is no terminal: add --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _remote(settings: Settings, wish: Wish) -> SparkRemote | None:
    """Return the Spark server that the person named, with the token of the environment.

    Raises:
        CommandError: it is not an address.
    """
    if wish.spark_remote is None:
        return None
    try:
        return SparkRemote.from_environ({**settings.environ, REMOTE: wish.spark_remote})
    except ValueError as error:
        raise CommandError(f"--spark-remote: {error}") from None


def _plan_text(names: RunNames, options: ProofOptions) -> str:
    """Return what the run does, and where."""
    made = (
        "two buckets, two queues and a table of commits" if options.has_commit_table else "two buckets and two queues"
    )
    end = "and leaves everything" if options.keep else "and removes everything"
    if options.remote is not None:
        where = (
            f"It uses the Spark server {options.remote}. Its tables have names there that end with _{names.id}, and "
            f"the server coordinates their commits ({options.commits})."
        )
    elif os.environ.get(REMOTE):
        where = f"It starts a Spark server on this machine: only --spark-remote names another, and not {REMOTE}."
    else:
        where = "It starts a Spark server on this machine."
    files = number_of(options.files, "file")
    return f"{names.base} makes {made}, lands {files}, kills {options.kills} of its workers, {end}.\n{where}"


def _require_writable(folder: Path) -> None:
    """Make the folder of the report, and a file there.

    Raises:
        CommandError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CommandError(f"--report {folder} cannot be written: {first_line(error)}") from None


def _show(console: Console, report: Report) -> None:
    table = Table(title="What was proved", header_style="bold")
    for name in ("claim", "result", "found"):
        table.add_column(name)
    for claim in report.claims:
        table.add_row(claim.says, _STYLES[claim.held], claim.found.replace("[", r"\["))
    console.print(table)
    for claim in report.claims:
        if claim.held is False and claim.otherwise:
            console.print(f"{claim.says}: no. {claim.otherwise}", markup=False, highlight=False, soft_wrap=True)
    numbers = report.numbers
    row = numbers.get("put_to_row_seconds", {})
    console.print(
        f"{report.verdict} in {numbers['seconds']:.0f} s for ${numbers['dollars']:.4f}; from PUT to the row "
        f"{row.get('p50', '?')} s in the median, {row.get('p95', '?')} s for 95 %",
        markup=False,
    )


def _write(console: Console, report: Report, folder: Path) -> None:
    stem = f"tidegate-proof-{report.made:%Y%m%dT%H%M%SZ}"
    page, data = folder / f"{stem}.html", folder / f"{stem}.json"
    page.write_text(report.to_html(), encoding="utf-8")
    data.write_text(json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    shown = "names of buckets and the account" if report.hidden is None else "no account and no name"
    console.print(f"Open next: {page}, or {data} for programs. They have {shown}.", markup=False, soft_wrap=True)
