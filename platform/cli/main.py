"""The command `tidegate`. Every error starts with one readable line; a trace follows where it helps."""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.errors import PySparkException
from typer.core import TyperGroup

from tidegate.platform.cli.catalog.command import catalogs
from tidegate.platform.cli.check.findings import explain_aws
from tidegate.platform.cli.costs.command import cost
from tidegate.platform.cli.demos import demos
from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.command import inventories
from tidegate.platform.cli.options import AsJson, AwsPort, Home, LakeFile, PlanAsJson, RunningHome, SparkPort, UiPort
from tidegate.platform.cli.terminal import command_console
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.core.first_line import first_line, visible
from tidegate.platform.local.errors import LocalStackError
from tidegate.resources.aws.s3 import StoreError
from tidegate.resources.spark.session import SparkUnreachable


class _DemoFirst(TyperGroup):
    """The commands in their order in this module. Typer by itself lists commands that have parts after the others."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: name != "demo")


app = typer.Typer(
    cls=_DemoFirst,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="S3 event notifications become Delta tables, as Dagster assets.",
)

#: Errors that are printed without a trace.
_EXPECTED = (CommandError, LocalStackError, LakeConfigError, SparkUnreachable, StoreError)


for _commands, _name in ((demos, "demo"), (inventories, "inventory"), (catalogs, "catalog")):
    app.add_typer(_commands, name=_name)
app.command()(cost)


@app.command()
def up(
    lake: LakeFile = None,
    home: Home = Path(".tidegate/local"),
    aws_port: AwsPort = 4566,
    spark_port: SparkPort = 15002,
) -> None:
    """Run the local platform (AWS emulator, Spark) for your own lake.yaml until Ctrl-C."""
    from tidegate.platform.cli.commands.stack import run_stack

    run_stack(command_console(), _lake(lake), home, aws_port=aws_port, spark_port=spark_port, ui_port=None)


@app.command()
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

    run_stack(
        command_console(),
        _lake(lake),
        home,
        aws_port=aws_port,
        spark_port=spark_port,
        ui_port=ui_port,
        workspace=workspace,
    )


@app.command()
def dagster_yaml(
    guest: Annotated[
        bool, typer.Option("--guest", help="Print what to add to an instance that others use too. It limits no others.")
    ] = False,
) -> None:
    """Print the dagster.yaml that Tidegate is tested with, for the DAGSTER_HOME of your own deployment."""
    from tidegate.platform.local.dagster_processes import GUEST_CONFIG, INSTANCE_CONFIG

    print((GUEST_CONFIG if guest else INSTANCE_CONFIG).read_text(encoding="utf-8"), end="")


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help='For example "SELECT * FROM bronze.flights VERSION AS OF 0".')],
    home: RunningHome = None,
    limit: Annotated[int, typer.Option(help="Maximum number of rows to print.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Query bronze.<table>, silver.<table>, ledger.<table> and inventory_as_of('<table>', '<day>')."""
    from tidegate.platform.cli.commands.sql import run_sql

    run_sql(command_console(), query, home, limit, as_json=as_json)


