"""The command `tidegate jars`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.platform.cli.terminal import command_console

jars = typer.Typer(no_args_is_help=True, help="The jars of a Spark server.")


@jars.callback()
def jar_files() -> None:
    """Work with the jars that a Spark server needs, next to those of PySpark."""


@jars.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Folder for the class path of a Spark server; made if it is missing.")],
    log_store: Annotated[
        bool,
        typer.Option("--log-store", help="Only the log stores, for a Spark that has its own Delta and hadoop-aws."),
    ] = False,
    spark: Annotated[str, typer.Option(help="The first two numbers of the server's Spark: 4.1 or 4.2.")] = "4.2",
) -> None:
    """Copy the jars to a folder, for the class path of a Spark server. A folder that has other jars is refused."""
    from tidegate.platform.cli.commands.jars_export import run_export

    run_export(command_console(), folder, spark=spark, log_store=log_store)
