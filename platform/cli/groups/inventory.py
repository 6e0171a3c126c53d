"""The command `tidegate inventory`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.platform.cli.options import AsJson, LakeFile, PlanAsJson, RunningHome, WriteChanges, table_names
from tidegate.platform.cli.terminal import command_console

_Table = Annotated[str, typer.Argument(help="The table of inventories.", autocompletion=table_names)]
_Prices = Annotated[
    list[Path] | None,
    typer.Option(
        help="AWS's price list of S3 for your region: its index.csv. Repeatable; default: those of `storage_reports`."
    ),
]
_Counted = Annotated[
    str, typer.Option("--configuration", help="Which inventory counts where a bucket has several; default: none may.")
]
_Lines = Annotated[int, typer.Option(min=1, help="Maximum number of lines.")]

inventories = typer.Typer(no_args_is_help=True, help="Inventory configurations of S3 for the table of inventories.")


@inventories.callback()
def inventory() -> None:
    """Configure what S3 delivers to the table of inventories."""


@inventories.command()
def enable(
    table: Annotated[str, typer.Argument(help="The table, if several have `inventories`.")] = "",
    account: Annotated[str, typer.Option(help="AWS account of the buckets; default: that of the credentials.")] = "",
    yes: WriteChanges = False,
    lake: LakeFile = None,
    as_json: PlanAsJson = False,
) -> None:
    """Give buckets the inventory configuration that `inventories` of lake.yaml says, and the destination its policy."""
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.enable import run_enable
    from tidegate.platform.lake.aws.bucket_inventories import BucketInventories
    from tidegate.platform.lake.aws.clients import caller
    from tidegate.platform.lake.aws.s3 import ObjectStore
    from tidegate.platform.lake.lake_root.store import LakeStore

    using = client(None, lake)
    aws = using.settings.aws
    store = BucketInventories(aws.client("s3"))
    config = using.settings.config()
    if yes and not as_json:
        log = LakeStore(ObjectStore(aws.client("s3")), config.lake.root).operations
        log.put("inventory enable", caller(aws), table=table)
    run_enable(command_console(), config, table, account or aws.account(), store, yes=yes, as_json=as_json)


@inventories.command()
def cost(
    table: _Table,
    prices: _Prices = None,
    by: Annotated[
        str, typer.Option(help="bucket, configuration, prefix, storage_class, age, size, version; separated by commas.")
    ] = "bucket,storage_class",
    depth: Annotated[int, typer.Option(min=1, help="Folders of `prefix`.")] = 1,
    configuration: _Counted = "",
    limit: _Lines = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print what the storage of all inventories costs a month, the most expensive first."""
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.cost import CostQuestion, price_lists, run_cost

    using = client(home, lake)
    with using.open_lake() as opened:
        asked = CostQuestion(table, price_lists(prices, using, opened, table), by, depth, configuration, limit)
        run_cost(command_console(), opened, asked, as_json=as_json)


