"""The command `tidegate catalog`."""

from __future__ import annotations

import typer

from tidegate.platform.cli.options import AsJson, LakeFile, PlanAsJson, RunningHome, WriteChanges
from tidegate.platform.cli.terminal import command_console

catalogs = typer.Typer(no_args_is_help=True, help="The tables in the AWS Glue Data Catalog.")


@catalogs.callback()
def catalog() -> None:
    """Work with the entries of the tables in the AWS Glue Data Catalog."""


@catalogs.command()
def sync(
    yes: WriteChanges = False,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: PlanAsJson = False,
) -> None:
    """Bring the entries in step with the tables, and delete entries of tables that are gone."""
    from tidegate.platform.cli.commands.catalog_sync import run_sync
    from tidegate.platform.cli.environment import client

    with client(home, lake).open_lake() as opened:
        run_sync(command_console(), opened, yes=yes, as_json=as_json)


@catalogs.command()
def readers(
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print which engines can read each table, and which feature of a table forbids it."""
    from tidegate.platform.cli.commands.catalog_readers import run_readers
    from tidegate.platform.cli.environment import client

    with client(home, lake).open_lake() as opened:
        run_readers(command_console(), opened, as_json=as_json)
