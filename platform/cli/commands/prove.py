"""`tidegate prove` proves Tidegate in an account or at an endpoint, and removes what it made."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.commands.spark import region_of
from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.roles.roles import policy
from tidegate.platform.core.wording import command, number_of, span
from tidegate.platform.lake.spark.remote import REMOTE
from tidegate.platform.prove.budget import plan_requests
from tidegate.platform.prove.names import RunNames
from tidegate.platform.prove.policy import prove_statements
from tidegate.platform.prove.report import Report
from tidegate.platform.prove.resources import Found, Left, Resources
from tidegate.platform.prove.run import ProofOptions, is_running, kills_of, run_proof

#: A run of another machine may still work for so long.
_MAY_RUN_SECONDS = 6 * 3600
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
        CannotMake: AWS refuses what the run needs.
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
    for each in report.left:
        console.print(f"left: {each.kind} {each.name}: {each.why}. Remove it: {each.command}", markup=False)
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


def run_clean(console: Console, home: Path, only: str | None) -> bool:
    """Remove what earlier runs left. Returns whether nothing of theirs is left.

    Args:
        home: folder of the runs' local files.
        only: id of one run, which is removed in any case.

    Raises:
        CannotMake: AWS refuses a list.
        CommandError: the run lives, on this machine.
    """
    settings = environment_settings()
    region_of(settings)
    resources = Resources(settings.aws)
    found, strange = resources.find()
    ids = sorted({each.mark.id for each in found if only in (None, each.mark.id)})
    if only is not None and is_running(home, only):
        raise CommandError(f"the run {only} lives on this machine: stop it with Ctrl-C, and it removes what it made")
    ended = [id for id in ids if only == id or _has_ended(console, home, id, found)]
    mine = [each for each in found if each.mark.id in ended]
    left = resources.remove(mine, lambda name: console.print(f"removing {name}", markup=False, highlight=False))
    for each in (*left, *(strange if only is None else ())):
        console.print(_left_line(each), markup=False, highlight=False, soft_wrap=True)
    console.print(f"{number_of(len(mine) - len(left), 'resource')} of {number_of(len(ended), 'run')} removed")
    return not left


def _has_ended(console: Console, home: Path, id: str, found: Collection[Found]) -> bool:
    lives = is_running(home, id)
    if lives is None:
        age = time.time() - min(each.mark.made for each in found if each.mark.id == id)
        if age > _MAY_RUN_SECONDS:
            return True
        why = f"began {span(age)} ago and may live on another machine: {command('prove', '--clean', '--run', id)}"
    elif lives:
        why = "lives on this machine"
    else:
        return True
    console.print(f"left: the run {id} {why}", markup=False, highlight=False, soft_wrap=True)
    return False


def _left_line(each: Left) -> str:
    return f"left: {each.kind} {each.name}: {each.why}. If it is yours: {each.command}"
