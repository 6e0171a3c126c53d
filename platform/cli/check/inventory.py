"""Checks of the S3 Inventory that a table is compared with, and of the configurations that make inventories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.cli.check.findings import Failed, Finding, Warned, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.enable import compare_inventories
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.wording import first_line, first_texts
from tidegate.platform.lake.aws.bucket_inventories import BucketInventories
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.inventory.deliveries import newest_inventory

#: Differences, refusals and buckets that are named.
_MAX_NAMED = 3


def check_inventory(objects: ObjectStore, spec: TableSpec) -> Finding:
    """Check that a complete inventory of the table's bucket is where lake.yaml says, and can be read."""
    return make_finding(Check.TABLE_INVENTORY, spec.name, lambda: _newest_delivery(objects, spec))


def _newest_delivery(objects: ObjectStore, spec: TableSpec) -> str:
    try:
        found = newest_inventory(objects, spec.inventory or "", spec.table_key.bucket)
    except InventoryError as error:
        raise Failed(str(error)) from None
    return f"of {found.began}, {found.format}, {len(found.files)} files"


def check_inventories(
    inventories: BucketInventories, objects: ObjectStore, spec: TableSpec, account: Callable[[], str]
) -> Finding:
    """Check that buckets and destination are configured as `inventories` says, and that each bucket has delivered.

    Args:
        inventories: reads configurations and policies.
        objects: lists the destination.
        spec: a table with `inventories`.
        account: returns the AWS account of the buckets.
    """
    return make_finding(
        Check.TABLE_INVENTORIES, spec.name, lambda: _check_configurations(inventories, objects, spec, account())
    )


def _check_configurations(inventories: BucketInventories, objects: ObjectStore, spec: TableSpec, account: str) -> str:
    try:
        found = compare_inventories(spec, account, inventories)
    except CommandError as error:
        raise Failed(str(error)) from None
    silent = _silent_buckets(objects, spec, found.configured)
    differ = f"{len(found.lines)} differ: {_join_first(found.lines)}" if found.lines else ""
    late = f"{len(silent)} buckets have delivered no inventory yet: {_join_first(silent, ', ')}" if silent else ""
    if found.refused:
        refused = f"{len(found.refused)} of {found.buckets} buckets are not known: {_join_first(found.refused)}"
        raise Failed("; ".join(filter(None, [refused, differ, late])))
    shows = "`tidegate inventory enable` shows all differences" if differ else ""
    waits = "S3 delivers the first one within 48 hours, if it may encrypt with the destination's key" if late else ""
    if differ or late:
        raise Warned(". ".join(filter(None, [differ, late, shows, waits])))
    return f"{found.buckets} buckets"


def _silent_buckets(objects: ObjectStore, spec: TableSpec, configured: Sequence[str]) -> list[str]:
    """Return the buckets that have the right configuration and delivered nothing, although others have."""
    key = spec.table_key
    try:
        delivered = set(objects.folders(key.bucket, key.prefix))
    except (BotoCoreError, ClientError) as error:
        raise Failed(f"s3://{key.bucket} cannot be listed: {first_line(error)}") from None
    return [bucket for bucket in configured if bucket not in delivered] if delivered else []


def _join_first(lines: Sequence[str], between: str = "; ") -> str:
    return between.join(first_texts(lines, _MAX_NAMED))
