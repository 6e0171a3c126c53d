"""Commands that show what is in the lake."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.platform.cli.options import AsJson, LakeFile, RunningHome, silver_names, table_names
from tidegate.platform.cli.terminal import command_console

questions = typer.Typer()


@questions.command()
def status(
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Show what waits, what is behind and what fails. Exit code 1 if something needs a person."""
    from tidegate.platform.cli.commands.status import run_status

    if not run_status(command_console(), lake, home, as_json=as_json):
        raise typer.Exit(1)


@questions.command()
def tail(
    lake: LakeFile = None,
    home: RunningHome = None,
    seconds: Annotated[
        float | None, typer.Option("--for", min=0, help="Seconds after which to end; default: at Ctrl-C.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow the lake: what waits, what is committed, quarantined and merged, and which runs fail."""
    from tidegate.platform.cli.commands.tail import run_tail

    run_tail(command_console(), lake, home, seconds=seconds, as_json=as_json)


@questions.command()
def sql(
    query: Annotated[str, typer.Argument(help='For example "SELECT * FROM bronze.flights VERSION AS OF 0".')],
    home: RunningHome = None,
    limit: Annotated[int, typer.Option(help="Maximum number of rows to print.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Query bronze.<table>, silver.<table>, ledger.<table> and inventory_as_of('<table>', '<day>')."""
    from tidegate.platform.cli.commands.sql import run_sql

    run_sql(command_console(), query, home, limit, as_json=as_json)


@questions.command()
def trace(
    address: Annotated[str, typer.Argument(help="s3://bucket/key of one object.")],
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Show where one object is: its event, batch, run and table version, or where it waits and why."""
    from tidegate.platform.cli.commands.object_trace import run_trace

    run_trace(command_console(), address, lake, home, as_json=as_json)


@questions.command()
def why(
    table: Annotated[
        str, typer.Argument(help="A silver table, for example silver.orders.", autocompletion=silver_names)
    ],
    key: Annotated[list[str], typer.Argument(help="order_id=42 for each part of the table's key.")],
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Show every bronze row of a silver key and what became of it. Exit code 1 if silver differs from bronze."""
    from tidegate.platform.cli.commands.why import run_why

    if not run_why(command_console(), table, key, lake, home, as_json=as_json):
        raise typer.Exit(1)


@questions.command()
def cost(
    table: Annotated[
        str, typer.Argument(help="SQL name, key or s3:// prefix; default: every table.", autocompletion=table_names)
    ] = "",
    months: Annotated[
        int | None, typer.Option(min=1, max=36, help="Number of months, this one among them; default: of lake.yaml.")
    ] = None,
    fresh: Annotated[
        int | None, typer.Option(min=0, help="Seconds by which settings may delay a row; default: of lake.yaml.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of tables.")] = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print what the tables cost, by month and service, and which settings would cost less."""
    from tidegate.platform.cli.commands.cost import CostsQuestion, run_cost
    from tidegate.platform.cli.environment import client

    using = client(home, lake)
    with using.open_lake() as opened:
        asked = CostsQuestion(table, months, fresh, limit)
        run_cost(command_console(), opened, using.settings.lake_yaml, asked, as_json=as_json)
