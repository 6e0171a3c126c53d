"""The command `tidegate`. Every error starts with one readable line; a trace follows where it helps."""

from __future__ import annotations

import signal
import sys
import traceback

import typer
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.errors import PySparkException

from tidegate.platform.cli.check.findings import explain_aws
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.groups.catalog import catalogs
from tidegate.platform.cli.groups.changes import changes
from tidegate.platform.cli.groups.demo import demos
from tidegate.platform.cli.groups.deployment import deployment
from tidegate.platform.cli.groups.inventory import inventories
from tidegate.platform.cli.groups.processes import processes
from tidegate.platform.cli.groups.questions import questions
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.core.first_line import first_line, visible
from tidegate.platform.local.errors import LocalStackError
from tidegate.resources.aws.s3 import StoreError
from tidegate.resources.spark.unreachable import SparkUnreachable

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="S3 event notifications become Delta tables, as Dagster assets.",
)

#: Errors that are printed without a trace.
_EXPECTED = (CommandError, LocalStackError, LakeConfigError, SparkUnreachable, StoreError)

# `tidegate --help` lists the commands in this order. A group without a name is no command of its own.
app.add_typer(demos, name="demo")
for _group in (processes, deployment, questions):
    app.add_typer(_group)
app.add_typer(inventories, name="inventory")
app.add_typer(catalogs, name="catalog")
app.add_typer(changes)


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


if __name__ == "__main__":
    main()
