"""`tidegate prove` proves Tidegate in an account or at an endpoint, and removes what it made."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.commands.spark import region_of
from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.roles.roles import policy
from tidegate.platform.core.wording import number_of
from tidegate.platform.lake.spark.remote import REMOTE
from tidegate.platform.prove.budget import plan_requests
from tidegate.platform.prove.names import RunNames
from tidegate.platform.prove.policy import prove_statements
from tidegate.platform.prove.report import Report
from tidegate.platform.prove.run import ProofOptions, kills_of, run_proof

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
    """

    files: int
    quick: bool
    keep: bool
    with_names: bool
    report: Path
    budget: float | None
    yes: bool
    home: Path


def print_policy() -> None:
    """Print the IAM policy that the command needs."""
    print(json.dumps(policy(prove_statements()), indent=2))


def run_prove(console: Console, wish: Wish, ask: Callable[[str], bool]) -> bool:
    """Run a proof. Returns whether every claim held.

    Args:
        ask: asks a person a question.

    Raises:
        CommandError: the budget is too small, or nobody can be asked.
        UnavailableError: AWS refuses what the run needs.
    """
    settings = environment_settings()
    region_of(settings)
    names, kills = RunNames.draw(), kills_of(quick=wish.quick)
    planned = plan_requests(wish.files, kills)
    most = planned.dollars()
    console.print(
        f"{names.base} makes two buckets, two queues and a table of commits, lands {number_of(wish.files, 'file')}, "
        f"kills {kills} of its workers, and removes everything.\n"
        f"It spends at most ${most:.4f}: {planned.s3_writes:,} writes and {planned.s3_reads:,} reads of S3, "
        f"{planned.sqs:,} requests of SQS, {planned.dynamodb_writes:,} writes and {planned.dynamodb_reads:,} reads of "
        "DynamoDB, at the list prices of us-east-1.",
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
        return True
    remote = settings.spark if os.environ.get(REMOTE) else None
    chosen = ProofOptions(wish.files, wish.quick, wish.keep, wish.with_names, wish.home.resolve(), remote, planned)
    report = run_proof(settings, chosen, names, console)
    _show(console, report)
    _write(console, report, wish.report)
    return report.ok


def ask_person(question: str) -> bool:
    """Ask a person who is there.

    Raises:
        CommandError: nobody is there.
    """
    if not sys.stdin.isatty():
        raise CommandError("the run asks before it makes anything, and there is no terminal: add --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


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
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"tidegate-proof-{report.made:%Y%m%dT%H%M%SZ}"
    page, data = folder / f"{stem}.html", folder / f"{stem}.json"
    page.write_text(report.to_html(), encoding="utf-8")
    data.write_text(json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    shown = "names of buckets and the account" if report.hidden is None else "no account and no name"
    console.print(f"Open next: {page}, or {data} for programs. They have {shown}.", markup=False, soft_wrap=True)
