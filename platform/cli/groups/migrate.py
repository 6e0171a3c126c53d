"""The command `tidegate migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.platform.cli.options import AsJson
from tidegate.platform.cli.terminal import command_console

migrations = typer.Typer(no_args_is_help=True, help="From another tool to a lake: a plan, and nothing is changed.")


@migrations.callback()
def migrate() -> None:
    """Plan how a lake takes the place of another tool."""


@migrations.command()
def oxbow(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="What `terraform show -json` or `terraform state pull` printed, .tf and .tfvars files, or a folder "
            "of a Terraform project."
        ),
    ],
    tables: Annotated[
        Path | None,
        typer.Option(help="A file that names one Delta table on each line, s3://bucket/folder/; - is standard input."),
    ] = None,
    root: Annotated[str | None, typer.Option(help="The lake's root, s3://bucket/path; default: a proposal.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write lake.yaml to this new file, and print the plan only.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the lake.yaml that takes the place of oxbow, what becomes of each part, and the order of the switch."""
    from tidegate.platform.cli.commands.migrate_oxbow import run_migrate_oxbow

    complete = run_migrate_oxbow(command_console(), paths, tables, root, output, as_json=as_json)
    raise typer.Exit(0 if complete else 1)
