"""The command `tidegate commits`."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.platform.cli.options import LakeFile, RunningHome
from tidegate.platform.cli.terminal import command_console
from tidegate.platform.core.config.commits import Commits

commits = typer.Typer(no_args_is_help=True, help="How commits of Delta tables are coordinated.")


@commits.callback()
def commit() -> None:
    """Work with the way in which commits are coordinated."""


@commits.command()
def migrate(
    to: Annotated[Commits, typer.Option(help="How commits shall be coordinated: `lake.commits` of lake.yaml.")],
    yes: Annotated[
        bool, typer.Option("--yes", help="Settle what is pending. Without it, the command only looks.")
    ] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
) -> None:
    """Move a lake between DynamoDB and S3's conditional writes while it works, one step at a time."""
    from tidegate.platform.cli.commands.commits_migrate import run_migrate

    run_migrate(command_console(), to, lake, home, yes=yes)