@inventories.command()
def advice(
    table: _Table,
    prices: _Prices = None,
    months: Annotated[int, typer.Option(min=1, max=36, help="Months for which the objects stay.")] = 12,
    to: Annotated[
        str, typer.Option(help="Storage classes, separated by commas; also ONEZONE_IA, GLACIER, DEEP_ARCHIVE.")
    ] = "STANDARD_IA,GLACIER_IR,INTELLIGENT_TIERING",
    depth: Annotated[int, typer.Option(min=1, help="Folders of a prefix.")] = 1,
    configuration: _Counted = "",
    limit: _Lines = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print which objects would cost less in another storage class, and when the transition has paid."""
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.advice import AdviceQuestion, run_advice
    from tidegate.platform.cli.inventory.cost import price_lists

    using = client(home, lake)
    with using.open_lake() as opened:
        asked = AdviceQuestion(
            table, price_lists(prices, using, opened, table), months, to, depth, configuration, limit
        )
        run_advice(command_console(), opened, asked, as_json=as_json)


@inventories.command()
def audit(
    table: _Table,
    configuration: _Counted = "",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of findings.")] = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print which objects are not encrypted, not replicated, noncurrent, or unknown to the lake's tables."""
    from tidegate.platform.cli.commands.sql import readable_errors
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.audit import run_audit

    with client(home, lake).open_lake() as opened, readable_errors():
        run_audit(command_console(), opened, table, configuration, limit, as_json=as_json)


@inventories.command()
def uploads(
    table: _Table,
    prices: _Prices = None,
    days: Annotated[int, typer.Option(min=1, help="Age of uploads that are shown, and that the rule removes.")] = 7,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of buckets.")] = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print incomplete multipart uploads, which are billed and in no inventory, and the rule that removes them."""
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.cost import known_prices, named_price_lists
    from tidegate.platform.cli.inventory.uploads import print_uploads, report_of
    from tidegate.platform.lake.aws.multipart_uploads import MultipartUploads

    using = client(home, lake)
    with using.open_lake() as opened:
        lists = named_price_lists(prices, using, opened, table)
        known = known_prices(lists) if lists else None
        found = report_of(opened, table, MultipartUploads(using.settings.aws.client("s3")), days)
        print_uploads(command_console(), found, known, limit, as_json=as_json)


@inventories.command()
def forecast(
    table: _Table,
    months: Annotated[int, typer.Option(min=1, max=24, help="Months of 30 days to forecast.")] = 3,
    configuration: _Counted = "",
    limit: _Lines = 50,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Print how the objects of each bucket grow, what they will be, and how wrong such forecasts were."""
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.forecast import run_forecast

    with client(home, lake).open_lake() as opened:
        run_forecast(command_console(), opened, table, months, configuration, limit, as_json=as_json)


@inventories.command()
def manifest(
    table: Annotated[str, typer.Argument(help="A table of inventories: all objects that they list.")] = "",
    sql: Annotated[
        str, typer.Option(help='The objects of a query: "SELECT bucket, key FROM bronze.objects WHERE size = 0".')
    ] = "",
    to: Annotated[str, typer.Option(help="With --sql, the s3:// folder of the manifests: one for each bucket.")] = "",
    bucket: Annotated[str, typer.Option(help="Of the table, only the inventory of this bucket.")] = "",
    configuration: _Counted = "",
    account: Annotated[str, typer.Option(help="AWS account of the jobs; default: that of the credentials.")] = "",
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: AsJson = False,
) -> None:
    """Give S3 Batch Operations manifests of a query's objects or of whole inventories, with calls that make jobs."""
    from tidegate.platform.cli.commands.sql import readable_errors
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.manifest import ManifestQuestion, run_manifest

    asked = ManifestQuestion(table, bucket, configuration, sql, to)
    asked.check()
    using = client(home, lake)
    with using.open_lake() as opened, readable_errors():
        account = account or using.settings.aws.account()
        run_manifest(command_console(), opened, opened.store.objects, asked, account, as_json=as_json)


@inventories.command(name="drop-bucket")
def drop_bucket(
    table: _Table,
    buckets: Annotated[list[str], typer.Argument(help="Names of buckets that were deleted.")],
    configuration: Annotated[str, typer.Option(help="Only inventories of this configuration; default: all.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Write. Without it, only the plan is printed.")] = False,
    home: RunningHome = None,
    lake: LakeFile = None,
    as_json: PlanAsJson = False,
) -> None:
    """Let the rows of deleted buckets leave the table: an empty inventory follows their last one."""
    from tidegate.platform.cli.environment import client
    from tidegate.platform.cli.inventory.drop_bucket import run_drop
    from tidegate.platform.lake.aws.clients import caller

    using = client(home, lake)
    with using.open_lake() as opened:
        store = opened.store.objects
        if yes and not as_json:
            by = caller(using.settings.aws)
            opened.store.operations.put("inventory drop-bucket", by, table=table, buckets=buckets)
        run_drop(command_console(), opened, store, table, buckets, configuration, yes=yes, as_json=as_json)
