"""Commands that run until Ctrl-C: the local platform, and the servers of Spark and of webhooks."""

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
def spark(
    lake: LakeFile = None,
    home: Annotated[Path, typer.Option(help="Folder for the server's files.")] = Path(".tidegate/spark"),
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server.")] = 15002,
    health_host: Annotated[str, typer.Option(help="Address of /readyz and /livez.")] = "127.0.0.1",
    health_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of /readyz and /livez, 0 for a free one.")
    ] = 15003,
    master: Annotated[
        str, typer.Option(help="Spark's master: this machine, or spark://…, k8s://… or yarn.")
    ] = "local[*]",
    memory: Annotated[
        str | None, typer.Option(help="Heap, such as 6g; default: half of the memory of the machine or container.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(help="A further setting, spark.name=value; may be given again.")
    ] = None,
    conf_file: Annotated[
        Path | None,
        typer.Option(help="A file of settings, spark.name=value, one a line, which nobody else can read."),
    ] = None,
    idle: Annotated[
        int | None, typer.Option(min=1, help="Seconds without a client after which the server ends; default: never.")
    ] = None,
    print_for: Annotated[
        Path | None,
        typer.Option(
            "--print",
            metavar="FOLDER",
            help="Only print the settings for a server that you start, with the jars in this folder.",
        ),
    ] = None,
) -> None:
    """Run a Spark Connect server for your lake on AWS until Ctrl-C or SIGTERM, or until nobody uses it."""
    from tidegate.platform.cli.commands.spark import parse_settings, print_settings, read_settings, run_spark
    from tidegate.platform.local.spark.deployment_server import DeployedSettings, default_memory

    if print_for is not None:
        print_settings(print_for, lake)
        return
    more = read_settings(conf_file) | parse_settings(conf or ())
    wanted = DeployedSettings("", None, host, port, master, memory or default_memory(), more)
    run_spark(command_console(), lake, home, wanted, health_host, health_port, idle)


@processes.command()
def intake(
    health_host: Annotated[str, typer.Option(help="Address of /readyz and /livez.")] = "127.0.0.1",
    health_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of /readyz and /livez, 0 for a free one.")
    ] = 0,
    lake: LakeFile = None,
    home: RunningHome = None,
) -> None:
    """Drain the queues of your lake.yaml, as one of several processes, until Ctrl-C or SIGTERM."""
    from tidegate.platform.cli.commands.intake import run_intake

    run_intake(command_console(), lake, home, health_host, health_port)


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