@app.command()
def check(
    address: Annotated[str | None, typer.Argument(help="s3://bucket/key: print which table takes it, and why.")] = None,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Check that the configuration is valid, that everything can be reached, and which permissions are missing."""
    from tidegate.platform.cli.check.check import run_check

    if not run_check(command_console(), lake, home, address, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def status(
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Show what waits, what is behind and what fails. Exit code 1 if something needs a person."""
    from tidegate.platform.cli.health.status import run_status

    if not run_status(command_console(), lake, home, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def tail(
    lake: LakeFile = None,
    home: RunningHome = None,
    seconds: Annotated[
        float | None, typer.Option("--for", min=0, help="Seconds after which to end; default: at Ctrl-C.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow the lake: what waits, what is committed, quarantined and merged, and which runs fail."""
    from tidegate.platform.cli.health.tail import run_tail

    run_tail(command_console(), lake, home, seconds=seconds, as_json=as_json)


@app.command()
def webhook(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on, 0 for a free one.")] = 8080,
    lake: LakeFile = None,
    home: RunningHome = None,
) -> None:
    """Take webhooks into the row queues of your lake.yaml until Ctrl-C or SIGTERM."""
    from tidegate.platform.cli.commands.webhook import run_webhook

    run_webhook(command_console(), lake, home, host, port)


@app.command()
def alarms(lake: LakeFile = None) -> None:
    """Print a CloudFormation template with the alarms of your lake.yaml, which must have `metrics: cloudwatch`."""
    from tidegate.platform.cli.commands.alarms import run_alarms

    run_alarms(_lake(lake))


@app.command()
def policy(
    role: Annotated[str, typer.Argument(help="dagster, spark, operator (the person who runs commands), or webhook.")],
    lake: LakeFile = None,
) -> None:
    """Print the IAM policy that a role needs for your lake.yaml."""
    from tidegate.platform.cli.commands.policies import run_policy

    run_policy(role, _lake(lake))


@app.command()
def subscribe(
    route: Annotated[str, typer.Argument(help="Name of a route of your lake.yaml.")],
    account: Annotated[str, typer.Option(help="AWS account of the team that wants the events.")],
    queue: Annotated[str, typer.Option(help="Name of the team's queue; default: made of the destination.")] = "",
    types: Annotated[str, typer.Option(help="Event types, separated by commas; default: those of the route.")] = "",
    lake: LakeFile = None,
) -> None:
    """Print the policies and calls with which another team gets the events of a route."""
    from tidegate.platform.cli.commands.subscribe import run_subscribe

    run_subscribe(route, account, queue, types, _lake(lake))


@app.command()
def trace(
    address: Annotated[str, typer.Argument(help="s3://bucket/key of one object.")],
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Show where one object is: its event, batch, run and table version, or where it waits and why."""
    from tidegate.platform.cli.commands.object_trace import run_trace

    run_trace(command_console(), address, lake, home, as_json=as_json)


@app.command()
def why(
    table: Annotated[str, typer.Argument(help="A silver table, for example silver.orders.")],
    key: Annotated[list[str], typer.Argument(help="order_id=42 for each part of the table's key.")],
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Show every bronze row of a silver key and what became of it. Exit code 1 if silver differs from bronze."""
    from tidegate.platform.cli.commands.why import run_why

    if not run_why(command_console(), table, key, lake, home, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def infer(
    address: Annotated[str, typer.Argument(help="s3://bucket/prefix, or a folder of this machine.")],
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Print a first lake.yaml, inferred from existing files. Exit code 1 if some files could not be loaded."""
    from tidegate.platform.cli.commands.infer import run_infer

    if not run_infer(command_console(), address, home, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def doctor(
    lake: LakeFile = None,
    home: RunningHome = None,
    repair: Annotated[
        bool, typer.Option(help="First settle what dead writers left, and delete old staged commits.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check which log store is active and that every table's log is in order. Exit code 1 if not."""
    from tidegate.platform.cli.doctor.doctor import run_doctor

    if not run_doctor(command_console(), lake, home, repair=repair, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def reset(
    table: Annotated[str, typer.Argument(help="SQL name, key or s3:// prefix of the table.")],
    yes: Annotated[bool, typer.Option("--yes", help="Apply the change. Without it, print the plan only.")] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Reset even if S3 no longer has the objects of some rows.")
    ] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Start a table over from the files under its prefix, after a wrong first load or a batch that can never commit."""
    from tidegate.platform.cli.commands.reset import run_reset

    run_reset(command_console(), table, lake, home, yes=yes, accept_loss=accept_loss, as_json=as_json)


@app.command()
def rebuild(
    table: Annotated[str, typer.Argument(help="SQL name, key or s3:// prefix of the table; or silver.<name>.")],
    from_batch: Annotated[
        int | None, typer.Option(help="Of silver.<name>, compute only keys with a row of this batch or later.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Apply the change. Without it, print the plan only.")] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Read a loaded table's files, or compute silver.<name>, again by today's lake.yaml. Readers never see it empty."""
    from tidegate.platform.cli.commands.rebuild import run_rebuild

    run_rebuild(command_console(), table, lake, home, yes=yes, since=from_batch, as_json=as_json)


@app.command()
def forget(
    subjects: Annotated[
        list[str] | None, typer.Argument(help="Identities of the persons, as the tables have them.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with identities, one in each line.")] = None,
    kind: Annotated[str, typer.Option(help="Kind of the persons: `personal.kind` of lake.yaml.")] = "person",
    yes: Annotated[bool, typer.Option("--yes", help="Apply the change. Without it, print the plan only.")] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Forget persons: delete their rows, and keep them out for ever. Without persons, show or work off the requests."""
    from tidegate.platform.cli.forgetting.forget import run_forget

    run_forget(command_console(), subjects or [], file, kind, lake, home, yes=yes, as_json=as_json)


@app.command()
def maintain(
    table: Annotated[
        str | None,
        typer.Argument(help="SQL name, key or s3:// prefix of the table; or silver.<name>. Default: everything."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Apply the change. Without it, print the plan only.")] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Merge small files, write checkpoints, and delete what no version of a table needs."""
    from tidegate.platform.cli.maintenance.maintain import run_maintain

    run_maintain(command_console(), table, lake, home, yes=yes, as_json=as_json)


@app.command()
def redrive(
    table: Annotated[str | None, typer.Argument(help="SQL name, key or s3:// prefix; default: every table.")] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="Redrive messages that could not be parsed, instead of objects.")
    ] = False,
    dlq: Annotated[
        bool,
        typer.Option(
            "--dlq", help="Redrive messages of dead-letter queues, instead of objects. The argument is a queue."
        ),
    ] = False,
    route: Annotated[
        str | None, typer.Option(help="Redrive messages that the destination of this route did not take.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Only entries whose reason contains this text.")] = "",
    key: Annotated[str, typer.Option(help="Glob over object keys, or over event ids of messages.")] = "*",
    since: Annotated[
        str, typer.Option(help="Quarantined at or after this ISO 8601 time; with --dlq, the time of the event.")
    ] = "",
    until: Annotated[
        str, typer.Option(help="Quarantined before this ISO 8601 time; with --dlq, the time of the event.")
    ] = "",
    rate: Annotated[int, typer.Option(min=1, help="Objects or messages per second.")] = 500,
    yes: Annotated[bool, typer.Option("--yes", help="Apply the change. Without it, print the plan only.")] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Retry quarantined objects or messages, or dead letters, after you have fixed the cause."""
    from tidegate.platform.cli.commands.redrive import Kind, choice_of, run_redrive

    if sum((dlq, messages, route is not None)) > 1:
        raise CommandError("--messages, --dlq and --route exclude each other: give one of them")
    if route is not None and table is not None:
        raise CommandError("--route redrives messages of a route, not of a table: leave the argument out")
    flags = {Kind.ROUTE: route is not None, Kind.DEAD_LETTERS: dlq, Kind.MESSAGES: messages}
    kind = next((kind for kind, given in flags.items() if given), Kind.OBJECTS)
    choice = choice_of(reason, key, since, until)
    run_redrive(command_console(), kind, route or table, choice, lake, home, rate=rate, yes=yes, as_json=as_json)


def main() -> None:
    """Entry point."""
    for each in (signal.SIGINT, signal.SIGTERM):
        # A shell starts background jobs with SIGINT ignored, and Dagster gives SIGTERM whatever SIGINT has.
        signal.signal(each, signal.default_int_handler)
    try:
        app(standalone_mode=True)
    except _EXPECTED as error:
        sys.exit(visible(f"error: {error}"))
    except (BotoCoreError, ClientError) as error:
        sys.exit(visible(f"error: {explain_aws(error)}"))
    except PySparkException as error:
        # The other lines of the message are a trace of the server.
        sys.exit(visible(f"error: {first_line(error)}"))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        print(visible(f"error: {first_line(error)}\n\n{traceback.format_exc()}"), end="", file=sys.stderr)
        sys.exit(1)


def _lake(given: Path | None) -> Path:
    return given or environment_settings().lake_yaml


if __name__ == "__main__":
    main()
