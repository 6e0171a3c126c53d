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

from botocore.exceptions import ClientError
from pyspark.errors import PySparkException
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.aws_errors import explain_aws, is_denied
from tidegate.platform.cli.check.findings import Failed, Finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.commands.doctor import check_usable, commit_table, locations, uses_commit_table
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.commits import Commits, commits_of_class, log_store_class
from tidegate.platform.core.wording import command, first_line, number_of
from tidegate.platform.lake.aws.clients import Aws, caller
from tidegate.platform.lake.aws.commit_table import CommitTable
from tidegate.platform.lake.lake import Lake

Say = Callable[..., None]

#: What comes before everything else on the way to DynamoDB: the printed roles of a lake with `s3` have nothing of it.
_PERMIT = (
    "give the server's role the DynamoDB statements of `tidegate policy spark`, and yours those of `tidegate policy "
    "operator`, of a copy of lake.yaml with `commits: dynamodb`"
)


@dataclass(frozen=True)
class TableReview:
    """What is known of one table.

    Attributes:
        problem: why the lake cannot move yet; empty if this table is ready.
        detail: what was found.
        kept: evidence of a commit that is possibly lost, which stays; empty if there is none.
        through_dynamodb: when the last commit with an entry was published, in epoch seconds; None if there is none.
        without_dynamodb: when the last commit without an entry was published, within the TTL of entries.
    """

    problem: str = ""
    detail: str = ""
    kept: str = ""
    through_dynamodb: float | None = None
    without_dynamodb: float | None = None


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
        through, without = self._doctor.last_commits(location)
        return TableReview(
            problem="" if entries.ok else entries.detail,
            detail=entries.detail,
            kept="" if staged.ok else staged.detail,
            through_dynamodb=through,
            without_dynamodb=without,
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
        entries = _entries(opened, using.settings.aws)
        if yes:
            opened.store.operations.put(f"commits migrate --to {to}", caller(using.settings.aws))
        reviews = list(_review_tables(opened, entries, to, say, yes=yes))
        problems = sum(bool(review.problem) for review in reviews)
        if problems and yes:
            permit = f"; if permissions are missing, {_PERMIT}" if to == "dynamodb" else ""
            raise CommandError(f"{number_of(problems, 'table')} cannot move to {to} yet: the reasons are above{permit}")
        if not yes:
            again = command("commits", "migrate", "--to", to, "--yes")
            ready = f", and settles what can be settled of {number_of(problems, 'table')}" if problems else ""
            permit = f" {_PERMIT}, then" if to == "dynamodb" and opened.config.lake.commits != to else ""
            say(f"\nNothing was changed. The next step:{permit} {again}{ready}", "bold")
            return
        if to == "dynamodb":
            _require_table(entries)
        for line in next_steps(opened.config.lake.commits, opened.delta.log_store, to, str(opened.delta.remote)):
            say(line, "bold")
        say(_last_commit(reviews, to))


def _require_our_store(opened: Lake) -> None:
    store = opened.delta.log_store
    if commits_of_class(store) is None:
        raise CommandError(
            f"the server commits by {store or 'Delta’s own store for one driver'}, next to which neither of Tidegate's "
            f"log stores is safe: give it {log_store_class('dynamodb')} first (docs/operate/log-store.md)"
        )


def _entries(opened: Lake, aws: Aws) -> CommitTable:
    """Return the DynamoDB table of the server's settings, whether it exists or not.

    Raises:
        CommandError: the settings name no region, or the caller may not look into the table.
        ClientError: DynamoDB refuses the request for another reason.
    """
    try:
        entries = commit_table(opened.delta, aws)
        if entries.state() is not None:
            entries.newest_entry(opened.store.uri("_tidegate-check"))
    except Failed as problem:
        raise CommandError(str(problem)) from None
    except ClientError as error:
        if is_denied(error):
            raise CommandError(f"{explain_aws(error)}: {_PERMIT} (docs/operate/log-store.md)") from None
        raise
    return entries


def _review_tables(opened: Lake, entries: CommitTable, to: Commits, say: Say, *, yes: bool) -> Iterator[TableReview]:
    # After a move to S3 nobody reads entries. Before a move to DynamoDB the server does not yet.
    used = to == "dynamodb" and uses_commit_table(opened.delta)
    doctor = LogDoctor(opened.store.objects, entries, used=used)
    if entries.state() is None and (to == "s3" or not yes):
        means = (
            "--yes creates it"
            if to == "dynamodb"
            else "nothing is pending, if the server has the ddb.* settings with which the lake used DynamoDB"
        )
        say(f"DynamoDB table {entries.name}: there is none in {entries.where}; {means}")
        return

    def settle(location: str) -> None:
        # A server that moves to DynamoDB shows that its role has the permissions, and creates the table.
        if to == "dynamodb" or doctor.has_pending(location):
            opened.delta.settle_commits(location)

    migration = TableMigration(doctor, settle)
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
        check_usable(entries)
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
            "before a server starts, its role needs the DynamoDB statements of `tidegate policy spark` for that file"
            if to == "dynamodb"
            else "leave the DynamoDB statements in the server's role, and its ddb.* settings, until the move is done"
        )
        alone = [
            "first: nobody may have Delta's own store or deltalake up to 1.6.0 at a table of this lake, also to read "
            "only: a reader may overwrite a commit. This command sees only those that commit, and did so within the TTL"
        ]
        return [
            *(alone if to == "s3" else []),
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


def _last_commit(reviews: list[TableReview], to: Commits) -> str:
    """Return when somebody last committed in the way that the lake leaves, and what that means."""
    leaves = "through" if to == "s3" else "without"
    every = [review.through_dynamodb if to == "s3" else review.without_dynamodb for review in reviews]
    times = [at for at in every if at is not None]
    ago = max(0.0, time.time() - max(times, default=0.0)) / 60
    found = (
        f"the last commit {leaves} DynamoDB was {ago:.0f} minutes ago: if the last server was restarted before that, "
        f"another writer still commits {leaves} it"
        if times
        else f"no commit of these tables went {leaves} DynamoDB within its TTL"
    )
    if to == "s3":
        return found
    return (
        f"{found}. Delta's own store and deltalake up to 1.6.0 may share a table when every server has "
        f"{log_store_class(to)}, and no writer with only conditional writes is left"
    )
