"""`tidegate catalog sync` brings the Glue Data Catalog in step. Without --yes it prints what would change."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.text import Text

from tidegate.platform.catalog import CatalogSync, sync_catalog
from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import CatalogEntryAnswer, CatalogSyncAnswer, refuse_to_apply
from tidegate.platform.cli.aws_errors import explain_aws
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.lake.lake import Lake


def run_sync(console: Console, lake: Lake, *, yes: bool, as_json: bool = False) -> None:
    """Print the differences, and write what the tables say.

    Args:
        yes: write. Without it, only the differences are printed.
        as_json: print only the differences, as one JSON object.

    Raises:
        CommandError: lake.yaml has no `catalog`, an entry cannot be as it should be, or `as_json` and `yes` are given
            together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)
    try:
        done = sync_catalog(lake, dry_run=not yes)
    except ValueError as error:
        raise CommandError(str(error)) from None
    except (BotoCoreError, ClientError) as error:
        raise CommandError(explain_aws(error)) from None
    if as_json:
        print_answer(console, _answer(done))
    else:
        _print(console, done, yes=yes)
    if done.failed:
        raise CommandError(f"{len(done.failed)} entries are not as they should be: the reasons are above")


def _print(console: Console, done: CatalogSync, *, yes: bool) -> None:
    for change in done.changes:
        console.print(Text(str(change), style="red" if change.failed else ""))
    good = len(done.changes) - len(done.failed)
    if not done.changes:
        console.print(Text(f"nothing to do: {done.entries} entries are in step"))
    elif yes:
        console.print(Text(f"{good} of {done.entries} entries changed", style="bold"))
    else:
        console.print(Text(f"{good} would change. With --yes they are written", style="bold"))


def _answer(done: CatalogSync) -> CatalogSyncAnswer:
    changes = (CatalogEntryAnswer(entry=each.entry, what=each.what, failed=each.failed) for each in done.changes)
    return CatalogSyncAnswer(entries=done.entries, changes=tuple(changes))
