"""Check of the inventory that a table is compared with."""

from __future__ import annotations

from tidegate.platform.cli.check_catalog import Check
from tidegate.platform.cli.findings import Failed, Finding, checked
from tidegate.platform.core.inventory import InventoryError
from tidegate.platform.core.table_spec import TableSpec
from tidegate.resources.inventories import newest_inventory
from tidegate.resources.object_store import ObjectStore


def check_inventory(objects: ObjectStore, spec: TableSpec) -> Finding:
    """A complete inventory of the table's bucket lies where lake.yaml says, and can be read."""
    return checked(Check.TABLE_INVENTORY, spec.name, lambda: _newest(objects, spec))


def _newest(objects: ObjectStore, spec: TableSpec) -> str:
    try:
        found = newest_inventory(objects, spec.inventory or "", spec.table_key.bucket)
    except InventoryError as error:
        raise Failed(str(error)) from None
    return f"of {found.began}, {found.format}, {len(found.files)} files"
