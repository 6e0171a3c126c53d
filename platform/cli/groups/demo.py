"""The command `tidegate demo` and its parts `events` and `storage`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Protocol

import typer

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.options import AwsPort, Home, Keep, Report, SparkPort, UiPort
from tidegate.platform.cli.terminal import command_console

demos = typer.Typer(invoke_without_command=True)


@demos.callback()
def demo(
    context: typer.Context,
    home: Home = Path(".tidegate/demo"),
    report: Report = None,
    keep: Keep = False,
    fresh: Annotated[bool, typer.Option(help="Delete the state of earlier runs first.")] = False,
    short: Annotated[bool, typer.Option(help="Use only sixty days of the year.")] = False,
    aws_port: AwsPort = 4566,
    spark_port: SparkPort = 15002,
    ui_port: UiPort = 3000,
) -> None:
    """Run real files through the pipeline, end to end on this machine. Exit code 1 unless every count is right."""
    if context.invoked_subcommand:
        _refuse_options_before(context)
        return
    from tidegate.platform.demo.deployment import Ports
    from tidegate.platform.demo.run import run_demo

    ports, console = Ports(aws_port, spark_port, ui_port), command_console(markup=True)
    _end(lambda: run_demo(home, console, report_path=report, keep=keep, fresh=fresh, short=short, ports=ports))


@demos.command()
def events(
    home: Home = Path(".tidegate/demo-events"),
    types: Annotated[int, typer.Option(min=5, max=200, help="Number of event types.")] = 200,
    objects: Annotated[int, typer.Option(min=200, help="Number of objects that have these types.")] = 20_000,
    report: Report = None,
    keep: Keep = False,
    aws_port: AwsPort = 4566,
    spark_port: SparkPort = 15002,
    ui_port: UiPort = 3000,
) -> None:
    """Run 200 event types into tables, topics and queues of this machine. Exit code 1 unless every count is right."""
    from tidegate.platform.demo.deployment import Ports
    from tidegate.platform.demo.events.run import run_events_demo

    ports, console = Ports(aws_port, spark_port, ui_port), command_console(markup=True)
    _end(
        lambda: run_events_demo(home, console, types=types, objects=objects, report_path=report, keep=keep, ports=ports)
    )


@demos.command()
def storage(
    home: Home = Path(".tidegate/demo-storage"),
    buckets: Annotated[int, typer.Option(min=91, help="Number of buckets.")] = 200,
    days: Annotated[int, typer.Option(min=6, help="Number of days; with fewer than 15 there is no forecast.")] = 30,
    report: Report = None,
    keep: Keep = False,
    aws_port: AwsPort = 4566,
    spark_port: SparkPort = 15002,
    ui_port: UiPort = 3000,
) -> None:
    """Run the inventories of 200 buckets over 30 days into one table. Exit code 1 unless every figure is right."""
    from tidegate.platform.demo.deployment import Ports
    from tidegate.platform.demo.storage.run import run_storage_demo

    ports, console = Ports(aws_port, spark_port, ui_port), command_console(markup=True)
    _end(
        lambda: run_storage_demo(home, console, buckets=buckets, days=days, report_path=report, keep=keep, ports=ports)
    )


class _Outcome(Protocol):
    @property
    def ok(self) -> bool: ...


def _end(run: Callable[[], _Outcome]) -> None:
    """Run a demo, and end with exit code 1 unless everything is right.

    Raises:
        CommandError: the demo's data is missing.
        UnavailableError: events were still on their way at the deadline.
    """
    from tidegate.platform.demo.source import SourceMissingError

    try:
        done = run()
    except SourceMissingError as error:
        raise CommandError(str(error)) from None
    if not done.ok:
        raise typer.Exit(1)


def _refuse_options_before(context: typer.Context) -> None:
    """Raise CommandError if options were given to a command in whose place one of its parts was called."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option, part = f"--{name.replace('_', '-')}", context.invoked_subcommand
            raise CommandError(f"{option} is before `{part}`: write tidegate {context.info_name} {part} {option}")
