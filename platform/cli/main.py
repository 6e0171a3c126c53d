"""The command `tidegate`. Every error starts with one readable line; a trace follows where it helps."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.cli.aws_errors import explain_aws
from tidegate.platform.cli.environment import platform_hints
from tidegate.platform.cli.groups.catalog import catalogs
from tidegate.platform.cli.groups.changes import changes
from tidegate.platform.cli.groups.commits import commits
from tidegate.platform.cli.groups.demo import demos
from tidegate.platform.cli.groups.deployment import deployment
from tidegate.platform.cli.groups.inventory import inventories
from tidegate.platform.cli.groups.jars import jars
from tidegate.platform.cli.groups.migrate import migrations
from tidegate.platform.cli.groups.processes import processes
from tidegate.platform.cli.groups.questions import questions
from tidegate.platform.core.errors import TidegateError
from tidegate.platform.core.wording import first_line, show_controls
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.disk import explain_full_disk, is_full

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# `tidegate --help` lists the commands in this order. A group without a name is not a command of its own.
app.add_typer(demos, name="demo")
for _group in (processes, deployment, questions):
    app.add_typer(_group)
app.add_typer(inventories, name="inventory")
app.add_typer(catalogs, name="catalog")
app.add_typer(jars, name="jars")
app.add_typer(commits, name="commits")
app.add_typer(migrations, name="migrate")
app.add_typer(changes)


def _print_versions(wanted: bool) -> None:
    if wanted:
        from tidegate.platform.cli.commands.versions import version_lines

        print("\n".join(version_lines()))
        raise typer.Exit


@app.callback(help="S3 event notifications become Delta tables, as Dagster assets.")
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_versions,
            is_eager=True,
            help="Print the versions of everything that works together here.",
        ),
    ] = False,
) -> None:
    """Take the options of the program itself."""


def explain_error(error: Exception) -> str:
    """Return what an expected error says, and what to do.

    Without a way to AWS, no object is at fault, and the lake may be that of a local platform that does not run.
    """
    cause = error.__cause__ if isinstance(error, StoreError) else error
    if isinstance(cause, BotoCoreError):
        return "\n".join([explain_aws(cause), *platform_hints()])
    return explain_aws(error) if isinstance(error, ClientError) else str(error)


def _is_of_spark(error: Exception) -> bool:
    # Not imported here: commands that need no Spark would pay for it as much as for themselves.
    errors = sys.modules.get("pyspark.errors")
    return errors is not None and isinstance(error, errors.PySparkException)


def _run_app() -> None:
    try:
        app(standalone_mode=True)
    finally:
        # Otherwise Python writes what is left at its end, where nothing can explain an error.
        with suppress(BrokenPipeError, ValueError):
            if sys.stdout is not None:  # it was closed before the start
                sys.stdout.flush()


def _drop_output() -> None:
    """Let what is not yet written go nowhere: Python would try again at its end, and print a trace."""
    with suppress(OSError, ValueError, AttributeError):  # the output is not a file, or was closed before the start
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line."""
    for each in (signal.SIGINT, signal.SIGTERM):
        # A shell starts background jobs with SIGINT ignored, and Dagster gives SIGTERM whatever SIGINT has.
        signal.signal(each, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        # The terminal is gone: what was begun ends in order. `nohup` ignores the signal, and wants it to stay so.
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        _run_app()
    except (TidegateError, BotoCoreError, ClientError) as error:
        sys.exit(show_controls(f"error: {explain_error(error)}"))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if _is_of_spark(error):
            # The other lines of the message are a trace of the server.
            sys.exit(show_controls(f"error: {first_line(error)}"))
        if isinstance(error, OSError) and is_full(error):
            _drop_output()
            sys.exit(show_controls(f"error: {explain_full_disk(error)}"))
        print(show_controls(f"error: {first_line(error)}\n\n{traceback.format_exc()}"), end="", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
