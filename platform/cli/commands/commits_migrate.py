"""`tidegate commits migrate` moves a lake between its two log stores. Without --yes it only looks.

The two stores lose nothing next to each other (docs/internals/log-store-tests.md), so servers change one after another,
while all of them work. The command does what they leave: it settles what is pending in DynamoDB, refuses what would not
be safe afterwards, and says the next step. It is repeated until there is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.check.findings import Failed, Finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.commands.doctor import check_table, commit_table, locations, uses_commit_table
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.commits import Commits, commits_of_class, log_store_class
from tidegate.platform.core.wording import command, first_line, number_of
from tidegate.platform.lake.aws.clients import Aws, caller
from tidegate.platform.lake.aws.commit_table import CommitTable
from tidegate.platform.lake.lake import Lake

Say = Callable[..., None]


@dataclass(frozen=True)
class TableReview:
    """What is known of one table.

    Attributes:
        problem: why the lake cannot move yet; empty if this table is ready.
        detail: what was found.
        kept: evidence of a commit that is possibly lost, which stays; empty if there is none.
        through_dynamodb: when the last commit with an entry was published, in epoch seconds; None if there is none.
    """

    problem: str = ""
    detail: str = ""
    kept: str = ""
    through_dynamodb: float | None = None


class TableMigration:
    """Settles the entries of tables, and says which table is not ready.

    Args:
        doctor: reads entries and logs, and closes old entries.
        settle: settles the newest entry of the table at a location, with the protocol of the log store.
    """

    def __init__(self, doctor: LogDoctor, settle: Callable[[str], object]) -> None:
        self._doctor = doctor
        self._settle = settle

    def prepare(self, location: str) -> TableReview:
        """Settle what is pending, and close what dead writers left open. Evidence is kept. Then look."""
        try:
            self._settle(location)
            self._doctor.close(location)
        except PySparkException as error:
            return TableReview(first_line(error))
        except Failed as problem:  # entries under spellings that do not see each other
            return TableReview(str(problem))
        return self.look(location)

    def look(self, location: str) -> TableReview:
        """Look, and change nothing."""
        found = {finding.check: finding for finding in self._doctor.examine("", location)}
        entries, staged = found[Check.LOG_ENTRIES], found[Check.LOG_STAGED]
        return TableReview(
            problem="" if entries.ok else entries.detail,
            detail=entries.detail,
            kept="" if staged.ok else staged.detail,
            through_dynamodb=self._doctor.last_through_dynamodb(location),
        )


def run_migrate(console: Console, to: Commits, lake: Path | None, home: Path | None, *, yes: bool) -> None:
    """Do the next step of a move, or say what it is.

    Args:
        to: how commits shall be coordinated.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: settle and close entries, and create the DynamoDB table if it is needed and missing.

    Raises:
        CommandError: the lake cannot move: the reasons are printed.
    """

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style))

    using = client(home, lake)
    with using.open_lake() as opened:
        _require_our_store(opened)
        entries = _entries(opened, using.settings.aws, to)
        if yes:
            opened.store.operations.put(f"commits migrate --to {to}", caller(using.settings.aws))
        reviews = [] if entries is None else list(_review_tables(opened, entries, to, say, yes=yes))
        problems = sum(bool(review.problem) for review in reviews)
        if problems and yes:
            raise CommandError(f"{number_of(problems, 'table')} cannot move to {to} yet: the reasons are above")
        if not yes:
            again = command("commits", "migrate", "--to", to, "--yes")
            ready = f", and settles what can be settled of {number_of(problems, 'table')}" if problems else ""
            say(f"\nNothing was changed. The next step: {again}{ready}", "bold")
            return
        if entries is not None and to == "dynamodb":
            _require_table(entries)
        for line in next_steps(opened.config.lake.commits, opened.delta.log_store, to, str(opened.delta.remote)):
            say(line, "bold")
        if to == "s3":
            say(_last_commit(reviews))


def _require_our_store(opened: Lake) -> None:
    store = opened.delta.log_store
    if commits_of_class(store) is None:
        raise CommandError(
            f"the server commits by {store or 'Delta’s own store for one driver'}, next to which neither of Tidegate's "
            f"log stores is safe: give it {log_store_class('dynamodb')} first (docs/operate/log-store.md)"
        )


def _entries(opened: Lake, aws: Aws, to: Commits) -> CommitTable | None:
    """Return the DynamoDB table of the server's settings; None if a move to S3 finds none, so nothing is pending.

    Raises:
        CommandError: the settings name no region.
        ClientError: DynamoDB refuses the request.
    """
    try:
        entries = commit_table(opened.delta, aws)
    except Failed as problem:
        raise CommandError(str(problem)) from None
    return None if to == "s3" and entries.state() is None else entries


def _review_tables(opened: Lake, entries: CommitTable, to: Commits, say: Say, *, yes: bool) -> Iterator[TableReview]:
    # After a move to S3 nobody reads entries. Before a move to DynamoDB the server does not yet.
    used = to == "dynamodb" and uses_commit_table(opened.delta)
    migration = TableMigration(LogDoctor(opened.store.objects, entries, used=used), opened.delta.settle_commits)
    if entries.state() is None and not yes:
        say(f"DynamoDB table {entries.name}: there is none in {entries.where}; --yes creates it")
        return
    for found in locations(opened):
        if isinstance(found, Finding):
            review, name = TableReview(found.detail), found.subject
        else:
            name, location = found
            review = migration.prepare(location) if yes else migration.look(location)
        if review.problem:
            say(f"{name}: {review.problem}", "red")
        else:
            say(f"{name}: ready, {review.detail}")
        if review.kept:
            say(f"{name}: kept, {review.kept}", "yellow")
        yield review


def _require_table(entries: CommitTable) -> None:
    """Check the table that the lake moves to. It was created with the first table that was settled.

    Raises:
        CommandError: its items never expire, or it is not active.
    """
    if entries.state() is None:
        return  # The lake has no table yet: the first commit creates it.
    try:
        check_table(entries)
    except Failed as problem:
        raise CommandError(f"DynamoDB table {entries.name}: {problem}") from None


def next_steps(commits: Commits, log_store: str, to: Commits, server: str) -> list[str]:
    """Return what a person does next, one line each.

    Args:
        commits: the value in lake.yaml.
        log_store: class of the server's log store.
        to: where the lake moves.
        server: the server's address.
    """
    wanted = log_store_class(to)
    again = f"then repeat `{command('commits', 'migrate', '--to', to, '--yes')}`"
    if commits != to:
        roles = (
            "give the server's role the DynamoDB statements of `tidegate policy spark` for that file, before it starts"
            if to == "dynamodb"
            else "leave the DynamoDB statements in the server's role until the move is done"
        )
        return [
            f"next: write `commits: {to}` under `lake` in lake.yaml, and restart Dagster's code location; {roles}",
            f"then restart the Spark servers one after another (`tidegate spark` takes {wanted}); {again}",
        ]
    if log_store != wanted:
        return [f"next: restart the Spark server {server} with {wanted} (`tidegate spark` takes it); {again}"]
    lines = [f"done: lake.yaml and the server {server} have `commits: {to}`; nothing of this lake is pending"]
    if to == "s3":
        lines.append(
            "next: repeat this at every other server of the lake (SPARK_REMOTE); then take DynamoDB out of the roles "
            "(`tidegate policy`, `tidegate stack`). Keep the table while another lake or writer uses it"
        )
    else:
        lines.append("next: repeat this at every other server of the lake (SPARK_REMOTE), then run `tidegate doctor`")
    return lines


def _last_commit(reviews: list[TableReview]) -> str:
    times = [review.through_dynamodb for review in reviews if review.through_dynamodb is not None]
    if not times:
        return "no commit of these tables went through DynamoDB within its TTL"
    minutes = max(0.0, time.time() - max(times)) / 60
    return (
        f"the last commit through DynamoDB was {minutes:.0f} minutes ago: if the last server was restarted before "
        "that, another writer still commits through it"
    )
