"""`tidegate inventory drop-bucket` lets the rows of deleted buckets leave the table of inventories.

Without --yes it prints what would leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.inventory.delivery import Delivery, by_subject
from tidegate.platform.core.inventory.dropped import dropped_delivery
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.aws.s3 import ObjectStore, StoreError
from tidegate.resources.lake import Lake, Table


def run_drop(
    console: Console,
    lake: Lake,
    store: ObjectStore,
    name: str,
    buckets: Sequence[str],
    configuration: str = "",
    *,
    yes: bool,
    now: datetime | None = None,
) -> None:
    """Print the newest inventory of each bucket, and write an empty one after it.

    Args:
        console: takes the output.
        lake: the lake.
        store: writes to the destination of the inventories.
        name: SQL name, key or `s3://` prefix of the table of inventories.
        buckets: names of source buckets.
        configuration: only inventories of this configuration. Empty: all.
        yes: write. Without it, only the plan is printed.
        now: the time.

    Raises:
        CommandError: the table has no inventories, or none of a bucket; or S3 refused a write.
    """
    table, now = lake.table(table_named(lake, name)), now or datetime.now(UTC)
    newest = _newest(table, buckets, configuration)
    left = [found for found in newest if not found.is_drop]
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


def _newest(table: Table, buckets: Sequence[str], configuration: str) -> list[Delivery]:
    """Return the newest delivery of each chosen subject that entered the table."""
    if not table.spec.has_inventories:
        raise CommandError(f"{table.spec.name} is no table with `mode: inventory`")
    keys = table.ledger.last_of_folders(table.ledger.clock().version, 1)
    deliveries = by_subject(found for key in keys if (found := Delivery.of(key, table.key.prefix)))
    chosen = {
        subject: newest
        for subject, (newest, *_) in sorted(deliveries.items())
        if subject.bucket in buckets and configuration in ("", subject.configuration)
    }
    if missing := set(buckets) - {subject.bucket for subject in chosen}:
        of = f" by configuration {configuration}" if configuration else ""
        raise CommandError(f"no inventory of {', '.join(sorted(missing))}{of} entered {table.spec.name}")
    return list(chosen.values())


def _write(store: ObjectStore, table: Table, newest: Delivery, now: datetime) -> None:
    # Never before the newest inventory, whatever the clock of this machine says.
    for key, body in dropped_delivery(newest.subject, table.key, max(now, newest.began_at)).items():
        try:
            store.put_if_absent(table.key.bucket, key, body)
        except (BotoCoreError, ClientError, StoreError) as error:
            raise CommandError(
                f"{S3Address(table.key.bucket, key)}: {first_line(error)}. The command needs s3:PutObject there"
            ) from None
