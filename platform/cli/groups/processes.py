"""Commands that run until Ctrl-C: the local platform, and the server of webhooks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.platform.cli.options import AwsPort, Home, LakeFile, RunningHome, SparkPort, UiPort
from tidegate.platform.cli.terminal import command_console

processes = typer.Typer()


@processes.command()
def up(
    lake: LakeFile = None,
    home: Home = Path(".tidegate/local"),
    aws_port: AwsPort = 4566,
    spark_port: SparkPort = 15002,
) -> None:
    """Run the local platform (AWS emulator, Spark) for your own lake.yaml until Ctrl-C."""
    from tidegate.platform.cli.commands.stack import run_stack
    from tidegate.platform.cli.environment import lake_file

    run_stack(command_console(), lake_file(lake), home, aws_port=aws_port, spark_port=spark_port, ui_port=None)


@processes.command()
def dev(
    lake: LakeFile = None,
    home: Home = Path(".tidegate/local"),
    aws_port: AwsPort = 4566,
    spark_port: SparkPort = 15002,
    ui_port: UiPort = 3000,
    workspace: Annotated[
        Path | None, typer.Option(help="A workspace.yaml with code locations of your own to serve too.")
    ] = None,
) -> None:
    """Run the local platform (AWS emulator, Spark) with Dagster's daemon and UI for your own lake.yaml."""
    from tidegate.platform.cli.commands.stack import run_stack
    from tidegate.platform.cli.environment import lake_file

    run_stack(
        command_console(),
        lake_file(lake),
        home,
        aws_port=aws_port,
        spark_port=spark_port,
        ui_port=ui_port,
        workspace=workspace,
    )


@processes.command()
def webhook(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port for the senders, 0 for a free one.")] = 8080,
    operations_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of /readyz and /metrics for operators, 0 for a free one.")
    ] = 8081,
    lake: LakeFile = None,
    home: RunningHome = None,
) -> None:
    """Take webhooks into the row queues of your lake.yaml until Ctrl-C or SIGTERM."""
    from tidegate.platform.cli.commands.webhook import run_webhook

    run_webhook(command_console(), lake, home, host, (port, operations_port))
