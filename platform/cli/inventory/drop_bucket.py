"""`tidegate inventory drop-bucket` lets the rows of deleted buckets leave the table of inventories.

Without --yes it prints what would leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from tidegate.platform.bronze.prepare.inventories.newest_deliveries import newest_deliveries
from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import DropAnswer, DroppedInventory, refuse_to_apply
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.arns import Address
from tidegate.platform.core.inventory.delivery import Delivery, dropped_delivery
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.query.table_lookup import table_named


def run_drop(
    console: Console,
    lake: Lake,
    store: ObjectStore,
    name: str,
    buckets: Sequence[str],
    configuration: str = "",
    *,
    yes: bool,
    as_json: bool = False,
    now: datetime | None = None,
) -> None:
    """Print the newest inventory of each bucket, and write an empty one after it.

    Args:
        store: writes to the destination of the inventories.
        name: SQL name, key or `s3://` prefix of the table of inventories.
        buckets: names of source buckets.
        configuration: only inventories of this configuration. Empty: all.
        yes: write. Without it, only the plan is printed.
        as_json: print only the plan, as one JSON object.
        now: the time.

    Raises:
        CommandError: the table has no inventories, or none of a bucket; or S3 refused a write; or `as_json` and `yes`
            are given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)
    table, now = lake.table(table_named(lake, name)), now or datetime.now(UTC)
    newest = _newest_deliveries(table, buckets, configuration)
    left = [found for found in newest if not found.is_drop]
    if as_json:
        print_answer(console, DropAnswer(inventories=tuple(map(_plan_drop, newest))))
        return
    for found in newest:
        state = "was dropped" if found.is_drop else f"its newest inventory is of {found.began_at:%Y-%m-%d %H:%M} UTC"
        console.print(f"{found.subject}: {state}", markup=False)
    if not yes:
        console.print(f"{len(left)} would leave the table. With --yes they do")
        return
    for found in left:
        _write(store, table, found, now)
    if left:
        console.print(f"{len(left)} are written. The run that S3's events start removes their rows from {name}")


def _newest_deliveries(table: Table, buckets: Sequence[str], configuration: str) -> list[Delivery]:
    """Return the newest delivery of each chosen subject that entered the table."""
    if not table.spec.has_inventories:
        raise CommandError(f"{table.spec.name} is not a table with `mode: inventory`")
    chosen = {
        subject: newest
        for subject, (newest, *_) in sorted(newest_deliveries(table.key, table.ledger).items())
        if subject.bucket in buckets and configuration in ("", subject.configuration)
    }
    if missing := set(buckets) - {subject.bucket for subject in chosen}:
        of = f" by configuration {configuration}" if configuration else ""
        raise CommandError(f"no inventory of {', '.join(sorted(missing))}{of} entered {table.spec.name}")
    return list(chosen.values())


def _plan_drop(newest: Delivery) -> DroppedInventory:
    return DroppedInventory(
        bucket=newest.subject.bucket,
        configuration=newest.subject.configuration,
        newest=newest.began_at,
        dropped=newest.is_drop,
    )


def _write(store: ObjectStore, table: Table, newest: Delivery, now: datetime) -> None:
    # Never before the newest inventory, whatever the clock of this machine says.
    began, destination = max(now, newest.began_at), Address(store.region).bucket(table.key.bucket)
    for key, body in dropped_delivery(newest.subject, table.key, destination, began).items():
        try:
            store.put_if_absent(table.key.bucket, key, body)
        except (BotoCoreError, ClientError, StoreError) as error:
            raise CommandError(
                f"{S3Address(table.key.bucket, key)}: {first_line(error)}. The command needs s3:PutObject there"
            ) from None
