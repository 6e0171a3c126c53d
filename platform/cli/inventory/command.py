"""The command `tidegate inventory`."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.platform.cli.options import LakeFile
from tidegate.platform.cli.terminal import command_console

inventories = typer.Typer(no_args_is_help=True, help="Inventory configurations of S3 for the table of inventories.")


@inventories.callback()
def inventory() -> None:
    """Configure what S3 delivers to the table of inventories."""


@inventories.command()
def enable(
    table: Annotated[str, typer.Argument(help="The table, if several have `inventories`.")] = "",
    account: Annotated[str, typer.Option(help="AWS account of the buckets; default: that of the credentials.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Write. Without it, only the differences are printed.")] = False,
    lake: LakeFile = None,
) -> None:
    """Give buckets the inventory configuration that `inventories` of lake.yaml says, and the destination its policy."""
    from botocore.exceptions import BotoCoreError, ClientError

    from tidegate.platform.cli.check.findings import explain_aws
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.errors import CommandError
    from tidegate.platform.cli.inventory.enable import run_enable
    from tidegate.resources.aws.bucket_inventories import BucketInventories

    using = client(None, lake)
    aws = using.settings.aws
    try:
        known = account or aws.account()
    except (BotoCoreError, ClientError) as error:
        raise CommandError(explain_aws(error)) from None
    store = BucketInventories(aws.client("s3"))
    run_enable(command_console(), using.settings.config(), table, known, store, yes=yes)
