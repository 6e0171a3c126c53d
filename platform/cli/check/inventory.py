"""Check of the S3 Inventory that a table is compared with."""

from __future__ import annotations

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Failed, Finding, checked
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.inventory.manifest import InventoryError
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
