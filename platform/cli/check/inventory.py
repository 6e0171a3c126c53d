"""Checks of the S3 Inventory that a table is compared with, and of the configurations that make inventories."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Failed, Finding, Warned, checked
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.enable import differing
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.resources.aws.bucket_inventories import BucketInventories
from tidegate.resources.aws.s3 import ObjectStore
from tidegate.resources.inventory.deliveries import newest_inventory


def check_inventory(objects: ObjectStore, spec: TableSpec) -> Finding:
    """Check that a complete inventory of the table's bucket is where lake.yaml says, and can be read."""
    return checked(Check.TABLE_INVENTORY, spec.name, lambda: _newest(objects, spec))


def _newest(objects: ObjectStore, spec: TableSpec) -> str:
    try:
        found = newest_inventory(objects, spec.inventory or "", spec.table_key.bucket)
    except InventoryError as error:
        raise Failed(str(error)) from None
    return f"of {found.began}, {found.format}, {len(found.files)} files"


def check_inventories(inventories: BucketInventories, spec: TableSpec, account: Callable[[], str]) -> Finding:
    """Check that buckets and destination are configured as `inventories` says.

    Args:
        inventories: reads configurations and policies.
        spec: a table with `inventories`.
        account: returns the AWS account of the buckets.
    """
    return checked(Check.TABLE_INVENTORIES, spec.name, lambda: _as_wanted(inventories, spec, account()))


def _as_wanted(inventories: BucketInventories, spec: TableSpec, account: str) -> str:
    try:
        found = differing(spec, account, inventories)
    except CommandError as error:
        raise Failed(str(error)) from None
    differ = f"{len(found.lines)} differ: {found.lines[0]}" if found.lines else ""
    if found.refused:
        refused = f"{len(found.refused)} of {found.buckets} buckets are not known: {found.refused[0]}"
        raise Failed("; ".join(filter(None, [refused, differ])))
    if differ:
        raise Warned(f"{differ}. `tidegate inventory enable` shows all of them")
    return f"{found.buckets} buckets"
